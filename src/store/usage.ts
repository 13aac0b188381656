// Usage in the store: totals per day, gateway, API key, and model; batches that are added exactly once; and sums.
import type { Parameter, Query, Row } from "./database.ts";

/** What one process has counted since its last batch for one day, gateway, API key, and model. */
export interface UsageTotal {
  readonly gatewayId: string;
  /** YYYY-MM-DD in UTC. */
  readonly day: string;
  /** Empty if the requests had no API key. */
  readonly apiKeyId: string;
  /** Stored with the id, so that a deleted key still has a name. */
  readonly apiKeyName: string;
  /** Empty if the requests named no model. */
  readonly model: string;
  requests: number;
  partialRequests: number;
  inputTokens: number;
  outputTokens: number;
  /** In nano-dollars. */
  costNanos: number;
  /** Requests without a known cost. */
  unpricedRequests: number;
}

/** A batch is written completely or not at all, and only once, however often it is retried. */
export interface UsageBatch {
  /** Identifies the process that counted. */
  readonly writer: string;
  /** Increases with every batch. The next batch is started only after this one is known to be written. */
  readonly number: number;
  readonly totals: readonly UsageTotal[];
}

export const USAGE_GROUPS = ["day", "model", "api_key"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageQuery {
  readonly gatewayId: string;
  /** The first and last day, both inclusive. */
  readonly from: string;
  readonly to: string;
  readonly groupBy: readonly UsageGroup[];
  /** One more row than this is returned if there are more, so that the caller can detect it. */
  readonly limit: number;
}

/** Sums, with the fields that they are grouped by. */
export interface UsageSum {
  readonly day?: string;
  readonly model?: string | null;
  readonly api_key_id?: string | null;
  readonly api_key?: string | null;
  readonly requests: number;
  readonly partial_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_nanos: number;
  readonly unpriced_requests: number;
}

const NANOS_PER_DOLLAR = 1e9;
const ROWS_PER_STATEMENT = 100;
/** A process that has not written for this long has ended and will not retry its last batch. */
const WRITER_KEPT_DAYS = 30;
const COLUMNS = [
  "gateway_id",
  "day",
  "api_key_id",
  "model",
  "api_key_name",
  "requests",
  "partial_requests",
  "input_tokens",
  "output_tokens",
  "cost_nanos",
  "unpriced_requests",
  // In dollars, as older versions wrote it; 0 in new rows.
  "cost",
];
const SUMMED = COLUMNS.slice(5);

/** Must run in a transaction, so that the number of the batch and its totals become durable together. */
export async function addUsage(query: Query, { writer, number, totals }: UsageBatch): Promise<void> {
  const now = Date.now();
  const [recorded] = await query(
    `INSERT INTO usage_writers (id, batch, written_at) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
       WHERE usage_writers.batch < excluded.batch RETURNING batch`,
    [writer, number, new Date(now).toISOString()],
  );
  // An earlier attempt succeeded, but its confirmation was lost.
  if (recorded === undefined) return;
  if (number === 1) {
    const oldest = new Date(now - WRITER_KEPT_DAYS * 86_400_000).toISOString();
    await query("DELETE FROM usage_writers WHERE written_at < $1", [oldest]);
  }
  const counted = await ofExistingGateways(query, totals);
  for (let at = 0; at < counted.length; at += ROWS_PER_STATEMENT)
    await upsert(query, counted.slice(at, at + ROWS_PER_STATEMENT));
}

/** The usage of a gateway is deleted with it. Totals that arrive later must not create rows for it again. */
async function ofExistingGateways(query: Query, totals: readonly UsageTotal[]): Promise<UsageTotal[]> {
  const ids = [...new Set(totals.map((total) => total.gatewayId))];
  const existing = new Set<Parameter | undefined>();
  for (let at = 0; at < ids.length; at += ROWS_PER_STATEMENT) {
    const batch = ids.slice(at, at + ROWS_PER_STATEMENT);
    const places = batch.map((_, index) => `$${index + 1}`).join(", ");
    for (const row of await query(`SELECT id FROM gateways WHERE id IN (${places})`, batch))
      existing.add(row["id"]);
  }
  return totals.filter((total) => existing.has(total.gatewayId));
}

async function upsert(query: Query, totals: readonly UsageTotal[]): Promise<void> {
  const parameters: Parameter[] = [];
  const rows = totals.map((total) => {
    const values = [
      total.gatewayId,
      total.day,
      total.apiKeyId,
      total.model,
      total.apiKeyName,
      total.requests,
      total.partialRequests,
      total.inputTokens,
      total.outputTokens,
      total.costNanos,
      total.unpricedRequests,
      0,
    ];
    return `(${values.map((value) => `$${parameters.push(value)}`).join(", ")})`;
  });
  const sums = SUMMED.map((column) => `${column} = usage_totals.${column} + excluded.${column}`).join(", ");
  await query(
    `INSERT INTO usage_totals (${COLUMNS.join(", ")}) VALUES ${rows.join(", ")}
       ON CONFLICT (gateway_id, day, api_key_id, model)
       DO UPDATE SET api_key_name = excluded.api_key_name, ${sums}`,
    parameters,
  );
}

/** Returns sums ordered by their groups. API keys have their current name or, if they are deleted, their last one. */
export async function sumUsage(query: Query, usageQuery: UsageQuery): Promise<UsageSum[]> {
  const { gatewayId, from, to, groupBy, limit } = usageQuery;
  const columns = groupBy.map((group) => `u.${group === "api_key" ? "api_key_id" : group}`);
  const names = groupBy.includes("api_key")
    ? ["MAX(k.name) AS current_name", "MAX(u.api_key_name) AS kept_name"]
    : [];
  const sums = SUMMED.map((column) => `SUM(u.${column}) AS ${column}`);
  const rows = await query(
    `SELECT ${[...columns, ...names, ...sums].join(", ")} FROM usage_totals u
       LEFT JOIN api_keys k ON k.id = u.api_key_id
       WHERE u.gateway_id = $1 AND u.day >= $2 AND u.day <= $3
       GROUP BY ${columns.join(", ")} ORDER BY ${columns.join(", ")} LIMIT $4`,
    [gatewayId, from, to, limit + 1],
  );
  return rows.map((row) => toSum(row, groupBy));
}

function toSum(row: Row, groupBy: readonly UsageGroup[]): UsageSum {
  const textOrNull = (value: Parameter | undefined) =>
    value === undefined || value === null || value === "" ? null : String(value);
  const isGroupedBy = (group: UsageGroup) => groupBy.includes(group);
  return {
    ...(isGroupedBy("day") && { day: String(row["day"]) }),
    ...(isGroupedBy("model") && { model: textOrNull(row["model"]) }),
    ...(isGroupedBy("api_key") && {
      api_key_id: textOrNull(row["api_key_id"]),
      api_key: textOrNull(row["current_name"]) ?? textOrNull(row["kept_name"]),
    }),
    requests: Number(row["requests"]),
    partial_requests: Number(row["partial_requests"]),
    input_tokens: Number(row["input_tokens"]),
    output_tokens: Number(row["output_tokens"]),
    cost_nanos: Number(row["cost_nanos"]) + Math.round(Number(row["cost"]) * NANOS_PER_DOLLAR),
    unpriced_requests: Number(row["unpriced_requests"]),
  };
}
