// Runs the scripts of the ledger in Redis, and repeats the ends of reservations until Redis has received them.
import type { RedisClient } from "bun";
import type { Clock, ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { RedisUnavailable } from "../redis/redis-connection.ts";
import { SharedRedis } from "../redis/shared-redis.ts";
import type { LedgerState } from "./ledger.ts";
import {
  endCall,
  leasesKey,
  parseReserveReply,
  reserveCall,
  scriptArguments,
  type ReservationEnd,
  type ScriptCall,
} from "./redis-ledger-calls.ts";
import { CLEAR_WINDOW_SCRIPT, END_SCRIPT, RESERVE_SCRIPT } from "./redis-ledger-scripts.ts";

interface LinkOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly silenceTimeoutMs: number;
  /** Milliseconds to use instead of Redis's clock, so that tests can control the time of the production scripts. */
  readonly time: () => number;
  readonly onStateChange: ((state: LedgerState) => void) | undefined;
}

/** Ends to repeat when Redis is available again. Others are charged as reserved when the lease of this process ends. */
const MAX_WAITING_ENDS = 100_000;
const CLOSE_TIMEOUT_MS = 1000;
const VERIFY_WINDOW_MS = 1000;
const RETRY_MS = 1000;

const shaByScript = new Map<string, string>();

function shaOf(script: string): string {
  let sha = shaByScript.get(script);
  if (sha === undefined) shaByScript.set(script, (sha = Bun.SHA1.hash(script, "hex")));
  return sha;
}

export class RedisLedgerLink {
  readonly processId = crypto.randomUUID();
  readonly #options: LinkOptions;
  readonly #redis: SharedRedis;
  #waiting: { readonly script: string; readonly call: ScriptCall }[] = [];
  #retry: ClockTimer | null = null;
  readonly #sending = new Set<Promise<void>>();

  constructor(options: LinkOptions) {
    this.#options = options;
    const { url, clock, silenceTimeoutMs } = options;
    this.#redis = new SharedRedis(url, {
      clock,
      silenceTimeoutMs,
      verify: (client, hashTag) => this.#verify(client, hashTag),
      onStateChange: options.onStateChange,
      onAvailable: () => this.#sendWaiting(),
    });
  }

  get state(): LedgerState {
    return this.#redis.state;
  }

  /** Whether the server with the keys of a gateway is connected. */
  isConnectedFor(gatewayId: string): boolean {
    return this.#redis.isConnectedFor(leasesKey(gatewayId));
  }

  get settled(): Promise<void> {
    return this.#redis.settled;
  }

  /** Rejects if Redis is unavailable. A Redis that replies but cannot run the script (read-only, full) is unavailable too. */
  async run(script: string, call: ScriptCall): Promise<unknown> {
    const args = scriptArguments(call, this.processId, this.#options.time());
    try {
      const key = leasesKey(call.gatewayId);
      // Clearing must not be overtaken by later reservations, which it would be if Redis did not know the script yet.
      if (script === CLEAR_WINDOW_SCRIPT) return await this.#redis.send(key, "EVAL", [script, ...args]);
      return await this.#evaluate(key, script, args);
    } catch (error) {
      if (!(error instanceof RedisUnavailable))
        this.#redis.disconnect(leasesKey(call.gatewayId), `returned an error: ${toError(error).message}`);
      throw error;
    }
  }

  /** Ends a reservation without waiting. If Redis is unavailable, this is repeated when it is available again. */
  end(end: ReservationEnd): void {
    const call = endCall(end, this.processId);
    if (call !== null) void this.runOrRepeat(END_SCRIPT, call);
  }

  /** Resolves also if Redis is unavailable: then the call is repeated when it is available again. */
  runOrRepeat(script: string, call: ScriptCall): Promise<void> {
    const mayBeReceived = call.isUnrepeatable === true && this.isConnectedFor(call.gatewayId);
    const sending = this.run(script, call).then(
      () => undefined,
      () => {
        if (mayBeReceived) return;
        if (this.#waiting.length < MAX_WAITING_ENDS) this.#waiting.push({ script, call });
        this.#retryLater();
      },
    );
    this.#sending.add(sending);
    void sending.then(() => this.#sending.delete(sending));
    return sending;
  }

  /** Waits a moment for ends that are on their way. */
  async close(): Promise<void> {
    const sent = Promise.allSettled([...this.#sending]);
    const timeout = Promise.withResolvers<undefined>();
    const timer = this.#options.clock.setTimeout(() => timeout.resolve(undefined), CLOSE_TIMEOUT_MS);
    await Promise.race([sent, timeout.promise]);
    timer.close();
    this.#retry?.close();
    this.#redis.close();
  }

  /** Sends the calls whose server is connected. */
  #sendWaiting(): void {
    const calls = this.#waiting;
    this.#waiting = calls.filter(({ call }) => !this.isConnectedFor(call.gatewayId));
    for (const { script, call } of calls)
      if (this.isConnectedFor(call.gatewayId)) void this.runOrRepeat(script, call);
  }

  /** A call may also fail on a server that stays connected: Redis Cluster rejects some while it moves their slot. */
  #retryLater(): void {
    if (this.#retry !== null) return;
    this.#retry = this.#options.clock.setTimeout(() => {
      this.#retry = null;
      this.#sendWaiting();
      if (this.#waiting.length > 0) this.#retryLater();
    }, RETRY_MS);
    this.#retry.unref();
  }

  async #evaluate(key: string, script: string, args: string[]): Promise<unknown> {
    try {
      return await this.#redis.send(key, "EVALSHA", [shaOf(script), ...args]);
    } catch (error) {
      if (!toError(error).message.startsWith("NOSCRIPT")) throw error;
      // Redis was restarted, or its scripts were flushed. EVAL does the same and caches the script again.
      return await this.#redis.send(key, "EVAL", [script, ...args]);
    }
  }

  /** Counts a request with a new key, which tests that Redis can write, and loads the script. */
  async #verify(client: RedisClient, hashTag: string): Promise<void> {
    const key = `proof ${crypto.randomUUID()}`;
    const claims = [{ kind: "requests", key, limit: 1, windowMs: VERIFY_WINDOW_MS } as const];
    const args = scriptArguments(reserveCall(hashTag, claims, "1"), this.processId, 0);
    const reply: unknown = await client.send("EVAL", [RESERVE_SCRIPT, ...args]);
    if (!parseReserveReply(reply, claims).fits) throw new Error("the reserve script rejected a new key");
  }
}
