// Costs in usage as integers, and requests without a cost counted apart.

export function addExactCosts(): string[] {
  return [
    // NUMERIC, not BIGINT: a sum that exceeds 64 bits must not make a batch fail. The column `cost`, in dollars, keeps what was
    // written before and what nodes of the previous version write until they are restarted.
    `ALTER TABLE usage_totals ADD COLUMN cost_nanos NUMERIC NOT NULL DEFAULT 0`,
    `ALTER TABLE usage_totals ADD COLUMN unpriced_requests BIGINT NOT NULL DEFAULT 0`,
    // Models without a price were counted with a cost of 0.
    `UPDATE usage_totals SET unpriced_requests = requests WHERE cost = 0 AND input_tokens + output_tokens > 0`,
  ];
}
