// Sums of usage, grouped: over the current table, and over the one in which earlier versions counted.
import { labelIn, type UsageGroup } from "../model/usage-group.ts";
import type { Database, Parameter, Row } from "./database.ts";
import { SUMMED, type UsageQuery, type UsageSum } from "./usage.ts";

const NANOS_PER_DOLLAR = 1e9;
/** The cost in dollars, as versions before exact costs wrote it. */
const DOLLARS = "cost";

/** Rows of the purpose `cached` hold what was saved, by the name of the sum. */
const SAVED = {
  cached_requests: "requests",
  saved_input_tokens: "input_tokens",
  saved_output_tokens: "output_tokens",
  saved_nanos: "cost_nanos",
  unpriced_cached: "unpriced_requests",
} as const;
const COUNTED_IF_CACHED = "requests";

/** The column of a group, and the table that has the current names of its records. */
const GROUP_COLUMNS = {
  day: { column: "day", names: null },
  model: { column: "model", names: null },
  provider: { column: "provider", names: null },
  purpose: { column: "purpose", names: null },
  api_key: { column: "api_key_id", names: "api_keys" },
  rule: { column: "rule_id", names: "rules" },
  gateway: { column: "gateway_id", names: "gateways" },
} as const;

/** Returns sums ordered by their groups. Records have their current name or, if they are deleted, their last one. */
export async function sumUsage(database: Database, usageQuery: UsageQuery): Promise<UsageSum[]> {
  const { gatewayId, from, to, groupBy, limit } = usageQuery;
  const selected: string[] = [];
  const grouped: string[] = [];
  const joins: string[] = [];
  for (const [index, group] of groupBy.entries()) {
    const label = labelIn(group);
    const { column, names } = columnOf(group);
    const value = label === null ? `u.${column}` : `COALESCE(${database.jsonField("u.labels", label)}, '')`;
    grouped.push(value);
    selected.push(`${value} AS group_${index}`);
    if (names === null) continue;
    joins.push(`LEFT JOIN ${names} n${index} ON n${index}.id = u.${column}`);
    selected.push(`MAX(n${index}.name) AS name_${index}`);
    if (names === "gateways") joins.push(`LEFT JOIN past_gateways p ON p.id = u.${column}`);
    const kept = names === "gateways" ? "p.name" : `u.${column.replace("_id", "_name")}`;
    selected.push(`MAX(${kept}) AS kept_${index}`);
  }
  const sums = [...SUMMED, DOLLARS].map((column) => `SUM(${usedOf(column)}) AS ${column}`);
  for (const [name, column] of Object.entries(SAVED))
    sums.push(`SUM(CASE WHEN u.purpose = 'cached' THEN u.${column} ELSE 0 END) AS ${name}`);
  // SQLite numbers parameters in the order in which they first occur.
  const parameters = [from, to, ...(gatewayId === null ? [] : [gatewayId]), limit + 1];
  const rows = await database.query(
    `SELECT ${[...selected, ...sums].join(", ")} FROM (${unionOf(gatewayId !== null)}) u ${joins.join(" ")}
       GROUP BY ${grouped.join(", ")} ORDER BY ${grouped.join(", ")} LIMIT $${parameters.length}`,
    parameters,
  );
  return rows.map((row) => toSum(row, groupBy));
}

/** A request that a kept response served is a request, but it has used nothing. */
function usedOf(column: string): string {
  return column === COUNTED_IF_CACHED
    ? `u.${column}`
    : `CASE WHEN u.purpose = 'cached' THEN 0 ELSE u.${column} END`;
}

function columnOf(group: UsageGroup) {
  const entry = Object.entries(GROUP_COLUMNS).find(([name]) => name === group);
  return entry?.[1] ?? { column: "labels", names: null };
}

/** Selects the rows of both tables from day $1 to day $2, of the gateway $3 or of all gateways. */
function unionOf(isOneGateway: boolean): string {
  const filter = `WHERE day >= $1 AND day <= $2${isOneGateway ? " AND gateway_id = $3" : ""}`;
  const common = `gateway_id, day, api_key_id, model, api_key_name, ${SUMMED.join(", ")}`;
  const earlier =
    "'' AS rule_id, '' AS provider, '' AS rule_name, '{}' AS labels, 'request' AS purpose, cost";
  return `SELECT ${common}, rule_id, provider, rule_name, labels, purpose, 0 AS cost FROM usage_rows ${filter}
       UNION ALL SELECT ${common}, ${earlier} FROM usage_totals ${filter}`;
}

function toSum(row: Row, groupBy: readonly UsageGroup[]): UsageSum {
  const groups: Record<string, unknown> = {};
  const labels: Record<string, string | null> = {};
  for (const [index, group] of groupBy.entries()) {
    const value = textOrNull(row[`group_${index}`]);
    const label = labelIn(group);
    if (label !== null) {
      labels[label] = value;
      groups["labels"] = labels;
      continue;
    }
    const { column, names } = columnOf(group);
    groups[column] = value;
    if (names === null) continue;
    const name = textOrNull(row[`name_${index}`]);
    groups[group] = name ?? textOrNull(row[`kept_${index}`]);
    if (names === "gateways" && name === null) groups["gateway_deleted"] = true;
  }
  return {
    ...groups,
    requests: Number(row["requests"]),
    partial_requests: Number(row["partial_requests"]),
    input_tokens: Number(row["input_tokens"]),
    output_tokens: Number(row["output_tokens"]),
    cost_nanos: Number(row["cost_nanos"]) + Math.round(Number(row[DOLLARS]) * NANOS_PER_DOLLAR),
    unpriced_requests: Number(row["unpriced_requests"]),
    cached_requests: Number(row["cached_requests"]),
    saved_input_tokens: Number(row["saved_input_tokens"]),
    saved_output_tokens: Number(row["saved_output_tokens"]),
    saved_nanos: Number(row["saved_nanos"]),
    unpriced_cached: Number(row["unpriced_cached"]),
  };
}

function textOrNull(value: Parameter | undefined): string | null {
  return value === undefined || value === null || value === "" ? null : String(value);
}
