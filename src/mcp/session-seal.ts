// Seals sessions of MCP clients, and the places in their event streams. The id of a session contains all of it, encrypted and
// authenticated, so that every node with the same server secret can serve it, and only for the gateway, the service and the
// client it was created for.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { isRpcId, objectOf, type RpcRequest } from "./json-rpc.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Web servers in front of a gateway often allow 8 kB for all header fields. */
const MAX_SEALED_LENGTH = 6000;
/** Session ids of servers are usually UUIDs. */
export const MAX_SERVER_SESSION_ID = 512;
/** The digit is the version of the seal. */
const MARK = "gwm1";
const SEALED = /^gwm1([A-Za-z0-9_-]+)$/;
/** Ids of events are header fields, too. An event whose id would be longer has none. */
const MAX_EVENT_ID_LENGTH = 4000;
const EVENT_MARK = "gwe1";
const SEALED_EVENT = /^gwe1([A-Za-z0-9_-]+)$/;
/** A client that is idle for longer starts a session again. */
export const MAX_AGE_MS = 30 * 24 * 3600 * 1000;

/** The client that a session belongs to. */
export interface SessionOwner {
  readonly gatewayId: string;
  readonly serviceId: string;
  /** Identifies the API key or the user of a token; empty for clients without one. */
  readonly client: string;
}

/** The session of a server that belongs to a client's session. */
interface ServerSession {
  /** Identifies the server and its address. */
  readonly tag: string;
  readonly version: string;
  /** Null if the server keeps no sessions. */
  readonly sessionId: string | null;
}

export interface ClientSession {
  readonly version: string;
  /** Distinguishes sessions with equal content. */
  readonly nonce: string;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  readonly servers: readonly ServerSession[];
}

/** A place in an event stream of a client, where it may resume the stream. */
export interface StreamPlace {
  /** The server of the stream. */
  readonly tag: string;
  /** The event, as the server names it. */
  readonly eventId: string;
  /** The request that the stream responds to; null for a stream of messages that belong to no request. */
  readonly request: RpcRequest | null;
}

export class SessionSeal {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "gatehouse mcp sessions", 32));
  }

  /** Sessions of servers that do not fit are left out; the node that needs one starts another. */
  seal(session: ClientSession, owner: SessionOwner): string {
    let servers = [...session.servers];
    for (;;) {
      const sealed = this.#seal({ ...session, servers }, owner);
      if (sealed.length <= MAX_SEALED_LENGTH || servers.length === 0) return sealed;
      servers = servers.slice(0, -1);
    }
  }

  /** Returns null if the text is no session, has expired, or belongs to another client. */
  open(text: string, owner: SessionOwner, unixNow: number): ClientSession | null {
    if (text.length > MAX_SEALED_LENGTH) return null;
    const sealed = decode(SEALED.exec(text)?.[1]);
    if (sealed === null) return null;
    const content = this.#decrypt(sealed, boundTo(owner));
    const session = readSession(content, sealed.toString("base64url", 0, NONCE_BYTES));
    return session === null || unixNow - session.createdAt > MAX_AGE_MS ? null : session;
  }

  /**
   * Returns the id of an event for the client of the session. It contains the request, so that every node knows which one
   * is answered when the client resumes the stream. Returns null if the id would be too long.
   */
  sealPlace(
    { tag, eventId, request }: StreamPlace,
    owner: SessionOwner,
    session: ClientSession,
  ): string | null {
    const named = request === null ? null : [request.id, request.method, namesIn(request.params)];
    const sealed = EVENT_MARK + this.#encrypt([tag, eventId, named], boundTo(owner, session));
    return sealed.length <= MAX_EVENT_ID_LENGTH ? sealed : null;
  }

  /** Returns null if the text is no id of an event that the client got in the session. */
  openPlace(text: string, owner: SessionOwner, session: ClientSession): StreamPlace | null {
    if (text.length > MAX_EVENT_ID_LENGTH) return null;
    const sealed = decode(SEALED_EVENT.exec(text)?.[1]);
    return sealed === null ? null : readPlace(this.#decrypt(sealed, boundTo(owner, session)));
  }

  #seal({ version, createdAt, servers }: ClientSession, owner: SessionOwner): string {
    const rows = servers.map(({ tag, version: serverVersion, sessionId }) => [tag, serverVersion, sessionId]);
    return MARK + this.#encrypt([version, createdAt, rows], boundTo(owner));
  }

  #encrypt(content: readonly unknown[], bound: Buffer): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(bound);
    const text = Buffer.concat([cipher.update(JSON.stringify(content)), cipher.final()]);
    return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64url");
  }

  #decrypt(sealed: Buffer, bound: Buffer): unknown {
    const decipher = createDecipheriv(ALGORITHM, this.#key, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(bound).setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const text = Buffer.concat([
        decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)),
        decipher.final(),
      ]);
      return JSON.parse(text.toString());
    } catch {
      return null;
    }
  }
}

/** Returns null if the text is not the one that was issued: several texts decode to the same bytes. */
function decode(encoded: string | undefined): Buffer | null {
  const sealed = Buffer.from(encoded ?? "", "base64url");
  return sealed.length <= NONCE_BYTES + TAG_BYTES || sealed.toString("base64url") !== encoded ? null : sealed;
}

/** Places are bound to a session, too. */
function boundTo(
  { gatewayId, serviceId, client }: SessionOwner,
  session: ClientSession | null = null,
): Buffer {
  const owner = [gatewayId, serviceId, client];
  return Buffer.from(JSON.stringify(session === null ? owner : [...owner, session.nonce]));
}

/** Returns the params that name something: a tool or prompt, a resource, or what a completion is for. */
function namesIn(params: JsonObject): JsonObject {
  const { name, uri } = params;
  const ref = objectOf(params, "ref");
  return {
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof uri === "string" ? { uri } : {}),
    ...(ref === null
      ? {}
      : { ref: { type: ref["type"], ...namesIn({ name: ref["name"], uri: ref["uri"] }) } }),
  };
}

function readPlace(value: unknown): StreamPlace | null {
  if (!Array.isArray(value)) return null;
  const [tag, eventId, named] = value as readonly unknown[];
  if (typeof tag !== "string" || typeof eventId !== "string") return null;
  if (!Array.isArray(named)) return { tag, eventId, request: null };
  const [id, method, params] = named as readonly unknown[];
  if (!isRpcId(id) || typeof method !== "string" || !isJsonObject(params)) return null;
  return { tag, eventId, request: { kind: "request", id, method, params } };
}

/** The content is authenticated; it is checked because an older version of the gateway may have sealed it. */
function readSession(value: unknown, nonce: string): ClientSession | null {
  if (!Array.isArray(value)) return null;
  const [version, createdAt, rows] = value as readonly unknown[];
  if (typeof version !== "string" || typeof createdAt !== "number" || !Array.isArray(rows)) return null;
  const servers: ServerSession[] = [];
  for (const row of rows) {
    if (!Array.isArray(row)) return null;
    const [tag, serverVersion, sessionId] = row as readonly unknown[];
    if (typeof tag !== "string" || typeof serverVersion !== "string") return null;
    servers.push({
      tag,
      version: serverVersion,
      sessionId: typeof sessionId === "string" ? sessionId : null,
    });
  }
  return { version, nonce, createdAt, servers };
}

/** The id of a server's request as the client gets it: with several servers, two may use the same one. */
export function sealRequestId(tag: string, id: string | number): string {
  return `${tag}:${JSON.stringify(id)}`;
}

/** Returns null if it is no id that `sealRequestId` returned. */
export function openRequestId(text: string): { readonly tag: string; readonly id: string | number } | null {
  const colon = text.indexOf(":");
  if (colon < 0) return null;
  try {
    const id: unknown = JSON.parse(text.slice(colon + 1));
    return isRpcId(id) && !isJsonObject(id) ? { tag: text.slice(0, colon), id } : null;
  } catch {
    return null;
  }
}
