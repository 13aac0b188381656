// Usage in the store: what is kept of it, how a batch is added to it exactly once, and how it is summed up.
import type { Parameter, Query, Row } from "./database.ts";

/** What one process has counted since its last batch for one day, gateway, API key and model. */
export interface UsageTotal {
  readonly gatewayId: string;
  /** YYYY-MM-DD, in UTC. */
  readonly day: string;
  /** Empty: without an API key. */
  readonly apiKeyId: string;
  /** Kept with the id, so that a key which is gone still has a name. */
  readonly apiKeyName: string;
  /** Empty: the request named none. */
  readonly model: string;
  requests: number;
  partialRequests: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

/** A batch is written whole or not at all, and once only, however often it is tried. */
export interface UsageBatch {
  /** The process that counted. */
  readonly writer: string;
  /** Counted up from batch to batch; the next is begun only when this one is known to be written. */
  readonly number: number;
  readonly totals: readonly UsageTotal[];
}

export const USAGE_GROUPS = ["day", "model", "api_key"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageQuery {
  readonly gatewayId: string;
  /** Both included. */
  readonly from: string;
  readonly to: string;
  readonly groupBy: readonly UsageGroup[];
  /** One more row than this is read, so that it can be told that there are more. */
  readonly limit: number;
}

/** Sums, with the fields of what they are grouped by. */
export interface UsageSum {
  readonly day?: string;
  readonly model?: string | null;
  readonly api_key_id?: string | null;
  readonly api_key?: string | null;
  readonly requests: number;
  readonly partial_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
}

const ROWS_PER_STATEMENT = 100;
/** A process that has not written for so long has ended, and with it whatever it had not been told of. */
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
  "cost",
];
const SUMMED = COLUMNS.slice(5);

/** In a transaction of its own: the note of the batch and what it adds become durable together. */
export async function addUsage(query: Query, { writer, number, totals }: UsageBatch): Promise<void> {
  const now = Date.now();
  const [noted] = await query(
    `INSERT INTO usage_writers (id, batch, written_at) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
       WHERE usage_writers.batch < excluded.batch RETURNING batch`,
    [writer, number, new Date(now).toISOString()],
  );
  // It had been written, and only the word of it was lost.
  if (noted === undefined) return;
  if (number === 1) {
    const oldest = new Date(now - WRITER_KEPT_DAYS * 86_400_000).toISOString();
    await query("DELETE FROM usage_writers WHERE written_at < $1", [oldest]);
  }
  const counted = await ofGatewaysThatAre(query, totals);
  for (let at = 0; at < counted.length; at += ROWS_PER_STATEMENT)
    await upsert(query, counted.slice(at, at + ROWS_PER_STATEMENT));
}

/** A gateway that was deleted has taken its usage along: what comes late must not bring rows of it back. */
async function ofGatewaysThatAre(query: Query, totals: readonly UsageTotal[]): Promise<UsageTotal[]> {
  const ids = [...new Set(totals.map((total) => total.gatewayId))];
  const there = new Set<Parameter | undefined>();
  for (let at = 0; at < ids.length; at += ROWS_PER_STATEMENT) {
    const some = ids.slice(at, at + ROWS_PER_STATEMENT);
    const places = some.map((_, index) => `$${index + 1}`).join(", ");
    for (const row of await query(`SELECT id FROM gateways WHERE id IN (${places})`, some))
      there.add(row["id"]);
  }
  return totals.filter((total) => there.has(total.gatewayId));
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
      total.cost,
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

/** Ordered by what they are grouped by. A key is called by the name it has now, or had last. */
export async function sumUsage(query: Query, asked: UsageQuery): Promise<UsageSum[]> {
  const { gatewayId, from, to, groupBy, limit } = asked;
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
  const named = (value: Parameter | undefined) =>
    value === undefined || value === null || value === "" ? null : String(value);
  const isBy = (group: UsageGroup) => groupBy.includes(group);
  return {
    ...(isBy("day") && { day: String(row["day"]) }),
    ...(isBy("model") && { model: named(row["model"]) }),
    ...(isBy("api_key") && {
      api_key_id: named(row["api_key_id"]),
      api_key: named(row["current_name"]) ?? named(row["kept_name"]),
    }),
    requests: Number(row["requests"]),
    partial_requests: Number(row["partial_requests"]),
    input_tokens: Number(row["input_tokens"]),
    output_tokens: Number(row["output_tokens"]),
    cost: Number(row["cost"]),
  };
}
