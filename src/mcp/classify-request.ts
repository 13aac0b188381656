// Decides which protocol version a request of a client uses, and whether header fields and body agree.
import type { JsonObject } from "../base/json.ts";
import { isJsonObject } from "../base/json.ts";
import { readHeaderText } from "./header-text.ts";
import {
  metaOf,
  objectOf,
  RpcError,
  textOf,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
} from "./json-rpc.ts";
import {
  isStatelessVersion,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_VERSION,
  RPC,
  SESSION_VERSIONS,
  STATELESS_VERSION,
  SUPPORTED_VERSIONS,
  type Generation,
} from "./protocol.ts";

type Header = (name: string) => string | null;

/** Returns the generation of a message. Throws an RpcError if header fields and body disagree or are incomplete. */
export function classifyMessage(message: RpcMessage, header: Header): Generation {
  const named = header("mcp-protocol-version")?.trim() ?? null;
  const namesStateless = named !== null && isStatelessVersion(named);
  if (message.kind === "response") return "session";
  const meta = metaOf(message.params);
  const claimed = Object.hasOwn(meta, META_VERSION);
  if (message.kind === "request" && message.method === "initialize" && !claimsStateless(meta)) {
    if (namesStateless) throw mismatch(`initialize is not part of protocol version ${named}.`);
    return "session";
  }
  if (!claimed && !namesStateless) {
    checkSessionVersion(named, message);
    return "session";
  }
  if (message.kind === "notification") checkNotification(message, named, header);
  else checkEnvelope(message, meta, named, header);
  return "stateless";
}

function claimsStateless(meta: JsonObject): boolean {
  const version = textOf(meta, META_VERSION);
  return version !== null && isStatelessVersion(version) && objectOf(meta, META_CLIENT_CAPABILITIES) !== null;
}

/** The field is optional: without it, a server assumes 2025-03-26. */
function checkSessionVersion(named: string | null, message: RpcMessage): void {
  if (named === null || SESSION_VERSIONS.includes(named)) return;
  if (message.kind === "request" && message.method === "initialize") return;
  throw new RpcError(
    RPC.serverError,
    `The protocol version "${named.slice(0, 40)}" in MCP-Protocol-Version is not supported. Supported: ${SUPPORTED_VERSIONS.join(", ")}.`,
    { httpStatus: 400 },
  );
}

function checkNotification(message: RpcNotification, named: string | null, header: Header): void {
  const claimed = textOf(metaOf(message.params), META_VERSION);
  if (claimed !== null && named !== null && claimed !== named)
    throw mismatch("MCP-Protocol-Version differs from _meta.");
  const method = header("mcp-method")?.trim() ?? null;
  if (method !== null && method !== message.method)
    throw mismatch("Mcp-Method differs from the method of the body.");
}

function checkEnvelope(request: RpcRequest, meta: JsonObject, named: string | null, header: Header): void {
  const problem = envelopeProblem(meta);
  if (problem !== null) throw new RpcError(RPC.invalidParams, problem, { httpStatus: 400 });
  const version = textOf(meta, META_VERSION) ?? "";
  if (named !== null && named !== version)
    throw mismatch("MCP-Protocol-Version differs from the protocol version in _meta.");
  if (version !== STATELESS_VERSION)
    throw new RpcError(RPC.unsupportedVersion, `Unsupported protocol version: ${version.slice(0, 40)}`, {
      data: { supported: [STATELESS_VERSION], requested: version.slice(0, 40) },
      httpStatus: 400,
    });
  if (named === null) throw mismatch("The header MCP-Protocol-Version is missing.");
  const method = header("mcp-method")?.trim() ?? null;
  if (method === null) throw mismatch("The header Mcp-Method is missing.");
  if (method !== request.method) throw mismatch("Mcp-Method differs from the method of the body.");
  checkName(request, header);
}

function envelopeProblem(meta: JsonObject): string | null {
  if (textOf(meta, META_VERSION) === null) return `params._meta needs the text "${META_VERSION}".`;
  if (objectOf(meta, META_CLIENT_CAPABILITIES) === null)
    return `params._meta needs the object "${META_CLIENT_CAPABILITIES}".`;
  const info = meta[META_CLIENT_INFO];
  if (info === undefined) return null;
  const isValid = isJsonObject(info) && textOf(info, "name") !== null && textOf(info, "version") !== null;
  return isValid ? null : `params._meta needs name and version in "${META_CLIENT_INFO}".`;
}

/** The field that Mcp-Name repeats, by method. */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

function checkName({ method, params }: RpcRequest, header: Header): void {
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (field === undefined) return;
  const expected = textOf(params, field);
  const value = header("mcp-name")?.trim() ?? null;
  if (value === null) {
    if (expected !== null) throw mismatch("The header Mcp-Name is missing.");
    return;
  }
  const read = readHeaderText(value);
  if (read === null) throw mismatch("Mcp-Name is not valid Base64.");
  if (expected !== null && read !== expected) throw mismatch(`Mcp-Name differs from params.${field}.`);
}

function mismatch(message: string): RpcError {
  return new RpcError(RPC.headerMismatch, message, { httpStatus: 400 });
}
