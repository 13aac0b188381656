// Fields that all stored records have.
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

/** Fields that the server sets: rejected in a new record, ignored in a record that is sent back. */
export const READ_ONLY_FIELDS: readonly string[] = ["id", "gateway_id", "created_at", "updated_at"];

/** Those of a record that belongs to a gateway. `warnings` is in responses to writes only. */
export const CHILD_READ_ONLY_FIELDS: readonly string[] = [...READ_ONLY_FIELDS, "warnings"];

/** Returns a copy of `record` without the named fields. */
export function omit<T extends object, Name extends keyof T>(
  record: T,
  ...names: readonly Name[]
): Omit<T, Name> {
  const copy: Omit<T, Name> = { ...record };
  for (const name of names) Reflect.deleteProperty(copy, name);
  return copy;
}
