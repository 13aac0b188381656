// Usage by rule, provider, and labels too. `usage_totals` keeps what was written before, and what nodes of the previous version write
// until they are restarted.

export function addUsageRows(id: string): string[] {
  return [
    // The labels are no part of the key: PostgreSQL limits the size of a key. `label_set` is their hash.
    `CREATE TABLE usage_rows (gateway_id ${id} NOT NULL, day TEXT NOT NULL, api_key_id ${id} NOT NULL, model TEXT NOT NULL,
       rule_id ${id} NOT NULL, provider ${id} NOT NULL, label_set ${id} NOT NULL,
       api_key_name TEXT NOT NULL, rule_name TEXT NOT NULL, labels TEXT NOT NULL,
       requests BIGINT NOT NULL, partial_requests BIGINT NOT NULL,
       input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
       cost_nanos NUMERIC NOT NULL, unpriced_requests BIGINT NOT NULL,
       PRIMARY KEY (gateway_id, day, api_key_id, model, rule_id, provider, label_set))`,
    // For reports over all gateways.
    `CREATE INDEX usage_rows_by_day ON usage_rows (day)`,
    `CREATE INDEX usage_totals_by_day ON usage_totals (day)`,
  ];
}
