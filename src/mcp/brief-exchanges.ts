// Exchanges with MCP servers whose responses have no content of interest: notifications, responses to a server's requests, and ends of
// sessions. Bounds how many there are, how long one takes, and how much of its response is read.
import type { Clock } from "../base/clock.ts";
import { KeyedSlots } from "../base/keyed-slots.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { RpcError } from "./json-rpc.ts";
import { RPC } from "./protocol.ts";
import type { McpServerTarget } from "./server-target.ts";

/** From the wait for a place to the end of the response, however often the server sends a byte. */
const EXCHANGE_MS = 10_000;
/** A response that ends within this time and size lets the connection be used again. The connection of any other is closed. */
const DRAIN_MS = 1000;
const MAX_DRAINED_BYTES = 64 * 1024;

const PER_SESSION = 64;
const PER_SERVER = 256;
/** As many as this wait for each place. */
const WAITING_PER_PLACE = 4;

/** The part of a link that names the places of its exchanges. */
interface ExchangeLink {
  readonly server: Pick<McpServerTarget, "tag" | "name">;
  /** Null for servers without sessions. */
  readonly sessionId: string | null;
}

/** A response that may have a body. */
interface Discardable {
  discard(maxBytes: number): Promise<void>;
}

type Send = (signal: AbortSignal) => Promise<Discardable>;

export class BriefExchanges {
  readonly #clock: Clock;
  readonly #sessions = new KeyedSlots(PER_SESSION, PER_SESSION * WAITING_PER_PLACE);
  readonly #servers = new KeyedSlots(PER_SERVER, PER_SERVER * WAITING_PER_PLACE);
  readonly #starts = new KeyedSlots(PER_SERVER, PER_SERVER * WAITING_PER_PLACE);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether `run` would reject for want of a place. */
  isFull(link: ExchangeLink): boolean {
    const session = sessionKey(link);
    return this.#servers.isFull(serverKey(link)) || (session !== null && this.#sessions.isFull(session));
  }

  /**
   * Calls `send` when there is a place, and reads the response. Rejects as `callServer` does, and with an RpcError if too many exchanges
   * wait for the server.
   */
  async run(link: ExchangeLink, send: Send): Promise<void> {
    if (this.isFull(link)) throw busyError(link);
    await this.#within((aborted) =>
      this.#sessions.use(sessionKey(link), aborted.signal, () =>
        this.#servers.use(serverKey(link), aborted.signal, () => this.#exchange(send, aborted)),
      ),
    );
  }

  /** As `run`, for the message that ends the start of a session: messages in other sessions take none of its places. */
  async start(link: ExchangeLink, send: Send): Promise<void> {
    const key = serverKey(link);
    if (this.#starts.isFull(key)) throw busyError(link);
    await this.#within((aborted) =>
      this.#starts.use(key, aborted.signal, () => this.#exchange(send, aborted)),
    );
  }

  async #within(work: (aborted: AbortController) => Promise<void>): Promise<void> {
    const aborted = new AbortController();
    const timer = this.#clock.setTimeout(() => aborted.abort(), EXCHANGE_MS);
    try {
      await work(aborted);
    } catch (error) {
      throw aborted.signal.aborted ? new UpstreamError("first_byte_timeout", error) : error;
    } finally {
      timer.close();
    }
  }

  /** The status is the whole result: a response that breaks off, or is stopped here, is no failure. */
  async #exchange(send: Send, aborted: AbortController): Promise<void> {
    const reply = await send(aborted.signal);
    const timer = this.#clock.setTimeout(() => aborted.abort(), DRAIN_MS);
    try {
      await reply.discard(MAX_DRAINED_BYTES);
    } catch {
      // See above.
    } finally {
      timer.close();
    }
  }
}

/** The error for a client whose messages a server does not accept fast enough. */
export function busyError({ server }: Pick<ExchangeLink, "server">): RpcError {
  const message = `The server "${server.name}" does not accept messages as fast as they arrive. Retry later.`;
  return new RpcError(RPC.internalError, message, { httpStatus: 503 });
}

function serverKey({ server }: ExchangeLink): string {
  return server.tag;
}

/** Servers without session ids cannot tell sessions apart, and neither can the gateway. */
function sessionKey({ server, sessionId }: ExchangeLink): string | null {
  return sessionId === null ? null : `${server.tag} ${sessionId}`;
}
