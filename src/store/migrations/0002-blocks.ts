// Blocks: subjects that rate_limiter rejects permanently, and which block a revision changed.

export function addBlocks(id: string): string[] {
  return [
    `CREATE TABLE blocks (id ${id} PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
       gateway_id ${id} NOT NULL REFERENCES gateways(id), name TEXT NOT NULL UNIQUE)`,
    `CREATE INDEX blocks_by_gateway ON blocks (gateway_id)`,
    `ALTER TABLE revisions ADD COLUMN block_id ${id}`,
  ];
}
