// Traffic rollups in the store with SQL: sums of a gateway per minute, quarter of an hour, and hour, each kept for a limited time.
import { omit } from "../model/record.ts";
import { mergePoints } from "../telemetry/requests/traffic.ts";
import type { TrafficSecond } from "../telemetry/requests/second-ring.ts";
import type { Database, Parameter, Query } from "./database.ts";
import { claimBatch } from "./usage.ts";

/** In place of a gateway id: all requests, with and without a gateway. */
export const ALL_GATEWAYS = "";
const TRAFFIC_TABLE = "traffic_rollups";

/** The length of a rollup, and how long it is kept, in seconds. At most 416 rows per gateway. */
const ROLLUP_STEPS = [
  { step: 60, kept: 2 * 3600 },
  { step: 900, kept: 26 * 3600 },
  { step: 3600, kept: 8 * 86_400 },
] as const;

const ROWS_PER_STATEMENT = 100;
/** Bounds the error codes of a rollup, because plugins may define codes. */
const MAX_CODES = 32;
const OTHER = "other";

/** What one process has counted since its last batch, per gateway. `second` is when the minute starts. */
export interface TrafficBatch {
  /** Identifies the process that counted. */
  readonly writer: string;
  /** Increases with every batch. The next batch is started only after this one is known to be written. */
  readonly number: number;
  readonly minutes: ReadonlyMap<string, readonly TrafficSecond[]>;
  /** Unix seconds. */
  readonly now: number;
}

export interface TrafficQuery {
  /** Their rollups are summed. `ALL_GATEWAYS` alone: all requests. */
  readonly gatewayIds: readonly string[];
  readonly step: number;
  /** The first and last start of a rollup, in Unix seconds. */
  readonly from: number;
  readonly to: number;
}

export interface TrafficStore {
  /** Adds a batch to the rollups, only once even if called repeatedly. Removes rollups that are no longer kept. */
  add(batch: TrafficBatch): Promise<void>;
  /** Oldest first, without those that had no requests. */
  read(query: TrafficQuery): Promise<TrafficSecond[]>;
}

type UseDatabase = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export class SqlTraffic implements TrafficStore {
  readonly #use: UseDatabase;

  constructor(use: UseDatabase) {
    this.#use = use;
  }

  add(batch: TrafficBatch): Promise<void> {
    return this.#use((database) =>
      database.writeTransaction(async (query) =>
        addBatch(query, { ...batch, now: await database.time(query, batch.now) }),
      ),
    );
  }

  read({ gatewayIds, step, from, to }: TrafficQuery): Promise<TrafficSecond[]> {
    if (gatewayIds.length === 0) return Promise.resolve([]);
    const places = gatewayIds.map((_, index) => `$${index + 4}`);
    return this.#use(async (database) => {
      const rows = await database.query(
        `SELECT start, sums FROM ${TRAFFIC_TABLE}
           WHERE step = $1 AND start >= $2 AND start <= $3 AND gateway_id IN (${places.join(", ")})`,
        [step, from, to, ...gatewayIds],
      );
      return mergePoints([rows.map((row) => parseSums(Number(row["start"]), String(row["sums"])))]);
    });
  }
}

interface Rollup {
  readonly gatewayId: string;
  readonly step: number;
  readonly sums: TrafficSecond;
}

async function addBatch(query: Query, { writer, number, minutes, now }: TrafficBatch): Promise<void> {
  if (!(await claimBatch(query, writer, number, now))) return;
  const rollups = [...minutes].flatMap(([gatewayId, points]) => rollUp(gatewayId, points));
  for (let at = 0; at < rollups.length; at += ROWS_PER_STATEMENT)
    await addRollups(query, rollups.slice(at, at + ROWS_PER_STATEMENT));
  for (const { step, kept } of ROLLUP_STEPS)
    await query(`DELETE FROM ${TRAFFIC_TABLE} WHERE step = $1 AND start < $2`, [step, now - kept]);
}

function rollUp(gatewayId: string, minutes: readonly TrafficSecond[]): Rollup[] {
  return ROLLUP_STEPS.flatMap(({ step }) => {
    const aligned = minutes.map((point) => ({ ...point, second: point.second - (point.second % step) }));
    return mergePoints([aligned]).map((sums) => ({ gatewayId, step, sums }));
  });
}

/** Reads the rows, adds to them, and writes them back. Write transactions of all processes run one after the other. */
async function addRollups(query: Query, rollups: readonly Rollup[]): Promise<void> {
  const keys: Parameter[] = [];
  const places = rollups.map(
    ({ gatewayId, step, sums }) =>
      `(gateway_id = $${keys.push(gatewayId)} AND step = $${keys.push(step)} AND start = $${keys.push(sums.second)})`,
  );
  const stored = new Map<string, TrafficSecond>();
  for (const row of await query(
    `SELECT gateway_id, step, start, sums FROM ${TRAFFIC_TABLE} WHERE ${places.join(" OR ")}`,
    keys,
  )) {
    const start = Number(row["start"]);
    stored.set(
      `${String(row["gateway_id"])} ${Number(row["step"])} ${start}`,
      parseSums(start, String(row["sums"])),
    );
  }
  const parameters: Parameter[] = [];
  const rows = rollups.map(({ gatewayId, step, sums }) => {
    const before = stored.get(`${gatewayId} ${step} ${sums.second}`);
    const [after = sums] = mergePoints(before === undefined ? [[sums]] : [[before], [sums]]);
    const values = [gatewayId, step, sums.second, serializeSums(after)];
    return `(${values.map((value) => `$${parameters.push(value)}`).join(", ")})`;
  });
  await query(
    `INSERT INTO ${TRAFFIC_TABLE} (gateway_id, step, start, sums) VALUES ${rows.join(", ")}
       ON CONFLICT (gateway_id, step, start) DO UPDATE SET sums = excluded.sums`,
    parameters,
  );
}

function serializeSums(sums: TrafficSecond): string {
  return JSON.stringify({
    ...omit(sums, "second"),
    durations: trimmed(sums.durations),
    firstBytes: trimmed(sums.firstBytes),
    firstTokens: trimmed(sums.firstTokens),
    refused: boundedCodes(sums.refused),
    failed: boundedCodes(sums.failed),
  });
}

function parseSums(second: number, text: string): TrafficSecond {
  return { second, ...(JSON.parse(text) as Omit<TrafficSecond, "second">) };
}

/** Most histograms use only some of the first buckets. */
function trimmed(counts: readonly number[]): readonly number[] {
  return counts.slice(0, counts.findLastIndex((count) => count > 0) + 1);
}

function boundedCodes(codes: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const entries = Object.entries(codes);
  if (entries.length <= MAX_CODES) return codes;
  entries.sort(([, left], [, right]) => right - left);
  const kept = new Map(entries.slice(0, MAX_CODES - 1).filter(([code]) => code !== OTHER));
  const others = entries.filter(([code]) => !kept.has(code)).reduce((sum, [, count]) => sum + count, 0);
  return { ...Object.fromEntries(kept), [OTHER]: others };
}
