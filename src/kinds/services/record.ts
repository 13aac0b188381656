// Services: what rules lead to, an upstream or MCP servers.
import type { KindDeclaration } from "../kind.ts";

export const services: KindDeclaration<"services"> = {
  singular: "service",
  resource: "service",
  parent: "gateway",
  columns: ["name", "upstream_id"],
  columnsOnly: [],
  addedFields: { virtual_models: "own", mcp_server_ids: [] },
  unique: {},
  refersTo: {
    upstreams: {
      from: ({ upstream_id: id }) => (id === null ? [] : [{ path: "upstream_id", id }]),
      column: "upstream_id",
    },
    mcp_servers: {
      from: ({ mcp_server_ids: ids }) => ids.map((id, index) => ({ path: `mcp_server_ids[${index}]`, id })),
      column: null,
    },
  },
  usesWhile: null,
  secrets: null,
  searched: [],
  shownInSearch: () => null,
  isConfiguration: true,
  dependents: [],
};
