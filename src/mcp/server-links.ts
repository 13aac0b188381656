// The links of one client to the servers of a service: those in its sealed session, and others that this node keeps: for
// clients without a session, for servers that were unavailable when the session began, and for sessions that a server lost.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { ListOwner } from "./list-cache.ts";
import type { ServerConnector } from "./connect-server.ts";
import type { ClientCredential, ServerCallParts } from "./server-call.ts";
import { endSession, isSessionLost, type ClientDescription, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";
import type { ClientSession, SessionOwner } from "./session-seal.ts";

/** Per client: at least this many, and at most twice as many. Clients without a key share them. */
const KEPT_SESSIONS = 250;
const KEPT_CLIENTS = 500;
const KEPT_GATEWAYS = 1000;

type PendingLink = Promise<ServerLink>;
type Sessions = BoundedCache<string, PendingLink>;

/** Sessions with servers that this node keeps, by gateway and client. */
export class SessionPool {
  readonly #gateways = new BoundedCache<string, BoundedCache<string, Sessions>>(KEPT_GATEWAYS);
  readonly #parts: ServerCallParts;

  constructor(parts: ServerCallParts) {
    this.#parts = parts;
  }

  of({ gatewayId, client }: SessionOwner): Sessions {
    let clients = this.#gateways.get(gatewayId);
    if (clients === undefined) {
      clients = new BoundedCache<string, Sessions>(KEPT_CLIENTS, (evicted) => {
        for (const each of evicted.values()) this.#end(each);
      });
      this.#gateways.set(gatewayId, clients);
    }
    let links = clients.get(client);
    if (links === undefined) {
      links = new BoundedCache<string, PendingLink>(KEPT_SESSIONS, (evicted) => this.#end(evicted));
      clients.set(client, links);
    }
    return links;
  }

  /** The number of sessions that are kept for a gateway. */
  count(gatewayId: string): number {
    let count = 0;
    for (const links of this.#gateways.get(gatewayId)?.values() ?? []) count += links.size;
    return count;
  }

  #end(link: PendingLink): void {
    void link.then((each) => endSession(each, this.#parts)).catch(() => undefined);
  }
}

export interface LinkOptions {
  readonly owner: SessionOwner;
  readonly client: ClientDescription;
  /** Null for clients of the stateless generation. */
  readonly session: ClientSession | null;
  readonly credentialOf: (server: McpServerTarget) => ClientCredential | null;
}

export class ServerLinks {
  readonly #options: LinkOptions;
  readonly #pool: Sessions;
  readonly #connector: ServerConnector;

  constructor(options: LinkOptions, pool: SessionPool, connector: ServerConnector) {
    this.#options = options;
    this.#pool = pool.of(options.owner);
    this.#connector = connector;
  }

  credentialOf(server: McpServerTarget): ClientCredential | null {
    return this.#options.credentialOf(server);
  }

  /** Names the lists of a server that the client sees. */
  listOwner(server: McpServerTarget): ListOwner {
    const { owner } = this.credentialOf(server) ?? {
      owner: { gatewayId: this.#options.owner.gatewayId, client: null },
    };
    return { key: this.#listKey(server), owner };
  }

  #listKey(server: McpServerTarget): string {
    return `${server.tag} ${this.credentialOf(server)?.digest ?? ""}`;
  }

  /** Calls `run` with the link to a server; once more with another session if the server has lost the one of the link. */
  async use<T>(server: McpServerTarget, run: (link: ServerLink) => Promise<T>): Promise<T> {
    const key = this.#key(server);
    const linked = this.linkTo(server);
    const used = this.#pool.get(key);
    const link = await linked;
    try {
      return await run(link);
    } catch (error) {
      if (!isSessionLost(error, link)) throw error;
      const kept = this.#pool.get(key);
      // Another request may have replaced it already.
      if (kept !== undefined && kept !== used) return run(await kept);
      this.#pool.delete(key);
      return run(await this.#keep(key, server));
    }
  }

  /** Rejects as `ServerConnector.connect` does. */
  linkTo(server: McpServerTarget): Promise<ServerLink> {
    const key = this.#key(server);
    const kept = this.#pool.get(key);
    if (kept !== undefined) return kept;
    const sealed = this.sealedLink(server);
    return sealed === null ? this.#keep(key, server) : Promise.resolve(sealed);
  }

  /** Returns the link in the client's session; null if there is none. */
  sealedLink(server: McpServerTarget): ServerLink | null {
    const row = this.#options.session?.servers.find(({ tag }) => tag === server.tag);
    if (row === undefined) return null;
    const { version, sessionId } = row;
    return { server, version, sessionId, credential: this.credentialOf(server), isClientSession: true };
  }

  #key(server: McpServerTarget): string {
    const { owner, session } = this.#options;
    return JSON.stringify([this.#listKey(server), owner.serviceId, owner.client, session?.nonce ?? ""]);
  }

  /** Starts a session that no other request uses, and that the caller ends. Rejects as `ServerConnector.connect` does. */
  async start(server: McpServerTarget): Promise<ServerLink> {
    const { client, session, owner } = this.#options;
    const { link } = await this.#connector.connect(server, {
      client,
      version: session?.version ?? "",
      credential: this.credentialOf(server),
      gatewayId: owner.gatewayId,
      // Other requests may wait for the session, and one that has begun must be ended.
      signal: null,
      isClientSession: false,
    });
    return link;
  }

  async #keep(key: string, server: McpServerTarget): Promise<ServerLink> {
    const pending = this.start(server);
    this.#pool.set(key, pending);
    try {
      const link = await pending;
      // Requests without a session need nothing that is kept here; the connector remembers the server.
      if (link.sessionId === null) this.#pool.delete(key);
      return link;
    } catch (error) {
      this.#pool.delete(key);
      throw error;
    }
  }
}
