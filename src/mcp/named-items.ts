// What requests of a client name, as rules about tools, prompts and resources know it: by the client's name, in one spelling.
import type { McpRequestName } from "../formats/text-channels.ts";
import { isAmbiguousUri, itemOf } from "./item-access.ts";
import { objectOf, textOf, type RpcMessage, type RpcRequest } from "./json-rpc.ts";
import type { JsonObject } from "../base/json.ts";
import type { PublicNames } from "./public-names.ts";
import type { McpServerTarget } from "./server-target.ts";

/** A prompt or a resource that a request uses, or asks a completion for. */
export interface NamedPrompt {
  readonly method: string;
  readonly kind: "prompt" | "resource";
  /** Null if servers may read several names in it. */
  readonly name: string | null;
  /** Of the prompt, or the argument to complete; null if they are too large to be read. */
  readonly arguments: Readonly<JsonObject> | null;
}

type Names = PublicNames<McpServerTarget>;

/** Returns the prompts and resources that the messages name. */
export function namedPrompts(messages: readonly RpcMessage[], names: Names): NamedPrompt[] {
  return requestsIn(messages).flatMap((request) => {
    const { method, params } = request;
    if (method === "tools/call") return [];
    const item = itemOf(request, names);
    if (item === null) return [];
    const field = method === "completion/complete" ? "argument" : "arguments";
    const given = Object.hasOwn(params, field) ? objectOf(params, field) : {};
    const kind = item.isUri ? "resource" : "prompt";
    return [{ method, kind, name: nameOf(request, names), arguments: given }];
  });
}

/** Returns the requests, and what each names. */
export function requestNames(messages: readonly RpcMessage[], names: Names): McpRequestName[] {
  return requestsIn(messages).map((request) => {
    const { id, method } = request;
    return { id, method, item: nameOf(request, names) };
  });
}

function requestsIn(messages: readonly RpcMessage[]): RpcRequest[] {
  return messages.filter((message) => message.kind === "request");
}

function nameOf(request: RpcRequest, names: Names): string | null {
  // As the client wrote it: `context.tool` has this name, too.
  if (request.method === "tools/call") return textOf(request.params, "name");
  const item = itemOf(request, names);
  if (item === null) return null;
  const { server, name, isUri } = item;
  if (!isUri) return names.nameFor(server, name);
  return isAmbiguousUri(name) ? null : normalizedUri(names.uriFor(server, name));
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const UNRESERVED = /^[\w.~-]$/;

/** Returns a URI in the spelling to which others are equal (RFC 3986, section 6.2.2). */
function normalizedUri(uri: string): string {
  return uri
    .replace(SCHEME, (scheme) => scheme.toLowerCase())
    .replaceAll(/%[0-9a-f]{2}/gi, (escaped) => {
      const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
      return UNRESERVED.test(character) ? character : escaped.toUpperCase();
    });
}
