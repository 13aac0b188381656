// Admin tokens, apart from the configuration: a rollback must not restore one. And the administrator behind each revision.

export function addAdminTokens(id: string): string[] {
  return [
    `CREATE TABLE admin_tokens (id ${id} PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, gateways TEXT,
       hash ${id} NOT NULL UNIQUE, prefix TEXT NOT NULL, active INTEGER NOT NULL, expires_at ${id} NOT NULL,
       last_used_at ${id}, created_by TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)`,
    `ALTER TABLE revisions ADD COLUMN actor TEXT`,
  ];
}
