// Builds what serving a request of an MCP client needs from the exchange: the client, what it may use, and its links to servers.
import type { JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import type { CacheOwner } from "../../mcp/client-cache.ts";
import type { ClientContext, ClientSink } from "../../mcp/client-context.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import { forwardedCapabilities } from "../../mcp/describe-service.ts";
import { ItemAccess } from "../../mcp/item-access.ts";
import { metaOf, objectOf } from "../../mcp/json-rpc.ts";
import type { McpEndpoint } from "../../mcp/mcp-endpoint.ts";
import type { RequestObserver } from "../../mcp/observe-request.ts";
import { META_CLIENT_CAPABILITIES, META_CLIENT_INFO } from "../../mcp/protocol.ts";
import type { SessionSeal } from "../../mcp/session-seal.ts";
import type { ClientCredential } from "../../mcp/server-call.ts";
import type { ClientDescription } from "../../mcp/server-link.ts";
import { serviceTargets, type McpServerTarget } from "../../mcp/server-target.ts";
import type { Exchange } from "../exchange.ts";
import type { OwnCredentials } from "../own-credentials.ts";
import type { McpMessages, McpRequest } from "./mcp-request.ts";
import { ownerOf } from "./read-mcp-body.ts";

interface ContextParts {
  readonly service: CompiledMcpService;
  readonly endpoint: McpEndpoint;
  readonly ownCredentials: OwnCredentials;
  readonly sink: ClientSink;
  readonly onQuestion: ClientContext["onQuestion"];
  readonly observer: RequestObserver;
  readonly seal: SessionSeal;
}

const UNKNOWN_CLIENT: JsonObject = { name: "gatehouse", version: "1" };

export function clientContextOf(
  exchange: Exchange,
  request: McpRequest,
  content: McpMessages,
  { service, endpoint, ownCredentials, sink, onQuestion, observer, seal }: ContextParts,
): ClientContext {
  const { headers } = exchange.request;
  const { servers, names } = serviceTargets(service);
  const client = describeClient(content);
  const patterns = exchange.apiKey?.tools ?? null;
  const gatewayId = exchange.gateway?.id ?? "";
  const owner = { gatewayId, client: exchange.apiKey?.id ?? "" };
  const sessionOwner = ownerOf(exchange, service);
  const { session } = content;
  const access = patterns === null ? null : new ItemAccess(patterns);
  const credentialOf = (server: McpServerTarget) => {
    const value = server.authorizationHeader === null ? null : headers.get(server.authorizationHeader);
    // A credential that this gateway accepts never leaves it.
    return value === null || ownCredentials.areIn(value) ? null : clientCredential(value, owner);
  };
  return {
    gatewayId,
    servers: access === null ? servers : servers.filter((server) => access.mayUseServer(server)),
    names,
    client,
    links: endpoint.links({ owner: sessionOwner, client, session, credentialOf }),
    access,
    header: (name) => headers.get(name),
    signal: request.signal,
    sealPlace: (place) => (session === null ? null : seal.sealPlace(place, sessionOwner, session)),
    sink,
    onQuestion,
    observer,
  };
}

function clientCredential(authorization: string, owner: CacheOwner): ClientCredential {
  return { authorization, digest: sha256(authorization), owner };
}

/** A client describes itself in `initialize`, or in each request. */
function describeClient({ messages, generation }: McpMessages): ClientDescription {
  const [first] = messages;
  const params = first === undefined || first.kind === "response" ? {} : first.params;
  if (generation === "stateless") {
    const meta = metaOf(params);
    return {
      info: objectOf(meta, META_CLIENT_INFO) ?? UNKNOWN_CLIENT,
      capabilities: objectOf(meta, META_CLIENT_CAPABILITIES) ?? {},
      generation,
    };
  }
  const starts = first?.kind === "request" && first.method === "initialize";
  return {
    info: (starts ? objectOf(params, "clientInfo") : null) ?? UNKNOWN_CLIENT,
    capabilities: starts ? forwardedCapabilities(objectOf(params, "capabilities")) : {},
    generation,
  };
}
