// Why the gateway itself made a revision, and the counts of requests by which nodes decide together to switch a canary off.

export function addCanaries(id: string): string[] {
  return [
    `ALTER TABLE revisions ADD COLUMN reason TEXT`,
    `CREATE TABLE canary_counts (model_id ${id} NOT NULL, node ${id} NOT NULL, version ${id} NOT NULL, counts TEXT NOT NULL,
       updated_at BIGINT NOT NULL, PRIMARY KEY (model_id, node))`,
  ];
}
