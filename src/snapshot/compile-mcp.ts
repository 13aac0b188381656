// Compiles the MCP servers of a gateway, and the services that lead to them.
import { BalanceRegistry } from "../balance/balance-registry.ts";
import type { ErrorDetail } from "../base/errors.ts";
import { sha256 } from "../base/sha256.ts";
import type { CompiledMcpServer, CompiledMcpService } from "../mcp/compiled.ts";
import { ToolPatterns } from "../mcp/tool-patterns.ts";
import type { McpServer } from "../model/mcp-server.ts";
import type { Service } from "../model/service.ts";
import type { TargetCredentials } from "../upstream/credentials/cloud-credentials.ts";
import { CompileError } from "./compile-error.ts";
import type { CompiledUpstream } from "./compile-upstream.ts";

/** Returns the services of type `mcp` by id; null if there are none. */
export function compileMcpServices(
  servers: readonly McpServer[],
  services: readonly Service[],
  credentials: TargetCredentials,
): ReadonlyMap<string, CompiledMcpService> | null {
  rejectDuplicates(servers);
  const compiled = new Map(servers.map((server) => [server.id, compileMcpServer(server, credentials)]));
  const found = services.filter(({ type }) => type === "mcp");
  if (found.length === 0) return null;
  const enabled = new Set(servers.flatMap(({ id, enabled: isEnabled }) => (isEnabled ? id : [])));
  return new Map(
    found.map((service) => {
      const all = service.mcp_server_ids.flatMap((id) => compiled.get(id) ?? []);
      rejectSamePrefixes(service, all);
      return [
        service.id,
        {
          id: service.id,
          name: service.name,
          servers: all.filter(({ id }) => enabled.has(id)),
          usesPrefixes: all.length > 1,
        },
      ];
    }),
  );
}

/** Names are part of header names and of documents, so they are unique in a gateway. */
function rejectDuplicates(servers: readonly McpServer[]): void {
  const owners = new Map<string, string>();
  for (const { id, name } of servers) {
    const owner = owners.get(name);
    // The newest record is the one that was written.
    if (owner !== undefined)
      throw new CompileError("mcp_servers", id, [
        { path: "name", message: `"${name}" is already the name of the MCP server ${owner}` },
      ]);
    owners.set(name, id);
  }
}

function rejectSamePrefixes({ id, mcp_server_ids }: Service, servers: readonly CompiledMcpServer[]): void {
  const owners = new Map<string, string>();
  const problems: ErrorDetail[] = [];
  for (const server of servers) {
    const owner = owners.get(server.prefix);
    owners.set(server.prefix, owner ?? server.name);
    if (owner === undefined) continue;
    const path = `mcp_server_ids[${mcp_server_ids.indexOf(server.id)}]`;
    const message = `the MCP server "${server.name}" has the same prefix "${server.prefix}" as "${owner}"; give one of them another prefix`;
    problems.push({ path, message });
  }
  if (problems.length > 0) throw new CompileError("services", id, problems);
}

function compileMcpServer(server: McpServer, cloud: TargetCredentials): CompiledMcpServer {
  const { credentials, tools } = server;
  const problem = credentials === null ? null : cloud.problemOf(credentials);
  if (problem !== null)
    throw new CompileError("mcp_servers", server.id, [{ path: "credentials", message: problem }]);
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(server.headers)) headers.set(name.toLowerCase(), value);
  if (credentials !== null && "header_name" in credentials)
    headers.set(credentials.header_name.toLowerCase(), credentials.header_value);
  const credential = credentials === null ? null : cloud.of(credentials);
  const { origin, pathname, search } = new URL(server.url);
  return {
    id: server.id,
    name: server.name,
    prefix: server.prefix ?? server.name,
    baseUrl: origin,
    path: pathname + search,
    // Hashed, because the key stays in memory as long as its connections, and the headers contain credentials.
    poolKey: sha256(
      JSON.stringify([
        "mcp",
        server.gateway_id,
        origin,
        ...headers,
        ...(credential === null ? [] : [credentials]),
      ]),
    ),
    headers: [...headers],
    credential,
    authorizationHeader: server.forward_authorization ? `x-mcp-${server.name}-authorization` : null,
    allow: tools.allow === null ? null : new ToolPatterns(tools.allow),
    deny: tools.deny.length === 0 ? null : new ToolPatterns(tools.deny),
    pin: server.pin,
    timeouts: server.timeouts,
  };
}

/** A plan without targets keeps no state, so that all services can share one. */
const PLAN_WITHOUT_TARGETS = new BalanceRegistry().plan("", {
  algorithm: "round-robin",
  targets: [],
  passive: false,
  threshold: 1,
  intervalMs: 1000,
});

/** The upstream of rules that lead to MCP servers: it has no targets, so that no step of a request for models finds one. */
export function upstreamOfMcp({ id, name }: CompiledMcpService): CompiledUpstream {
  const none = { preferred: [], fallback: [] };
  return {
    id,
    name,
    targets: [],
    plan: PLAN_WITHOUT_TARGETS,
    maxAttempts: 1,
    timeouts: { connect: 1, first_byte: 1, first_content: null, idle: 1, total: null },
    commit: null,
    hedge: null,
    onCancel: "settle",
    usesClientAddress: false,
    readsBody: false,
    requiresModel: false,
    requiresReadableModel: false,
    hasEndpoints: false,
    hasSeveralFormats: false,
    candidatesFor: () => none,
  };
}
