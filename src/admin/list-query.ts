// Query parameters and response shape that all lists share.
import { z } from "zod";
import type { SortField } from "../store/store.ts";

/** Schema of a whole number in a query. */
export const wholeNumber = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .default(String(fallback))
    .transform(Number)
    .pipe(z.number().min(min).max(max));

export const pageQuery = z.strictObject({
  limit: wholeNumber(100, 1, 1000),
  offset: wholeNumber(0, 0, Number.MAX_SAFE_INTEGER),
});

export const listQuery = pageQuery.extend({ name: z.string().optional() });

const MAX_IDS = 100;

/** Ids, separated by commas. */
export const idsField = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(z.string()).max(MAX_IDS))
  .meta({ description: `Up to ${MAX_IDS} ids, separated by commas.` });

/** `name` ascending, `-name` descending. */
export function sortField(fields: readonly string[], fallback: string) {
  return z
    .enum(fields.flatMap((field) => [field, `-${field}`]))
    .default(fallback)
    .meta({ description: "Ascending, or descending with `-` in front." });
}

/** Schema of a text that is searched. */
export const searchField = (description: string) => z.string().max(200).optional().meta({ description });

export const RECORD_SORTS: readonly SortField[] = [
  "created_at",
  "updated_at",
  "name",
  "path",
  "priority",
  "last_used_at",
];

/** Query of a list of records. `sortFields` are those besides created_at, updated_at, and name. */
export function recordQuery(...sortFields: readonly SortField[]) {
  return listQuery.extend({
    search: searchField("Part of the id, the name, or another text that identifies a record, in any case."),
    sort: sortField(["created_at", "updated_at", "name", ...sortFields], "created_at"),
    ids: idsField
      .optional()
      .meta({ description: `Only records with these ids: up to ${MAX_IDS}, separated by commas.` }),
  });
}

export interface ListParameters extends Partial<z.output<ReturnType<typeof recordQuery>>> {
  readonly limit: number;
  readonly offset: number;
  /** Of API keys: the gateway that they belong to. */
  readonly subject?: string | undefined;
}

/** Splits `-name` into the field and the direction. */
export function orderOf<Field extends string>(sort: string, fields: readonly Field[]) {
  const descending = sort.startsWith("-");
  const name = descending ? sort.slice(1) : sort;
  return { sort: fields.find((field) => field === name), descending };
}

/** `{"gateways": [...], "count": 12, "limit": 100, "offset": 0}` */
export function listResponse(
  key: string,
  records: readonly unknown[],
  count: number,
  { limit, offset }: { limit: number; offset: number },
): Response {
  return Response.json({ [key]: records, count, limit, offset });
}
