// What every stored record has besides its own fields.
export interface RecordFields {
  readonly id: string;
  /** RFC 3339 UTC. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** A record that belongs to a gateway. */
export interface ChildFields extends RecordFields {
  readonly gateway_id: string;
}

/** Set by the server: ignored where a record is sent back, refused where one is made. */
export const READ_ONLY_FIELDS: readonly string[] = ["id", "gateway_id", "created_at", "updated_at"];
