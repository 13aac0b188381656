// Search and order of lists that the store bounds and that have no SQL for it: admin tokens and blocks.
import { z } from "zod";
import { pageQuery } from "./list-query.ts";

/** Query of such a list. `fields` are those that it can be sorted by, besides created_at. */
export function boundedListQuery(...fields: readonly string[]) {
  const names: readonly string[] = ["created_at", ...fields];
  return pageQuery.extend({
    search: z
      .string()
      .max(200)
      .optional()
      .meta({ description: "Part of the id, or of a text that identifies a record, in any case." }),
    sort: z
      .enum(names.flatMap((name) => [name, `-${name}`]))
      .default("created_at")
      .meta({ description: "Ascending, or descending with `-` in front." }),
  });
}

interface BoundedQuery {
  readonly search?: string | undefined;
  readonly sort: string;
  readonly limit: number;
  readonly offset: number;
}

/** Whether the page is one of the store's own order, oldest first, which reads only its own rows. */
export function isStoreOrder({ search = "", sort }: BoundedQuery): boolean {
  return search === "" && sort === "created_at";
}

/** A shorter text is not looked for in ids: many of them contain it by chance. */
const MIN_ID_LENGTH = 8;

interface Page<Row> {
  readonly records: readonly Row[];
  /** The number of all matching records. */
  readonly count: number;
}

/** Returns a page of `rows`, which are the complete list, oldest first. `texts` returns what is searched besides the id. */
export function pageOfAll<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { search = "", sort, limit, offset }: BoundedQuery,
  texts: (row: Row) => readonly string[],
  valueOf: (row: Row, field: string) => string,
): Page<Row> {
  const wanted = search.toLowerCase();
  const isMatch = (row: Row) =>
    [...texts(row), ...(wanted.length < MIN_ID_LENGTH ? [] : [row.id])].some((text) =>
      text.toLowerCase().includes(wanted),
    );
  const found = rows.filter(isMatch);
  const isDescending = sort.startsWith("-");
  const field = isDescending ? sort.slice(1) : sort;
  // The sort is stable, so that records with equal values stay in the order of their creation.
  if (field !== "created_at") {
    const keys = new Map(found.map((row) => [row, valueOf(row, field).toLowerCase()]));
    found.sort((one, other) => compare(keys.get(one) ?? "", keys.get(other) ?? ""));
  }
  if (isDescending) found.reverse();
  return { records: found.slice(offset, offset + limit), count: found.length };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
