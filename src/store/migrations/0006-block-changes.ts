// Blocks apart from revisions: their own sequence of changes, an optional expiry, and the type, by which they are counted.

export function separateBlocks(id: string, jsonField: (column: string, field: string) => string): string[] {
  return [
    `ALTER TABLE configuration ADD COLUMN block_sequence BIGINT NOT NULL DEFAULT 0`,
    // The defaults allow nodes of the previous version to write blocks until they are restarted.
    `ALTER TABLE blocks ADD COLUMN type TEXT NOT NULL DEFAULT ''`,
    `ALTER TABLE blocks ADD COLUMN sequence BIGINT NOT NULL DEFAULT 0`,
    `ALTER TABLE blocks ADD COLUMN expires_at ${id}`,
    `UPDATE blocks SET type = ${jsonField("body", "type")}`,
    `CREATE INDEX blocks_by_type ON blocks (gateway_id, type)`,
    `CREATE INDEX blocks_by_sequence ON blocks (sequence)`,
    `CREATE INDEX blocks_by_expiry ON blocks (expires_at) WHERE expires_at IS NOT NULL`,
    // A row without block_id stands for all blocks of the gateway.
    `CREATE TABLE block_removals (sequence BIGINT PRIMARY KEY, gateway_id ${id} NOT NULL, block_id ${id})`,
  ];
}
