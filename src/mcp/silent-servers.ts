// Servers that sent no response in time. Clients do not wait for them again: the gateway asks them in the
// background until they respond. See docs/decisions/0124-mcp-protocol.md.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { ListMethod } from "./protocol.ts";
import type { ClientCredential } from "./server-call.ts";
import type { McpServerTarget } from "./server-target.ts";

const FIRST_PROBE_MS = 1000;
const MAX_PROBE_MS = 60_000;
/**
 * A server that no client wants is not asked. The first client that wants it gets it left out, and starts the
 * probes again.
 */
const WANTED_MS = 10 * 60_000;
/**
 * For each gateway and kind of credential: those of clients, whom a server may not respond to, and the
 * configured ones.
 */
const KEPT = 500;
const KEPT_GATEWAYS = 1000;

/** A server does not respond to the beginning of a connection, and so to nothing, or to one kind of list. */
export type Silence = "connect" | ListMethod;

/** Whose silence. Other clients may get responses with another credential. */
export interface SilentSubject {
  readonly gatewayId: string;
  readonly server: McpServerTarget;
  /** Sent by a client; null for the configured one. */
  readonly credential: ClientCredential | null;
}

/** Asks the server. Resolves to whether there is a response, whatever it is. Does not reject. */
type Probe = (subject: SilentSubject, what: Silence) => Promise<boolean>;

interface State {
  readonly subject: SilentSubject;
  readonly what: Silence;
  /** Unix milliseconds. Null: the server has responded to a probe since, but not to a client yet. */
  since: number | null;
  /** Doubled with each probe, and when a server responds to probes only. */
  probeMs: number;
  /** A time of the clock. */
  wantedAt: number;
  timer: ClockTimer | null;
  isProbing: boolean;
}

type States = BoundedCache<string, State>;

export class SilentServers {
  readonly #clock: Clock;
  /** By gateway, so that the clients of one do not evict the servers of another. */
  readonly #own = new BoundedCache<string, States>(KEPT_GATEWAYS, evictAll);
  readonly #ofClients = new BoundedCache<string, States>(KEPT_GATEWAYS, evictAll);
  #probe: Probe | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets how servers are asked, when the code that can do so is loaded. */
  useProbe(probe: Probe): void {
    this.#probe = probe;
  }

  /** Whether a client must not wait for the server. */
  isSilent(subject: SilentSubject, what: Silence): boolean {
    return this.#isSilent(subject, "connect") || (what !== "connect" && this.#isSilent(subject, what));
  }

  /** The server sent no response in time. */
  report(subject: SilentSubject, what: Silence): void {
    const states = this.#statesOf(subject);
    const key = keyOf(subject, what);
    const now = this.#clock.now();
    let state = states.get(key);
    if (state === undefined) {
      state = {
        subject,
        what,
        since: null,
        probeMs: FIRST_PROBE_MS / 2,
        wantedAt: now,
        timer: null,
        isProbing: false,
      };
      states.set(key, state);
    }
    if (state.since !== null) return;
    state.since = this.#clock.unixNow();
    state.wantedAt = now;
    this.#schedule(state, state.probeMs);
  }

  /** The server has responded to a client. */
  responded(subject: SilentSubject, what: Silence): void {
    const states = this.#cacheOf(subject).get(subject.gatewayId);
    const key = keyOf(subject, what);
    const state = states?.get(key);
    if (states === undefined || state === undefined) return;
    state.timer?.close();
    state.since = null;
    states.delete(key);
  }

  /**
   * Returns the servers that are silent now, with the configured credential or that of a client, each of them
   * once for each silence.
   */
  *silent(): Generator<{
    readonly gatewayId: string;
    readonly serverId: string;
    readonly what: Silence;
    readonly since: number;
  }> {
    const seen = new Set<string>();
    for (const cache of [this.#own, this.#ofClients])
      for (const states of cache.values())
        for (const { subject, what, since } of states.values()) {
          const { gatewayId, server } = subject;
          const name = `${server.id} ${what}`;
          if (since === null || seen.has(name)) continue;
          seen.add(name);
          yield { gatewayId, serverId: server.id, what, since };
        }
  }

  #isSilent(subject: SilentSubject, what: Silence): boolean {
    const state = this.#cacheOf(subject).get(subject.gatewayId)?.get(keyOf(subject, what));
    if (state === undefined || state.since === null) return false;
    state.wantedAt = this.#clock.now();
    // The probes have stopped because no client wanted the server.
    if (state.timer === null && !state.isProbing) void this.#ask(state);
    return true;
  }

  #cacheOf({ credential }: SilentSubject): BoundedCache<string, States> {
    return credential === null ? this.#own : this.#ofClients;
  }

  #statesOf(subject: SilentSubject): States {
    const cache = this.#cacheOf(subject);
    let states = cache.get(subject.gatewayId);
    if (states === undefined) {
      states = new BoundedCache<string, State>(KEPT, forget);
      cache.set(subject.gatewayId, states);
    }
    return states;
  }

  #schedule(state: State, delay: number): void {
    state.timer?.close();
    state.probeMs = Math.min(state.probeMs * 2, MAX_PROBE_MS);
    state.timer = this.#clock.setTimeout(
      () => {
        state.timer = null;
        if (state.since !== null && this.#clock.now() < state.wantedAt + WANTED_MS) void this.#ask(state);
      },
      Math.max(delay, FIRST_PROBE_MS),
    );
    state.timer.unref();
  }

  /** Does not reject. */
  async #ask(state: State): Promise<void> {
    const probe = this.#probe;
    if (probe === null || state.isProbing) return;
    state.isProbing = true;
    if (await probe(state.subject, state.what)) state.since = null;
    state.isProbing = false;
    if (state.since !== null) this.#schedule(state, state.probeMs);
  }
}

function keyOf({ server, credential }: SilentSubject, what: Silence): string {
  return `${what} ${server.tag} ${credential?.digest ?? ""}`;
}

function forget(state: State): void {
  state.timer?.close();
  state.since = null;
}

function evictAll(states: States): void {
  for (const state of states.values()) forget(state);
}
