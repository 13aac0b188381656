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

/**
 * Returns the `updated_at` for a change to a record. It is later than the previous one even within the same millisecond,
 * after the clock was set back, or on a node whose clock is late: the ETag and the counts of canaries depend on it.
 */
export function timeOfChange(
  { updated_at }: { readonly updated_at: string },
  unixNow: number = Date.now(),
): string {
  return new Date(Math.max(unixNow, Date.parse(updated_at) + 1)).toISOString();
}
