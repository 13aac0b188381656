// Constants of the Model Context Protocol: its versions, the keys of `_meta`, and its error codes.

/** How a protocol version connects client and server: each request on its own, or sessions that begin with `initialize`. */
export type Generation = "stateless" | "session";

export const STATELESS_VERSION = "2026-07-28";

/** Newest first. */
export const SESSION_VERSIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
export const NEWEST_SESSION_VERSION = "2025-11-25";

/** The only version with JSON-RPC batches. */
export const BATCH_VERSION = "2025-03-26";

export const SUPPORTED_VERSIONS: readonly string[] = [STATELESS_VERSION, ...SESSION_VERSIONS];

/** Versions are dates, so that they compare as text. */
export function isStatelessVersion(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= STATELESS_VERSION;
}

/** Keys that the protocol reserves in `_meta`. */
export const META_PREFIX = "io.modelcontextprotocol/";
export const META_VERSION = `${META_PREFIX}protocolVersion`;
export const META_CLIENT_INFO = `${META_PREFIX}clientInfo`;
export const META_CLIENT_CAPABILITIES = `${META_PREFIX}clientCapabilities`;
export const META_LOG_LEVEL = `${META_PREFIX}logLevel`;
export const META_SERVER_INFO = `${META_PREFIX}serverInfo`;
export const META_SUBSCRIPTION = `${META_PREFIX}subscriptionId`;

/** Names the servers that a merged result lacks. */
export const META_UNAVAILABLE = "gatehouse/unavailable_servers";
/** The servers of which a plugin refused a part of a merged result, and the code of the refusal. */
export const META_REFUSED = "gatehouse/refused_servers";

export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** The range that JSON-RPC leaves to implementations. */
  serverError: -32000,
  /** Used by servers with sessions for an unknown session. */
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** The HTTP status of errors of the stateless generation that a server responds with. Others have 200. */
const STATELESS_STATUS: Readonly<Record<number, number>> = {
  [RPC.methodNotFound]: 404,
  [RPC.headerMismatch]: 400,
  [RPC.missingCapability]: 400,
  [RPC.unsupportedVersion]: 400,
};

/** Returns the HTTP status of a server's error. In sessions, every response to a request has 200. */
export function errorStatus(code: number, generation: Generation): number {
  return generation === "stateless" ? (STATELESS_STATUS[code] ?? 200) : 200;
}

/** Severities of log messages, least severe first. */
export const LOG_LEVELS: readonly string[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/** The lists that a server offers, by the method that returns them. */
export const LISTS = {
  "tools/list": { field: "tools", capability: "tools", key: "name" },
  "prompts/list": { field: "prompts", capability: "prompts", key: "name" },
  "resources/list": { field: "resources", capability: "resources", key: "uri" },
  "resources/templates/list": { field: "resourceTemplates", capability: "resources", key: "uriTemplate" },
} as const;

export type ListMethod = keyof typeof LISTS;

export function isListMethod(method: string): method is ListMethod {
  return Object.hasOwn(LISTS, method);
}
