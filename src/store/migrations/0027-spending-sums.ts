// What each process has spent of a budget in total, so that amounts in Redis can be compared with those of the database exactly, and how
// often operators have changed an amount.

export function addSpendingSums(id: string): string[] {
  return [
    `ALTER TABLE spending ADD COLUMN version BIGINT NOT NULL DEFAULT 0`,
    `CREATE TABLE spending_sums (budget ${id} NOT NULL, period ${id} NOT NULL, writer ${id} NOT NULL, spent BIGINT NOT NULL,
       PRIMARY KEY (budget, period, writer))`,
    `CREATE TABLE installation (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), id ${id} NOT NULL)`,
  ];
}
