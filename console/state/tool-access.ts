// Which tools an API key may call, by the same rules as the data plane: the records decide, and the definitions that were seen.
import type { ApiKey, McpServer, McpToolList, Rule, Service } from "../api/types.ts";

type SeenTool = McpToolList["tools"][number];

/** A tool of a server, as the server has listed it. */
export interface KnownTool {
  readonly server: McpServer;
  /** The name that the server uses. */
  readonly name: string;
  /** `prefix__name`, which the `tools` of API keys are matched against. */
  readonly qualifiedName: string;
  readonly status: SeenTool["status"];
}

/** What decides besides the key and the tool. */
export interface ToolRoutes {
  readonly rules: readonly Rule[];
  readonly services: readonly Service[];
}

type KeyAccess = Pick<ApiKey, "tools" | "policies">;

/** Returns why clients with the key cannot call the tool; null if they can. */
export function reasonAgainstTool(key: KeyAccess, tool: KnownTool, routes: ToolRoutes): string | null {
  const { server, name, qualifiedName, status } = tool;
  if (!server.enabled) return "The server is disabled";
  const { allow, deny } = server.tools;
  if (matchesAny(deny, name) || (allow !== null && !matchesAny(allow, name))) return "The server's tool list";
  if (status === "withheld") return "Withheld until approved";
  const leading = rulesTo(server.id, routes);
  if (leading.length === 0) return "No active rule leads to the server";
  if (key.policies.length > 0 && !leading.some(({ id }) => key.policies.includes(id)))
    return "The key's rules";
  if (key.tools !== null && !matchesAny(key.tools, qualifiedName)) return "The key's tool list";
  return null;
}

/** Returns the active rules whose service has the server. */
export function rulesTo(serverId: string, { rules, services }: ToolRoutes): readonly Rule[] {
  const leading = new Set(
    services.flatMap(({ id, mcp_server_ids }) => (mcp_server_ids.includes(serverId) ? [id] : [])),
  );
  return rules.filter(({ active, service_id }) => active && leading.has(service_id));
}

export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, name));
}

/** `*` matches any characters. Not a regular expression, whose time could grow with the square of the length. */
function matchesPattern(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, from);
    if (found < 0 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}
