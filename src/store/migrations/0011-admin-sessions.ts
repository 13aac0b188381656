// Sessions of users who signed in to the console.

export function addAdminSessions(id: string): string[] {
  return [
    `CREATE TABLE admin_sessions (hash ${id} PRIMARY KEY, actor TEXT NOT NULL, issuer TEXT NOT NULL, user_groups TEXT NOT NULL,
       expires_at ${id} NOT NULL, created_at ${id} NOT NULL)`,
    `CREATE INDEX admin_sessions_by_expiry ON admin_sessions (expires_at)`,
  ];
}
