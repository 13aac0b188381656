// Fields that the server sets: clients may not choose them, and may send them back unchanged.
import { validationError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ChildFields, RecordFields } from "../model/record.ts";

/** Returns a copy without the named fields. */
export function withoutFields(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** Returns a new record of a gateway, its fields in the order in which responses show them. */
export function newChild<Fields extends object>(
  { id, created_at, updated_at }: RecordFields,
  gateway_id: string,
  fields: Fields,
): Fields & ChildFields {
  return { id, gateway_id, ...fields, created_at, updated_at };
}

/** Rejects server-set fields in a new record: a client that sends an id expects the record to have it. */
export function rejectReadOnly(body: JsonObject, readOnly: readonly string[]): void {
  const given = readOnly.filter((name) => name in body);
  if (given.length === 0) return;
  throw validationError(given.map((path) => ({ path, message: "is set by the server; leave it out" })));
}
