// Why providers were called: rows of requests, and of calls that were made in addition to them.

export function addUsagePurpose(): string[] {
  return [`ALTER TABLE usage_rows ADD COLUMN purpose TEXT NOT NULL DEFAULT 'request'`];
}
