// Warnings about MCP servers and the services that lead to them.
import { ToolPatterns } from "../../mcp/tool-patterns.ts";
import { ANY_METHOD } from "../../model/http-methods.ts";
import type { McpServer } from "../../model/mcp-server.ts";
import type { Rule } from "../../model/rule.ts";
import type { Service } from "../../model/service.ts";
import type { DocumentParts } from "../../kinds/kind.ts";
import type { KeyGrants } from "./key-warnings.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** Returns the active rules that lead to MCP servers. */
export function mcpRules({ rules, services }: Pick<DocumentParts, "rules" | "services">): Rule[] {
  const ids = new Set(services.flatMap(({ id, type }) => (type === "mcp" ? id : [])));
  return rules.filter(({ active, service_id }) => active && ids.has(service_id));
}

export function mcpWarnings(
  { services, mcp_servers, rules }: Pick<DocumentParts, "rules" | "services" | "mcp_servers">,
  keys: readonly KeyGrants[],
): ConfigurationWarning[] {
  return [
    ...services.flatMap((service) => (service.type === "mcp" ? serviceWarnings(service, mcp_servers) : [])),
    ...mcpRules({ rules, services }).flatMap(ruleWarnings),
    ...keys.flatMap((key) => keyWarnings(key, mcp_servers)),
  ];
}

function serviceWarnings(
  { id: recordId, mcp_server_ids }: Service,
  servers: readonly McpServer[],
): ConfigurationWarning[] {
  const used = servers.filter(({ id }) => mcp_server_ids.includes(id));
  if (used.some(({ enabled }) => enabled)) return [];
  const message =
    used.length === 0
      ? "the service has no MCP server, so that its rules offer no tools"
      : "all MCP servers of the service are disabled, so that its rules offer no tools";
  return [{ places: [{ recordId, path: "mcp_server_ids" }], message }];
}

/** Clients send every message with POST. GET opens the stream of notifications, and DELETE ends a session. */
function ruleWarnings({ id: recordId, methods }: Rule): ConfigurationWarning[] {
  if (methods.includes("POST") || methods.includes(ANY_METHOD)) return [];
  const message = "the rule leads to MCP servers, which need the method POST";
  return [{ places: [{ recordId, path: "methods" }], message }];
}

/** A pattern starts with the prefix of a server, or with a `*` that stands in its place. */
function keyWarnings(
  { id: recordId, tools }: KeyGrants,
  servers: readonly McpServer[],
): ConfigurationWarning[] {
  return (tools ?? []).flatMap((pattern, index) => {
    const end = pattern.indexOf("__");
    const start = end < 0 ? pattern : pattern.slice(0, end);
    const prefixes = servers.map(({ prefix, name }) => prefix ?? name);
    const isFound = start.includes("*")
      ? prefixes.some((prefix) =>
          new ToolPatterns([`${start.slice(0, start.indexOf("*"))}*`]).matches(prefix),
        )
      : end >= 0 && prefixes.includes(start);
    if (isFound) return [];
    const message = `no MCP server of the gateway has tools that match "${pattern}"; a pattern is prefix__name, such as ${prefixes[0] ?? "tickets"}__*`;
    return [{ places: [{ recordId, path: `tools[${index}]` }], message }];
  });
}
