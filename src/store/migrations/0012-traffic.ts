// Rollups of traffic. The sums are JSON: histograms cannot be added in SQL.

export function addTraffic(id: string): string[] {
  return [
    `CREATE TABLE traffic_rollups (gateway_id ${id} NOT NULL, step INTEGER NOT NULL, start BIGINT NOT NULL, sums TEXT NOT NULL,
       PRIMARY KEY (gateway_id, step, start))`,
    `CREATE INDEX traffic_rollups_by_start ON traffic_rollups (step, start)`,
  ];
}
