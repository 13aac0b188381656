// Formats the changed fields of records, for the plan of gatehouse apply and for the history.
import { z } from "zod";
import { isJsonObject } from "../base/json.ts";
import { withoutDefaults } from "../model/document-defaults.ts";
import { paint, printable } from "./terminal.ts";

export const fieldChangeSchema = z.object({
  path: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  secret: z.boolean().optional(),
});

/** Changed records, as comparisons and rollbacks of the Admin API return them. */
export const recordChangesSchema = z.array(
  z.object({
    action: z.enum(["create", "update", "delete"]),
    resource: z.string(),
    id: z.string(),
    name: z.string().nullable(),
    changes: z.array(fieldChangeSchema),
  }),
);

type RecordChanges = z.output<typeof recordChangesSchema>[number];
type FieldChange = z.output<typeof fieldChangeSchema>;

export const SIGNS = { create: ["+", "green"], update: ["~", "yellow"], delete: ["-", "red"] } as const;

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

/** Returns lines for a field of a new or deleted record, one per nested field. No line if the field has its default. */
export function fieldLines(resource: string, path: string, value: unknown): string[] {
  return linesOf(path, withoutDefaults(resource, path, value));
}

/** Returns a line for the record and one for each changed field. New and deleted records are shown without their defaults. */
export function recordLines({ action, resource, id, name, changes }: RecordChanges): string[] {
  const [sign, color] = SIGNS[action];
  const parts = [sign, resource.replace("_", " "), name, id === resource || id === name ? null : `(${id})`];
  const title = printable(parts.filter((part) => part !== null).join(" "));
  const lines =
    action === "update"
      ? changes.map((change) => changeLine(resource, change))
      : // The title has the name.
        changes.flatMap(({ path, before, after }) =>
          path === "name" ? [] : fieldLines(resource, path, action === "create" ? after : before),
        );
  return [paint(color, title), ...lines];
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
