// The first schema. The fields of a record are JSON in `body`; what is looked up, sorted, or referred to has a column.

export function initialSchema(id: string): string[] {
  const record = `id ${id} PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL`;
  const child = `${record}, gateway_id ${id} NOT NULL REFERENCES gateways(id)`;
  return [
    `CREATE TABLE configuration (one INTEGER PRIMARY KEY CHECK (one = 1), revision BIGINT NOT NULL, key_check TEXT)`,
    `INSERT INTO configuration (one, revision) VALUES (1, 0)`,
    `CREATE TABLE revisions (number BIGINT PRIMARY KEY, gateway_id ${id} NOT NULL, api_key_id ${id}, created_at TEXT NOT NULL)`,
    `CREATE TABLE gateways (${record}, name TEXT NOT NULL, subdomain TEXT UNIQUE)`,
    `CREATE TABLE upstreams (${child}, name TEXT NOT NULL)`,
    `CREATE TABLE services (${child}, name TEXT NOT NULL, upstream_id ${id} NOT NULL REFERENCES upstreams(id))`,
    `CREATE TABLE rules (${child}, name TEXT, service_id ${id} NOT NULL REFERENCES services(id))`,
    `CREATE TABLE api_keys (${child}, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL,
       active INTEGER NOT NULL, last_used_at TEXT)`,
    `CREATE INDEX gateways_by_name ON gateways (name)`,
    `CREATE INDEX upstreams_by_gateway ON upstreams (gateway_id)`,
    `CREATE INDEX services_by_gateway ON services (gateway_id)`,
    `CREATE INDEX services_by_upstream ON services (upstream_id)`,
    `CREATE INDEX rules_by_gateway ON rules (gateway_id)`,
    `CREATE INDEX rules_by_service ON rules (service_id)`,
    `CREATE INDEX api_keys_by_gateway ON api_keys (gateway_id)`,
    `CREATE INDEX api_keys_by_name ON api_keys (name)`,
  ];
}
