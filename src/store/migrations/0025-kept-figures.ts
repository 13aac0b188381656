// The names of deleted gateways, whose usage is kept. Names of budgets are unique in their gateway. Webhooks
// of budgets are encrypted: the next step of the start encrypts those that are stored.
import { renameStoredDuplicates } from "../budget-names.ts";
import type { Query } from "../database.ts";

export function addKeptFigures(id: string): (string | ((query: Query) => Promise<void>))[] {
  return [
    `CREATE TABLE past_gateways (id ${id} PRIMARY KEY, name TEXT NOT NULL, deleted_at TEXT NOT NULL)`,
    renameStoredDuplicates,
    `UPDATE configuration SET sealed_headers = 0 WHERE sealed_headers = 1`,
  ];
}
