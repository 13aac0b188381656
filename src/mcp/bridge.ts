// Converts results and messages of a server to what the client's protocol version and the public names of the service need.
import type { JsonObject } from "../base/json.ts";
import { isParsedObject, RawJson } from "../base/raw-json.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { metaOf, textOf, type RpcErrorObject, type RpcResponse } from "./json-rpc.ts";
import { LISTS, META_LOG_LEVEL, RPC, LOG_LEVELS, type Generation, type ListMethod } from "./protocol.ts";
import { RawItem, type ListItem } from "./list-items.ts";
import type { PublicNames } from "./public-names.ts";
import { withPublicUris } from "./public-uris.ts";
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

/** Resolves to the response to a request as the client gets it. */
export async function bridgeResponse(
  method: string,
  { result, error }: RpcResponse,
  bridge: Bridge,
  offLoop: OffLoop,
): Promise<{ readonly result: JsonObject } | { readonly error: RpcErrorObject }> {
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
  const { names, server } = bridge;
  const bridged = bridgeResult(method, result, bridge);
  return {
    result: await withPublicUris(bridged, names.uriFor(server, ""), { offLoop, tenant: server.tag }),
  };
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
  if (Object.hasOwn(kept, "structuredContent") && !isObject(kept["structuredContent"]))
    Reflect.deleteProperty(kept, "structuredContent");
  return kept;
}

function isObject(value: unknown): boolean {
  return value instanceof RawJson ? value.isObject : isParsedObject(value);
}

function bridgeError(method: string, error: RpcErrorObject, { from, to }: Bridge): RpcErrorObject {
  const isMissing = method === "resources/read" && error.code === RPC.resourceNotFound;
  return from === "session" && to === "stateless" && isMissing
    ? { ...error, code: RPC.invalidParams }
    : error;
}

/** Returns the name or URI of an item as the client gets it. */
export function publicNameOf(method: ListMethod, name: string, { names, server }: Bridge): string {
  const isNamed = LISTS[method].key === "name";
  return isNamed ? names.nameFor(server, name) : names.uriFor(server, name);
}

/** Returns an item of a list as the client gets it. `name` is the one that the client uses. */
export function bridgeItem(
  method: ListMethod,
  item: ListItem,
  name: string,
  { from, to }: Bridge,
): JsonObject | RawJson {
  const { key } = LISTS[method];
  if (item instanceof RawItem) return item.named(key, name, from === to ? null : to);
  const changed = { ...item, [key]: name };
  if (method === "tools/list" && from !== to) bridgeTool(changed, to);
  return changed;
}

function bridgeTool(tool: JsonObject, to: Generation): void {
  // Tasks of the session generation cannot be bridged.
  if (to === "stateless") Reflect.deleteProperty(tool, "execution");
  const schema = tool["outputSchema"];
  if (to === "session" && isParsedObject(schema) && schema["type"] !== "object")
    Reflect.deleteProperty(tool, "outputSchema");
}

/** Whether a client that asked for messages of a level gets one with these params. Clients of sessions set the level at the server. */
export function wantsLogMessage(requestParams: JsonObject, messageParams: JsonObject): boolean {
  const wanted = LOG_LEVELS.indexOf(textOf(metaOf(requestParams), META_LOG_LEVEL) ?? "");
  return wanted >= 0 && LOG_LEVELS.indexOf(textOf(messageParams, "level") ?? "") >= wanted;
}
