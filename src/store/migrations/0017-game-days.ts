// Game days of gateways, and what nodes write about the ones that run.

export function addGameDays(id: string): string[] {
  return [
    `CREATE TABLE game_days (id ${id} PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
       gateway_id ${id} NOT NULL REFERENCES gateways(id), name TEXT NOT NULL)`,
    `CREATE INDEX game_days_by_gateway ON game_days (gateway_id)`,
    `CREATE TABLE game_day_runs (game_day_id ${id} PRIMARY KEY, claimed BIGINT NOT NULL, aborted_at TEXT, abort_reason TEXT)`,
    `CREATE TABLE game_day_counts (game_day_id ${id} NOT NULL, node ${id} NOT NULL, counts TEXT NOT NULL,
       PRIMARY KEY (game_day_id, node))`,
  ];
}
