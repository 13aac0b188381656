// The audit log: one chain of entries, each with a hash over the one before it, and the two ends of what is kept of the chain.

/** In place of the hash of an entry before the first one. */
const NO_HASH = "0".repeat(64);

export function addAudit(id: string): string[] {
  return [
    // `body` is the text that is hashed. The other columns repeat what is searched by.
    `CREATE TABLE audit_entries (sequence BIGINT PRIMARY KEY, created_at ${id} NOT NULL, action ${id} NOT NULL, actor TEXT,
       resource ${id}, gateway_id ${id}, address ${id}, body TEXT NOT NULL, hash ${id} NOT NULL)`,
    `CREATE TABLE audit_ends (one INTEGER PRIMARY KEY CHECK (one = 1), removed_sequence BIGINT NOT NULL,
       removed_hash TEXT NOT NULL, sequence BIGINT NOT NULL, hash TEXT NOT NULL)`,
    `INSERT INTO audit_ends (one, removed_sequence, removed_hash, sequence, hash)
       VALUES (1, 0, '${NO_HASH}', 0, '${NO_HASH}')`,
    `CREATE INDEX audit_entries_by_time ON audit_entries (created_at)`,
  ];
}
