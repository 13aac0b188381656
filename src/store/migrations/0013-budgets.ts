// Budgets of gateways.

export function addBudgets(id: string): string[] {
  return [
    `CREATE TABLE budgets (id ${id} PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
       gateway_id ${id} NOT NULL REFERENCES gateways(id), name TEXT NOT NULL)`,
    `CREATE INDEX budgets_by_gateway ON budgets (gateway_id)`,
  ];
}
