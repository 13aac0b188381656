// Revisions tell who wrote what: the action, the record it was about, and every record before and after.

export function addRevisionHistory(): string[] {
  const columns = [
    "subject TEXT",
    "action TEXT", // null: written before this step, and so without history
    "resource TEXT",
    "resource_id TEXT",
    "name TEXT",
    "changes TEXT", // what changed, where it is more than the columns of one change can tell
    "records TEXT",
  ];
  return [
    ...columns.map((column) => `ALTER TABLE revisions ADD COLUMN ${column}`),
    `CREATE INDEX revisions_by_gateway ON revisions (gateway_id, number)`,
  ];
}
