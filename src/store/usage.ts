// Usage in the store: totals per day, gateway, API key, model, rule, provider, and labels, in batches that are
// added exactly once.
import type { UsageGroup } from "../model/usage-group.ts";
import type { Database, Parameter, Query } from "./database.ts";

/** Why a provider was called: for the response to a request, or in addition to it. */
export type UsagePurpose = "request" | "hedge" | "mirror" | "cached" | "plugin";

/** What one process has counted since its last batch for one day, gateway, API key, model, rule, provider, and set of labels. */
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
  readonly ruleId: string;
  /** Stored with the id, so that a deleted rule still has a name. */
  readonly ruleName: string;
  readonly provider: string;
  /** The labels of the API key at the time of the requests, as JSON, and their hash; empty without labels. */
  readonly labels: string;
  readonly labelSet: string;
  /** Why the calls were made. Part of the key as a prefix of `labelSet` in the table. */
  readonly purpose: UsagePurpose;
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

export interface UsageQuery {
  /** Null: all gateways. */
  readonly gatewayId: string | null;
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
  readonly rule_id?: string | null;
  readonly rule?: string | null;
  readonly provider?: string | null;
  readonly purpose?: string | null;
  readonly gateway_id?: string;
  readonly gateway?: string | null;
  /** The gateway no longer exists. */
  readonly gateway_deleted?: true;
  /** Those labels that the sums are grouped by; null where the API key has none of that name. */
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly requests: number;
  readonly partial_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_nanos: number;
  readonly unpriced_requests: number;
  /** Requests that kept responses served, and what these had used. Their tokens and costs are in no other sum. */
  readonly cached_requests: number;
  readonly saved_input_tokens: number;
  readonly saved_output_tokens: number;
  readonly saved_nanos: number;
  /** Of `cached_requests`, those of models without a price. */
  readonly unpriced_cached: number;
}

const ROWS_PER_STATEMENT = 100;
/** A process that has not written for this long has ended and will not retry its last batch. */
const WRITER_KEPT_DAYS = 30;
const COLUMNS = [
  "gateway_id",
  "day",
  "api_key_id",
  "model",
  "rule_id",
  "provider",
  "label_set",
  "api_key_name",
  "rule_name",
  "labels",
  "purpose",
  "requests",
  "partial_requests",
  "input_tokens",
  "output_tokens",
  "cost_nanos",
  "unpriced_requests",
];
const KEY = COLUMNS.slice(0, 7);
export const SUMMED = COLUMNS.slice(11);

/** Returns the work of a transaction, so that the number of the batch and its totals become durable together. */
export function addUsage({ writer, number, totals }: UsageBatch) {
  return async (query: Query, database: Database): Promise<void> => {
    if (!(await claimBatch(query, writer, number, await database.time(query, Date.now())))) return;
    // Usage outlives its gateway, so totals of one that was deleted meanwhile count, too.
    for (let at = 0; at < totals.length; at += ROWS_PER_STATEMENT)
      await upsert(query, totals.slice(at, at + ROWS_PER_STATEMENT));
  };
}

/**
 * Records that the batch is written in this transaction. Returns false if an earlier attempt has written it. `now`: by the clock that the
 * writers share, since old numbers of others are removed.
 */
export async function claimBatch(
  query: Query,
  writer: string,
  number: number,
  now: number,
): Promise<boolean> {
  const [recorded] = await query(
    `INSERT INTO usage_writers (id, batch, written_at) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
       WHERE usage_writers.batch < excluded.batch RETURNING batch`,
    [writer, number, new Date(now).toISOString()],
  );
  // An earlier attempt succeeded, but its confirmation was lost.
  if (recorded === undefined) return false;
  if (number === 1) {
    const oldest = new Date(now - WRITER_KEPT_DAYS * 86_400_000).toISOString();
    await query("DELETE FROM usage_writers WHERE written_at < $1", [oldest]);
  }
  return true;
}

/** The primary key of the table has no purpose, because SQLite cannot change the key of a table. */
function labelSetOf({ labelSet, purpose }: UsageTotal): string {
  return purpose === "request" ? labelSet : `${purpose}:${labelSet}`;
}

async function upsert(query: Query, totals: readonly UsageTotal[]): Promise<void> {
  const parameters: Parameter[] = [];
  const rows = totals.map((total) => {
    const values = [
      total.gatewayId,
      total.day,
      total.apiKeyId,
      total.model,
      total.ruleId,
      total.provider,
      labelSetOf(total),
      total.apiKeyName,
      total.ruleName,
      total.labels,
      total.purpose,
      total.requests,
      total.partialRequests,
      total.inputTokens,
      total.outputTokens,
      total.costNanos,
      total.unpricedRequests,
    ];
    return `(${values.map((value) => `$${parameters.push(value)}`).join(", ")})`;
  });
  const sums = SUMMED.map((column) => `${column} = usage_rows.${column} + excluded.${column}`).join(", ");
  await query(
    `INSERT INTO usage_rows (${COLUMNS.join(", ")}) VALUES ${rows.join(", ")}
       ON CONFLICT (${KEY.join(", ")})
       DO UPDATE SET api_key_name = excluded.api_key_name, rule_name = excluded.rule_name, ${sums}`,
    parameters,
  );
}
