// The log of revisions: who wrote, the action, the record it was about, and every changed record before and after.

export function addRevisionHistory(): string[] {
  const columns = [
    "subject TEXT",
    "action TEXT", // null: written before this migration, so the columns below are empty
    "resource TEXT",
    "resource_id TEXT",
    "name TEXT",
    "changes TEXT", // JSON; null if gateway_id, api_key_id, and block_id describe the change
    "records TEXT",
  ];
  return [
    ...columns.map((column) => `ALTER TABLE revisions ADD COLUMN ${column}`),
    `CREATE INDEX revisions_by_gateway ON revisions (gateway_id, number)`,
  ];
}
