// Converts results and messages of a server to what the client's protocol version and the public names of the service need.
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { metaOf, textOf, type RpcErrorObject, type RpcResponse } from "./json-rpc.ts";
import { META_LOG_LEVEL, RPC, LOG_LEVELS, type Generation } from "./protocol.ts";
import type { PublicNames } from "./public-names.ts";
import type { McpServerTarget } from "./server-target.ts";

/** Fields that only results of the stateless generation have. */
const STATELESS_FIELDS = ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"];
/** Methods whose results say how long they may be kept. */
const CACHEABLE = new Set(["resources/read"]);

interface Bridge {
  readonly from: Generation;
  readonly to: Generation;
  readonly server: McpServerTarget;
  readonly names: PublicNames<McpServerTarget>;
}

/** Returns the response to a request as the client gets it. */
export function bridgeResponse(
  method: string,
  { result, error }: RpcResponse,
  bridge: Bridge,
): { readonly result: JsonObject } | { readonly error: RpcErrorObject } {
  if (result === null)
    return {
      error: bridgeError(method, error ?? { code: RPC.internalError, message: "Internal error." }, bridge),
    };
  if (
    bridge.from === "stateless" &&
    bridge.to === "session" &&
    (result["resultType"] ?? "complete") !== "complete"
  ) {
    // The client did not offer this capability to the server.
    const message = `The server "${bridge.server.name}" requires input from the client, which this protocol version cannot deliver.`;
    return { error: { code: RPC.internalError, message } };
  }
  return { result: withPublicUris(bridgeResult(method, result, bridge), bridge) };
}

function bridgeResult(method: string, result: JsonObject, { from, to }: Bridge): JsonObject {
  if (from === to)
    return to === "stateless" && !Object.hasOwn(result, "resultType")
      ? { ...result, resultType: "complete" }
      : result;
  if (to === "stateless") {
    const caching = CACHEABLE.has(method) ? { ttlMs: 0, cacheScope: "private" } : {};
    return { ...result, ...caching, resultType: "complete" };
  }
  const kept = Object.fromEntries(Object.entries(result).filter(([key]) => !STATELESS_FIELDS.includes(key)));
  // Earlier versions allow only objects.
  if (Object.hasOwn(kept, "structuredContent") && !isJsonObject(kept["structuredContent"]))
    Reflect.deleteProperty(kept, "structuredContent");
  return kept;
}

function bridgeError(method: string, error: RpcErrorObject, { from, to }: Bridge): RpcErrorObject {
  const isMissing = method === "resources/read" && error.code === RPC.resourceNotFound;
  return from === "session" && to === "stateless" && isMissing
    ? { ...error, code: RPC.invalidParams }
    : error;
}

/** Replaces URIs of resources in results of tools, prompts, and resources. */
function withPublicUris(result: JsonObject, { names, server }: Bridge): JsonObject {
  if (names.uriFor(server, "") === "") return result;
  const changed = { ...result };
  const content = (value: unknown) => contentWithUri(value, (uri) => names.uriFor(server, uri));
  if (Array.isArray(result["content"])) changed["content"] = result["content"].map(content);
  if (Array.isArray(result["contents"]))
    changed["contents"] = result["contents"].map((each: unknown) =>
      itemWithUri(each, (uri) => names.uriFor(server, uri)),
    );
  if (Array.isArray(result["messages"]))
    changed["messages"] = result["messages"].map((message: unknown) =>
      isJsonObject(message) ? { ...message, content: content(message["content"]) } : message,
    );
  return changed;
}

function contentWithUri(value: unknown, uriFor: (uri: string) => string): unknown {
  if (!isJsonObject(value)) return value;
  if (value["type"] === "resource_link") return itemWithUri(value, uriFor);
  return value["type"] === "resource"
    ? { ...value, resource: itemWithUri(value["resource"], uriFor) }
    : value;
}

function itemWithUri(value: unknown, uriFor: (uri: string) => string): unknown {
  if (!isJsonObject(value)) return value;
  const uri = textOf(value, "uri");
  return uri === null ? value : { ...value, uri: uriFor(uri) };
}

/** Returns a definition of a list as the client gets it. */
export function bridgeItem(method: string, item: JsonObject, bridge: Bridge): JsonObject {
  const { names, server, from, to } = bridge;
  const changed = { ...item };
  if (method === "tools/list" || method === "prompts/list")
    changed["name"] = names.nameFor(server, textOf(item, "name") ?? "");
  if (method === "resources/list") changed["uri"] = names.uriFor(server, textOf(item, "uri") ?? "");
  if (method === "resources/templates/list")
    changed["uriTemplate"] = names.uriFor(server, textOf(item, "uriTemplate") ?? "");
  if (method === "tools/list" && from !== to) bridgeTool(changed, to);
  return changed;
}

function bridgeTool(tool: JsonObject, to: Generation): void {
  // Tasks of the session generation cannot be bridged.
  if (to === "stateless") Reflect.deleteProperty(tool, "execution");
  const schema = tool["outputSchema"];
  if (to === "session" && isJsonObject(schema) && schema["type"] !== "object")
    Reflect.deleteProperty(tool, "outputSchema");
}

/** Whether a client that asked for messages of a level gets one with these params. Clients of sessions set the level at the server. */
export function wantsLogMessage(requestParams: JsonObject, messageParams: JsonObject): boolean {
  const wanted = LOG_LEVELS.indexOf(textOf(metaOf(requestParams), META_LOG_LEVEL) ?? "");
  return wanted >= 0 && LOG_LEVELS.indexOf(textOf(messageParams, "level") ?? "") >= wanted;
}
