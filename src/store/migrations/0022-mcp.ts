// MCP servers of gateways, and the definitions of their tools as nodes have seen them. A service that leads to them has no upstream, so the column becomes nullable: by a second
// column, because SQLite cannot remove NOT NULL.

export function addMcp(id: string): string[] {
  return [
    `CREATE TABLE mcp_servers (id ${id} PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
       gateway_id ${id} NOT NULL REFERENCES gateways(id), name TEXT NOT NULL)`,
    `CREATE INDEX mcp_servers_by_gateway ON mcp_servers (gateway_id)`,
    `CREATE TABLE mcp_tools (server_id ${id} NOT NULL, name ${id} NOT NULL, gateway_id ${id} NOT NULL, hash TEXT NOT NULL,
       definition TEXT NOT NULL, approved_hash TEXT NOT NULL, approved_definition TEXT NOT NULL, approved_at TEXT,
       first_seen_at TEXT NOT NULL, changed_at TEXT, PRIMARY KEY (server_id, name))`,
    `CREATE TABLE mcp_tool_versions (server_id ${id} PRIMARY KEY, gateway_id ${id} NOT NULL, version BIGINT NOT NULL)`,
    `ALTER TABLE services ADD COLUMN upstream_ref ${id} REFERENCES upstreams(id)`,
    `UPDATE services SET upstream_ref = upstream_id`,
    `DROP INDEX services_by_upstream`,
    `ALTER TABLE services DROP COLUMN upstream_id`,
    `ALTER TABLE services RENAME COLUMN upstream_ref TO upstream_id`,
    `CREATE INDEX services_by_upstream ON services (upstream_id)`,
  ];
}
