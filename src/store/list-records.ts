// The SQL of a page of records: its conditions and its order.
import type { Kind } from "../kinds/kind.ts";
import { KINDS } from "../kinds/kinds.ts";
import type { Database, Parameter } from "./database.ts";
import { containsText, MIN_ID_LENGTH } from "./search-text.ts";
import type { ListQuery, SortField } from "./store.ts";

/** An SQL expression of a table; `jsonField` reads a field of the body. */
type Expression = (jsonField: Database["jsonField"]) => string;

const path: Expression = (jsonField) => jsonField("body", "path");

/** Secrets and their encrypted form are not searched. */
function searchedIn(kind: Kind, jsonField: Database["jsonField"]): string[] {
  return KINDS[kind].searched.map((place) =>
    place.startsWith("body.") ? jsonField("body", place.slice("body.".length)) : place,
  );
}

/** Ids are ordered by their time of creation. */
const ORDERS: Readonly<Record<SortField, Expression>> = {
  created_at: () => "id",
  updated_at: () => "updated_at",
  name: () => "LOWER(COALESCE(name, ''))",
  path,
  priority: (jsonField) => `CAST(${jsonField("body", "priority")} AS INTEGER)`,
  last_used_at: () => "COALESCE(last_used_at, '')",
};

interface ListClauses {
  /** `WHERE …`, or empty. */
  readonly filter: string;
  readonly order: string;
  /** Of `filter`. */
  readonly parameters: Parameter[];
}

/** Returns null if no record can match. */
export function listClauses(
  kind: Kind,
  query: ListQuery,
  jsonField: Database["jsonField"],
): ListClauses | null {
  // PostgreSQL rejects U+0000 even in parameters, and no record contains it.
  if ([query.gatewayId, query.name, query.search].some((text) => text?.includes("\0"))) return null;
  const conditions: string[] = [];
  const parameters: Parameter[] = [];
  const add = (value: string) => `$${parameters.push(value)}`;
  const isIn = (column: string, values: readonly string[]) => {
    const places = values.filter((value) => !value.includes("\0")).map(add);
    if (places.length > 0) conditions.push(`${column} IN (${places.join(", ")})`);
    return places.length > 0;
  };
  const { gatewayId, gatewayIds = null, name, search, sort = "created_at" } = query;
  if (gatewayId !== undefined) conditions.push(`gateway_id = ${add(gatewayId)}`);
  if (gatewayIds !== null && !isIn(KINDS[kind].parent === "installation" ? "id" : "gateway_id", gatewayIds))
    return null;
  if (query.ids !== undefined && query.ids !== null && !isIn("id", query.ids)) return null;
  if (name !== undefined) conditions.push(`name = ${add(name)}`);
  if (search !== undefined && search !== "") {
    const ids = search.length < MIN_ID_LENGTH ? [] : ["id"];
    const fields = [...ids, "name", ...searchedIn(kind, jsonField)];
    conditions.push(containsText(fields, search, add));
  }
  const direction = query.descending === true ? "DESC" : "ASC";
  const expression = ORDERS[sort](jsonField);
  const order = `ORDER BY ${expression} ${direction}${expression === "id" ? "" : `, id ${direction}`}`;
  return { filter: conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`, order, parameters };
}
