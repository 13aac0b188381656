// Usage: totals by day, gateway, API key, and model; the last batch that each process wrote; and the prices.

export function addUsage(id: string): string[] {
  return [
    // No reference to gateways: usage of a gateway that is being deleted must not make the rest of its batch fail.
    `CREATE TABLE usage_totals (gateway_id ${id} NOT NULL, day TEXT NOT NULL, api_key_id ${id} NOT NULL, model TEXT NOT NULL,
       api_key_name TEXT NOT NULL, requests BIGINT NOT NULL, partial_requests BIGINT NOT NULL,
       input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, cost DOUBLE PRECISION NOT NULL,
       PRIMARY KEY (gateway_id, day, api_key_id, model))`,
    `CREATE TABLE usage_writers (id ${id} PRIMARY KEY, batch BIGINT NOT NULL, written_at TEXT NOT NULL)`,
    `CREATE TABLE prices (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL, updated_at TEXT NOT NULL)`,
  ];
}
