// MCP servers: where tools, prompts and resources come from.
import type { KindDeclaration } from "../kind.ts";

export const mcpServers: KindDeclaration<"mcp_servers"> = {
  singular: "MCP server",
  resource: "mcp_server",
  parent: "gateway",
  columns: ["name"],
  columnsOnly: [],
  addedFields: {},
  unique: {},
  refersTo: {},
  usesWhile: null,
  secrets: "server",
  searched: ["body.url"],
  shownInSearch: ({ url }) => url,
  isConfiguration: true,
  dependents: [
    { table: "mcp_tools", column: "server_id" },
    { table: "mcp_tool_versions", column: "server_id" },
  ],
};
