// Virtual models of gateways.

export function addModels(id: string): string[] {
  return [
    `CREATE TABLE models (id ${id} PRIMARY KEY, body TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
       gateway_id ${id} NOT NULL REFERENCES gateways(id), name TEXT NOT NULL)`,
    `CREATE INDEX models_by_gateway ON models (gateway_id)`,
  ];
}
