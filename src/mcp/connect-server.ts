// Finds out which protocol version a server speaks, in the generation of the client if it can, and starts a session where
// that version has sessions.
import { BoundedCache } from "../base/bounded-cache.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { withTimeout } from "../base/with-timeout.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { ClientCache, type CacheOwner } from "./client-cache.ts";
import { objectOf, textOf, type RpcResponse } from "./json-rpc.ts";
import { NEWEST_SESSION_VERSION, SESSION_VERSIONS, STATELESS_VERSION, type Generation } from "./protocol.ts";
import {
  callServer,
  ServerProtocolError,
  ServerStatusError,
  type ClientCredential,
  type ServerCallParts,
} from "./server-call.ts";
import { sendInitialized, sendRequest, type ClientDescription, type ServerLink } from "./server-link.ts";
import { MAX_SERVER_SESSION_ID } from "./session-seal.ts";
import type { McpServerTarget } from "./server-target.ts";
import { requestText } from "./json-rpc.ts";

export interface ConnectedServer {
  readonly link: ServerLink;
  readonly capabilities: JsonObject;
  readonly info: JsonObject | null;
  readonly instructions: string | null;
}

interface ConnectOptions {
  readonly client: ClientDescription;
  /** The version that a session is requested in. */
  readonly version: string;
  readonly credential: ClientCredential | null;
  readonly signal: AbortSignal | null;
  readonly gatewayId: string;
  /** Whether the session belongs to one session of a client. */
  readonly isClientSession: boolean;
  /** Whether the server is asked even if it is known. */
  readonly isProbe?: boolean;
}

/** How long a server's generation is remembered. A server that was updated is found out after this time. */
const REMEMBERED_MS = 5 * 60_000;
const MIN_DISCOVERY_MS = 30_000;

interface Remembered {
  readonly generation: Generation;
  readonly until: number;
}

/** Bytes of parsed JSON in memory for each byte of its text. */
const MEMORY_PER_BYTE = 4;

export class ServerConnector {
  readonly #parts: ServerCallParts;
  /** The generation of servers that do not have that of the client, by tag and generation of the client. */
  readonly #others = new BoundedCache<string, Remembered>(2000);
  readonly #discoveries: ClientCache<ConnectedServer>;

  constructor(parts: ServerCallParts) {
    this.#parts = parts;
    this.#discoveries = new ClientCache(parts.clock);
  }

  /** Rejects with an error of `callServer`, or a ServerProtocolError. */
  async connect(server: McpServerTarget, options: ConnectOptions): Promise<ConnectedServer> {
    const preferred = options.client.generation;
    const other: Generation = preferred === "session" ? "stateless" : "session";
    const key = `${server.tag} ${preferred}`;
    const remembered = this.#others.get(key);
    const now = this.#parts.clock.now();
    if (remembered !== undefined && remembered.until > now)
      return this.#start(server, remembered.generation, options);
    try {
      return await this.#start(server, preferred, options);
    } catch (error) {
      if (!speaksOtherwise(error)) throw error;
      const connected = await Promise.resolve(this.#start(server, other, options)).catch(() => {
        throw error;
      });
      this.#others.set(key, { generation: other, until: now + REMEMBERED_MS });
      return connected;
    }
  }

  #start(
    server: McpServerTarget,
    generation: Generation,
    options: ConnectOptions,
  ): ConnectedServer | Promise<ConnectedServer> {
    const known = generation === "session" || options.isProbe === true ? null : this.#known(server, options);
    if (known !== null) return known;
    // A server that sends something now and then, but no response, is never silent for long.
    const aborted = new AbortController();
    const { signal } = options;
    const bounded = {
      ...options,
      signal: signal === null ? aborted.signal : AbortSignal.any([signal, aborted.signal]),
    };
    const started =
      generation === "session" ? this.#initialize(server, bounded) : this.#discover(server, bounded);
    const timeout = () => {
      aborted.abort();
      return new UpstreamError("first_byte_timeout");
    };
    return withTimeout(server.timeouts.list, started, timeout, this.#parts.clock);
  }

  #known(server: McpServerTarget, options: ConnectOptions): ConnectedServer | null {
    return this.#discoveries.get(ownerOf(options), discoveryKey(server, options)) ?? null;
  }

  async #initialize(server: McpServerTarget, options: ConnectOptions): Promise<ConnectedServer> {
    const { client, credential, signal } = options;
    const isSame = client.generation === "session";
    const version = SESSION_VERSIONS.includes(options.version) ? options.version : NEWEST_SESSION_VERSION;
    const params = {
      protocolVersion: version,
      capabilities: isSame ? client.capabilities : {},
      clientInfo: client.info,
    };
    const reply = await callServer(
      server,
      {
        method: "POST",
        headers: {},
        body: requestText("initialize", "initialize", params),
        credential,
        timeoutMs: server.timeouts.list,
        signal,
      },
      this.#parts,
    );
    let response: RpcResponse | null = null;
    for await (const { message } of reply.events()) {
      if (message?.kind !== "response") continue;
      response = message;
      break;
    }
    const result = resultOf(response);
    const agreed = textOf(result, "protocolVersion") ?? "";
    if (!SESSION_VERSIONS.includes(agreed))
      throw new ServerProtocolError(
        `the server speaks the unsupported protocol version "${agreed.slice(0, 40)}"`,
      );
    const sessionId = checkedSessionId(reply.sessionId);
    const link = { server, version: agreed, sessionId, credential, isClientSession: options.isClientSession };
    await sendInitialized(link, this.#parts);
    return described(link, result, objectOf(result, "serverInfo"));
  }

  async #discover(server: McpServerTarget, options: ConnectOptions): Promise<ConnectedServer> {
    const { client, credential, signal } = options;
    const now = this.#parts.clock.now();
    const link = { server, version: STATELESS_VERSION, sessionId: null, credential, isClientSession: false };
    const request = {
      id: "discover",
      method: "server/discover",
      params: {},
      headers: {},
      client,
      timeoutMs: server.timeouts.list,
      signal,
      onEvent: null,
    };
    const result = resultOf(await sendRequest(link, request, this.#parts));
    const versions = result["supportedVersions"];
    if (!Array.isArray(versions) || !versions.includes(STATELESS_VERSION))
      throw new ServerProtocolError(`the server does not support protocol version ${STATELESS_VERSION}`);
    const meta = objectOf(result, "_meta");
    const info = meta === null ? null : objectOf(meta, "io.modelcontextprotocol/serverInfo");
    const connected = described(link, result, info);
    const { ttlMs } = result;
    const ttl =
      typeof ttlMs === "number"
        ? Math.min(Math.max(ttlMs, MIN_DISCOVERY_MS), REMEMBERED_MS)
        : MIN_DISCOVERY_MS;
    const bytes = JSON.stringify(result).length * MEMORY_PER_BYTE;
    this.#discoveries.set(ownerOf(options), discoveryKey(server, options), connected, bytes, now + ttl);
    return connected;
  }
}

function ownerOf({ credential, gatewayId }: ConnectOptions): CacheOwner {
  return credential?.owner ?? { gatewayId, client: null };
}

function discoveryKey({ tag }: McpServerTarget, { credential }: ConnectOptions): string {
  return `${tag} ${credential?.digest ?? ""}`;
}

/** Whether the server responded, and not as a server of the generation does. */
function speaksOtherwise(error: unknown): boolean {
  if (error instanceof ServerStatusError)
    return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 403;
  return error instanceof ServerProtocolError;
}

function resultOf(response: RpcResponse | null): JsonObject {
  if (response === null) throw new ServerProtocolError("the server sent no response");
  if (response.result !== null) return response.result;
  throw new ServerProtocolError(`the server responded with error ${response.error?.code ?? 0}`);
}

function described(link: ServerLink, result: JsonObject, info: JsonObject | null): ConnectedServer {
  const capabilities = isJsonObject(result["capabilities"]) ? result["capabilities"] : {};
  return { link, capabilities, info, instructions: textOf(result, "instructions") };
}

/** Session ids consist of visible ASCII characters. Others could not be sent back. */
function checkedSessionId(sessionId: string | null): string | null {
  if (sessionId === null) return null;
  if (sessionId.length <= MAX_SERVER_SESSION_ID && /^[\x21-\x7e]+$/.test(sessionId)) return sessionId;
  throw new ServerProtocolError("the server's session id is too long or has characters that are not allowed");
}
