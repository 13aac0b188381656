// Sessions of MCP clients: sealed in their ids, and not opened any more after their client has ended them here.
import type { Clock } from "../base/clock.ts";
import { digestName } from "../base/digest-name.ts";
import { ClientCache } from "./client-cache.ts";
import { MAX_AGE_MS, SessionSeal, type ClientSession, type SessionOwner } from "./session-seal.ts";

export class ClientSessions extends SessionSeal {
  readonly #clock: Clock;
  /** By client: a client that ends many sessions forgets only its own. */
  readonly #ended: ClientCache<true>;

  constructor(secret: string, clock: Clock) {
    super(secret);
    this.#clock = clock;
    this.#ended = new ClientCache(clock);
  }

  /** As in SessionSeal; also null for a session that has ended. */
  override open(id: string, owner: SessionOwner, unixNow: number): ClientSession | null {
    const session = super.open(id, owner, unixNow);
    return session === null || this.#ended.get(owner, digestName(id)) === true ? null : session;
  }

  /** Remembers the end until the session would expire. */
  end(id: string, owner: SessionOwner, { createdAt }: ClientSession): void {
    const remainingMs = createdAt + MAX_AGE_MS - this.#clock.unixNow();
    this.#ended.set(owner, digestName(id), true, 0, this.#clock.now() + remainingMs);
  }
}
