// What a client may send for a record: its own fields, never those that the server sets.
import { validationError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";

/** For a record that is sent back: what the server sets is ignored. */
export function withoutFields(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/**
 * When a record is changed: later than its last change even within one millisecond, or on a clock that was set back, so
 * that no two versions of it have one time.
 */
export function timeOfChange({ updated_at }: { readonly updated_at: string }): string {
  return new Date(Math.max(Date.now(), Date.parse(updated_at) + 1)).toISOString();
}

/** For a new record: whoever sends an id expects it to be used, and would look for the record in vain. */
export function refuseReadOnly(body: JsonObject, readOnly: readonly string[]): void {
  const given = readOnly.filter((name) => name in body);
  if (given.length === 0) return;
  throw validationError(given.map((path) => ({ path, message: "is set by the server; leave it out" })));
}
