// Formats the changed fields of records, for the plan of gatehouse apply and for the history.
import { z } from "zod";
import { isJsonObject } from "../base/json.ts";
import { withoutDefaults } from "../model/document-defaults.ts";
import { printable } from "./terminal.ts";

export const fieldChangeSchema = z.object({
  path: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  secret: z.boolean().optional(),
});

export type FieldChange = z.output<typeof fieldChangeSchema>;

const MAX_VALUE_CHARACTERS = 160;

/**
 * Returns a line such as `require_api_key: false → true`. A secret is shown as changed, with its masks if they differ. Objects
 * that were added or removed are shown without the fields that have their defaults.
 */
export function changeLine(resource: string, { path, before, after, secret }: FieldChange): string {
  const shown = (value: unknown) =>
    shorten(isJsonObject(value) ? withoutDefaults(resource, path, value) : value);
  const values = `${shown(before)} → ${shown(after)}`;
  if (Bun.deepEquals(before, after)) return printable(`    ${path}: changed`);
  const isRotated = secret === true && before !== null && after !== null;
  return printable(`    ${path}: ${isRotated ? `changed (${values})` : values}`);
}

/** Returns a line for each field of a new record that differs from its default, with nested fields on lines of their own. */
export function createdLines(resource: string, fields: readonly FieldChange[]): string[] {
  return fields.flatMap(({ path, after }) => linesOf(path, withoutDefaults(resource, path, after)));
}

function linesOf(path: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.some((item) => typeof item === "object"))
    return value.flatMap((item, index) => linesOf(`${path}[${index}]`, item));
  if (isJsonObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, item]) => linesOf(`${path}.${name}`, item));
  return [printable(`    ${path}: ${shorten(value)}`)];
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= MAX_VALUE_CHARACTERS ? text : `${text.slice(0, MAX_VALUE_CHARACTERS)}…`;
}
