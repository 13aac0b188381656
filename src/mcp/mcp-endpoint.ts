// Serves the requests and notifications of MCP clients: state of the process that outlives requests, and the table of methods.
import type { JsonObject } from "../base/json.ts";
import { AcceptedCredentials } from "./accepted-credentials.ts";
import { BriefExchanges, busyError } from "./brief-exchanges.ts";
import { ServerConnector } from "./connect-server.ts";
import type { ClientContext } from "./client-context.ts";
import { discoverService, startSession, type StartedSession } from "./describe-service.ts";
import { ownRequestId, type FederationParts } from "./federation.ts";
import { mergeLists } from "./merge-lists.ts";
import { forwardRequest, resumeRequest, type Reply } from "./forward-request.ts";
import { RpcError, type RpcId, type RpcNotification, type RpcRequest, type RpcResponse } from "./json-rpc.ts";
import { ListCache } from "./list-cache.ts";
import { isListMethod, LOG_LEVELS, RPC, type Generation } from "./protocol.ts";
import { ServerLinks, SessionPool, type LinkOptions } from "./server-links.ts";
import { endSession, sendNotification, sendResponse, type ServerLink } from "./server-link.ts";
import { sendWithin } from "./send-within.ts";
import { Reconnects } from "./reconnects.ts";
import { relayServerStreams, relaySubscriptions } from "./server-streams.ts";
import { probeServer } from "./probe-server.ts";
import { openRequestId, type StreamPlace } from "./session-seal.ts";
import type { PooledClient } from "../upstream/upstream-client.ts";

/** Requests that one server responds to, by generation of the client. */
const FORWARDED: Readonly<Record<Generation, ReadonlySet<string>>> = {
  session: new Set([
    "tools/call",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
  ]),
  stateless: new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"]),
};

export type EndpointParts = Omit<FederationParts, "lists" | "accepted" | "reconnects" | "brief"> & {
  readonly upstream: PooledClient;
};

export class McpEndpoint {
  readonly #parts: FederationParts;
  readonly #connector: ServerConnector;
  readonly #pool: SessionPool;

  constructor(parts: EndpointParts) {
    const accepted = new AcceptedCredentials((poolKey) => parts.upstream.forget(poolKey));
    const { clock, offLoop } = parts;
    const lists = new ListCache(clock, offLoop);
    const brief = new BriefExchanges(clock);
    this.#parts = { ...parts, accepted, lists, brief, reconnects: new Reconnects(clock) };
    this.#connector = new ServerConnector(this.#parts);
    parts.silences.useProbe((subject, what) => probeServer(subject, what, this.#connector, this.#parts));
    this.#pool = new SessionPool(this.#parts);
  }

  /** The number of sessions with servers that this process keeps for a gateway. */
  keptSessions(gatewayId: string): number {
    return this.#pool.count(gatewayId);
  }

  get #connections() {
    const { silences, offLoop } = this.#parts;
    return { connector: this.#connector, silences, offLoop };
  }

  links(options: LinkOptions): ServerLinks {
    return new ServerLinks(options, this.#pool, this.#connector);
  }

  /** Starts the session of a client that sent `initialize`. */
  initialize(context: ClientContext, request: RpcRequest): Promise<StartedSession> {
    return startSession(context, request, this.#connections, this.#parts.clock.unixNow());
  }

  /** Rejects with an RpcError. */
  async request(context: ClientContext, request: RpcRequest): Promise<Reply> {
    const { method, params, id } = request;
    const { generation } = context.client;
    if (isListMethod(method)) {
      // The gateway returns whole lists, so that it has given out no cursor.
      if (Object.hasOwn(params, "cursor"))
        throw new RpcError(RPC.invalidParams, "The cursor is not one of this server.");
      return mergeLists(context, request, method, this.#parts);
    }
    if (FORWARDED[generation].has(method)) return forwardRequest(context, request, this.#parts);
    if (generation === "session") {
      if (method === "ping") return { result: {} };
      if (method === "logging/setLevel") return { result: await this.#setLogLevel(context, params) };
    } else {
      if (method === "server/discover") return discoverService(context, request, this.#connections);
      if (method === "subscriptions/listen") {
        await relaySubscriptions(context, id, params, this.#parts);
        return null;
      }
    }
    throw new RpcError(RPC.methodNotFound, `Method not found: ${method.slice(0, 100)}`, {
      httpStatus: generation === "stateless" ? 404 : 200,
    });
  }

  /** Resumes the event stream of a request at a place where the client lost it. Rejects with an RpcError. */
  resume(context: ClientContext, request: RpcRequest, place: StreamPlace): Promise<Reply> {
    return resumeRequest(context, request, place, this.#parts);
  }

  /** Relays messages of the servers that belong to no request until the client disconnects. */
  stream(context: ClientContext, resumed: StreamPlace | null): Promise<void> {
    return relayServerStreams(context, resumed, this.#parts);
  }

  /**
   * Passes a notification of a client on to the servers of its session. Does not wait for them. Throws an RpcError if one of them has too
   * many messages to accept.
   */
  notify(context: ClientContext, { method, params }: RpcNotification): void {
    if (
      method !== "notifications/cancelled" &&
      method !== "notifications/roots/list_changed" &&
      method !== "notifications/progress"
    )
      return;
    const links = sessionLinks(context);
    const busy = links.find((link) => this.#parts.brief.isFull(link));
    for (const link of links) void sendNotification(link, method, params, this.#parts).catch(() => undefined);
    if (busy !== undefined) throw busyError(busy);
  }

  /** Passes the client's response to a request of a server on to that server. Rejects with an RpcError. */
  async respond(context: ClientContext, { id, result, error }: RpcResponse): Promise<void> {
    const opened = typeof id === "string" ? openRequestId(id) : null;
    const link =
      opened === null ? undefined : sessionLinks(context).find(({ server }) => server.tag === opened.tag);
    if (opened === null || link === undefined)
      throw RpcError.invalidRequest("The response belongs to no request of a server.");
    await sendResponse(link, opened.id, { result, error }, this.#parts);
  }

  async end(context: ClientContext): Promise<void> {
    await Promise.all(sessionLinks(context).map((link) => endSession(link, this.#parts)));
  }

  async #setLogLevel(context: ClientContext, params: JsonObject): Promise<JsonObject> {
    const { level } = params;
    if (typeof level !== "string" || !LOG_LEVELS.includes(level))
      throw new RpcError(RPC.invalidParams, `The level must be one of ${LOG_LEVELS.join(", ")}.`);
    const { client, signal } = context;
    const set = (link: ServerLink, id: RpcId) =>
      sendWithin(
        link,
        {
          id,
          method: "logging/setLevel",
          params: { level },
          headers: {},
          client,
          timeoutMs: link.server.timeouts.list,
          signal,
          onEvent: null,
        },
        this.#parts,
      );
    // A server without log messages, or one that does not respond, sends none.
    await Promise.all(sessionLinks(context).map((link) => set(link, ownRequestId()).catch(() => null)));
    return {};
  }
}

/** The servers of the client's session that have sessions themselves. */
function sessionLinks({ servers, links }: ClientContext): ServerLink[] {
  return servers.flatMap((server) => {
    const link = links.sealedLink(server);
    return link === null || link.version >= "2026-07-28" ? [] : [link];
  });
}
