// Reads the tools of MCP servers, and the records that decide who may call them.
import { get } from "../api/client.ts";
import { listChildren } from "../api/resources.ts";
import type { McpServer, McpToolList } from "../api/types.ts";
import type { KnownTool, ToolRoutes } from "./tool-access.ts";

export interface ToolData extends ToolRoutes {
  readonly tools: readonly KnownTool[];
  /** Servers whose tools are not in `tools`, because there are too many. */
  readonly leftOutCount: number;
}

/** Each server needs a request. */
const MAX_SERVERS = 50;
const MAX_TOOLS = 1000;

/** Reads the tools of all servers of a gateway, or of one. */
export async function loadToolData(
  gateway: string,
  serverId: string | null,
  signal: AbortSignal,
): Promise<ToolData> {
  const servers = await listChildren(gateway, "mcp-servers", signal);
  if (servers.length === 0) return { tools: [], services: [], rules: [], leftOutCount: 0 };
  const [services, rules] = await Promise.all([
    listChildren(gateway, "services", signal),
    listChildren(gateway, "rules", signal),
  ]);
  const wanted = serverId === null ? servers : servers.filter(({ id }) => id === serverId);
  const shown = wanted.slice(0, MAX_SERVERS);
  const lists = await Promise.all(shown.map((server) => toolsOf(gateway, server, signal)));
  return { tools: lists.flat(), services, rules, leftOutCount: wanted.length - shown.length };
}

async function toolsOf(gateway: string, server: McpServer, signal: AbortSignal): Promise<KnownTool[]> {
  const path = `/gateways/${encodeURIComponent(gateway)}/mcp-servers/${server.id}/tools?limit=${MAX_TOOLS}`;
  const { tools } = await get<McpToolList>(path, signal);
  return tools.map(({ name, status }) => ({
    server,
    name,
    qualifiedName: `${server.prefix ?? server.name}__${name}`,
    status,
  }));
}
