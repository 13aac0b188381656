// What budgets have spent, for gateways without Redis.

export function addSpending(id: string): string[] {
  return [
    `CREATE TABLE spending (budget ${id} NOT NULL, period ${id} NOT NULL, ends_at BIGINT, spent BIGINT NOT NULL,
       PRIMARY KEY (budget, period))`,
    `CREATE TABLE spending_reservations (budget ${id} NOT NULL, period ${id} NOT NULL, writer ${id} NOT NULL,
       reserved BIGINT NOT NULL, written_at BIGINT NOT NULL, PRIMARY KEY (budget, period, writer))`,
    `CREATE TABLE spending_writers (id ${id} PRIMARY KEY, batch BIGINT NOT NULL, written_at BIGINT NOT NULL)`,
  ];
}
