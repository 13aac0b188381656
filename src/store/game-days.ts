// The SQL of game days that run: how many requests are affected, whether one was aborted, and the counts of each node.
import type { Query, Row } from "./database.ts";

export interface GameDayRunRow {
  /** Of the record: another value means that it was changed. */
  readonly updatedAt: string;
  readonly abortedAt: string | null;
  readonly abortReason: string | null;
}

export interface GameDayCounts {
  readonly node: string;
  /** JSON. */
  readonly counts: string;
}

/** Returns another game day of the gateway that is enabled, has not ended, and was not aborted. */
export async function activeGameDay(
  query: Query,
  gatewayId: string,
  exceptId: string,
  now: number,
): Promise<Row | null> {
  const rows = await query(
    `SELECT id, name, body FROM game_days WHERE gateway_id = $1 AND id <> $2 AND NOT EXISTS
       (SELECT 1 FROM game_day_runs WHERE game_day_id = game_days.id AND aborted_at IS NOT NULL)`,
    [gatewayId, exceptId],
  );
  return rows.find(({ body }) => isActive(String(body), now)) ?? null;
}

function isActive(body: string, now: number): boolean {
  const { enabled, ends_at } = JSON.parse(body) as { enabled: boolean; ends_at: string };
  return enabled && Date.parse(ends_at) > now;
}

/** Returns null for a game day that was deleted. */
export async function readGameDayRun(query: Query, id: string): Promise<GameDayRunRow | null> {
  const [row] = await query(
    `SELECT game_days.updated_at, aborted_at, abort_reason FROM game_days
       LEFT JOIN game_day_runs ON game_day_id = id WHERE id = $1`,
    [id],
  );
  if (row === undefined) return null;
  const textOf = (name: string) => (row[name] === null ? null : String(row[name]));
  return {
    updatedAt: String(row["updated_at"]),
    abortedAt: textOf("aborted_at"),
    abortReason: textOf("abort_reason"),
  };
}

/** Claims up to `wanted` of `max` requests. Returns how many were left. */
export async function claimGameDayRequests(
  query: Query,
  id: string,
  wanted: number,
  max: number,
): Promise<number> {
  if (!(await createRun(query, id))) return 0;
  const [row] = await query("SELECT claimed FROM game_day_runs WHERE game_day_id = $1", [id]);
  const granted = Math.max(0, Math.min(wanted, max - Number(row?.["claimed"] ?? max)));
  if (granted > 0)
    await query("UPDATE game_day_runs SET claimed = claimed + $1 WHERE game_day_id = $2", [granted, id]);
  return granted;
}

/** The first reason stays. Returns whether it is this one. */
export async function abortGameDayRun(
  query: Query,
  id: string,
  reason: string,
  at: string,
): Promise<boolean> {
  if (!(await createRun(query, id))) return false;
  const aborted = await query(
    `UPDATE game_day_runs SET aborted_at = $1, abort_reason = $2
       WHERE game_day_id = $3 AND aborted_at IS NULL RETURNING game_day_id`,
    [at, reason, id],
  );
  return aborted.length > 0;
}

export async function writeGameDayCounts(
  query: Query,
  id: string,
  { node, counts }: GameDayCounts,
): Promise<void> {
  if (!(await exists(query, id))) return;
  await query(
    `INSERT INTO game_day_counts (game_day_id, node, counts) VALUES ($1, $2, $3)
       ON CONFLICT (game_day_id, node) DO UPDATE SET counts = excluded.counts`,
    [id, node, counts],
  );
}

export async function readGameDayCounts(query: Query, id: string): Promise<GameDayCounts[]> {
  const rows = await query("SELECT node, counts FROM game_day_counts WHERE game_day_id = $1 ORDER BY node", [
    id,
  ]);
  return rows.map(({ node, counts }) => ({ node: String(node), counts: String(counts) }));
}

/** Returns false for a game day that was deleted. */
async function createRun(query: Query, id: string): Promise<boolean> {
  if (!(await exists(query, id))) return false;
  await query(
    "INSERT INTO game_day_runs (game_day_id, claimed) VALUES ($1, 0) ON CONFLICT (game_day_id) DO NOTHING",
    [id],
  );
  return true;
}

async function exists(query: Query, id: string): Promise<boolean> {
  return (await query("SELECT id FROM game_days WHERE id = $1", [id])).length > 0;
}
