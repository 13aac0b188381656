// Explains a request to an MCP service: which server would serve it, and whether the client may use the tool. Sends nothing to servers.
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { CompiledMcpServer, CompiledMcpService } from "../mcp/compiled.ts";
import { ItemAccess, itemOf, type RequestedItem } from "../mcp/item-access.ts";
import { objectOf, textOf, type RpcMessage, type RpcResponse } from "../mcp/json-rpc.ts";
import { isListMethod } from "../mcp/protocol.ts";
import { qualifiedName, serviceTargets, type McpServerTarget } from "../mcp/server-target.ts";
import type { ToolPins } from "../mcp/tool-pins.ts";
import type { Explanation } from "../model/explanation.ts";
import type { Exchange } from "../proxy/exchange.ts";

type ExplainedMcp = NonNullable<Explanation["mcp"]>;
type Verdict = Pick<ExplainedMcp, "allowed" | "reason">;

/** Returns null if the request has no message that can be explained. */
export function explainMcp(exchange: Exchange, pins: Pick<ToolPins, "statusOf">): ExplainedMcp | null {
  const service = exchange.rule?.mcp ?? null;
  const main = exchange.mcp?.main ?? null;
  if (service === null || main === null || main.kind === "response") return null;
  const { method } = main;
  const { servers, names } = serviceTargets(service);
  const tool = exchange.mcp?.content?.tool?.name ?? null;
  const given = givenIn(main);
  const found = main.kind === "request" ? itemOf(main, names) : null;
  const server = found?.server ?? null;
  const isList = isListMethod(method);
  const explained = servers.map((each) => ({
    id: each.id,
    name: each.name,
    next: isList || each === server,
    reason: reasonOf(each, given, server, isList, service),
  }));
  const verdict =
    tool !== null
      ? toolVerdict(exchange, service, tool, found, pins)
      : otherVerdict(exchange, method, given, found);
  return {
    method,
    tool,
    server: server === null ? null : { id: server.id, name: server.name },
    ...verdict,
    servers: explained,
  };
}

/** The response to a request for something that is not offered to the client: the same as for something that does not exist. */
export function unknownItem({ tool }: ExplainedMcp): OutgoingResponse {
  const error = tool === null ? "Not found" : `Unknown tool: ${tool}`;
  return OutgoingResponse.json({ error, code: "mcp_error" }, { status: 200 });
}

function reasonOf(
  each: McpServerTarget,
  given: string | null,
  server: McpServerTarget | null,
  isList: boolean,
  { usesPrefixes }: CompiledMcpService,
): string {
  if (isList) return `its list is fetched within ${each.timeouts.list} ms, unless it is in the cache`;
  if (given === null) return "the request names no tool, prompt or resource";
  if (each !== server) return `its names begin with ${each.prefix}__`;
  return usesPrefixes
    ? `the name begins with its prefix, ${each.prefix}__`
    : "the only server of the service";
}

/** Returns the name or URI in a request; null if there is none. */
function givenIn({ method, params }: Exclude<RpcMessage, RpcResponse>): string | null {
  const source = method === "completion/complete" ? (objectOf(params, "ref") ?? {}) : params;
  return textOf(source, "uri") ?? textOf(source, "name");
}

function otherVerdict(
  { apiKey }: Exchange,
  method: string,
  given: string | null,
  item: RequestedItem | null,
): Verdict {
  const tools = apiKey?.tools ?? null;
  if (isListMethod(method)) {
    const part = tools === null ? "" : `; the API key "${apiKey?.name ?? ""}" gets what its tools include`;
    return { allowed: true, reason: `the lists of all servers are merged${part}` };
  }
  if (given === null) return { allowed: true, reason: "the gateway responds, or asks all servers" };
  if (item === null) return denied("the name begins with the prefix of no server of the service");
  if (tools !== null && !new ItemAccess(tools).mayUse(item))
    return denied(
      `the tools of the API key "${apiKey?.name ?? ""}" do not include ${qualifiedName(item.server, item.name)}`,
    );
  return { allowed: true, reason: "the server decides whether it exists" };
}

/** The first check that fails decides, in the order in which a request is checked. */
function toolVerdict(
  { apiKey, rule }: Exchange,
  service: CompiledMcpService,
  tool: string,
  found: { readonly server: McpServerTarget; readonly name: string } | null,
  pins: Pick<ToolPins, "statusOf">,
): Verdict {
  if (rule === null || found === null) {
    const prefixes = service.servers.map(({ prefix }) => `${prefix}__`).join(", ");
    return denied(`the name begins with the prefix of no server of the service: ${prefixes || "none"}`);
  }
  const { server, name } = found;
  const filter = filterReason(
    service.servers.find(({ id }) => id === server.id),
    name,
  );
  if (filter !== null) return denied(filter);
  const full = qualifiedName(server, name);
  if (apiKey !== null && apiKey.tools !== null && !apiKey.tools.matches(full))
    return denied(`the tools of the API key "${apiKey.name}" do not include ${full}`);
  const status = server.pin === "off" ? null : pins.statusOf(server.id, name);
  if (status === "changed" && server.pin === "hold")
    return denied("its definition has changed and is not approved (pin: hold)");
  if (status === "new" && server.pin === "hold")
    return denied("the tool is new, or looks like another one, and is not approved (pin: hold)");
  if (status === null)
    return { allowed: null, reason: `not known: no list with ${tool} has been seen from the server` };
  const changed = status === "changed" ? "; its definition has changed since it was approved" : "";
  return { allowed: true, reason: `the server offers the tool, and the client may use it${changed}` };
}

function filterReason(server: CompiledMcpServer | undefined, name: string): string | null {
  if (server === undefined) return "the server is not enabled";
  if (server.deny !== null && server.deny.matches(name)) return `tools.deny of the server matches ${name}`;
  if (server.allow !== null && !server.allow.matches(name))
    return `tools.allow of the server does not include ${name}`;
  return null;
}

function denied(reason: string): Verdict {
  return { allowed: false, reason };
}
