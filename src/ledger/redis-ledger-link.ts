// Runs the scripts of the ledger in Redis, and repeats the ends of reservations until Redis has received them.
import type { RedisClient } from "bun";
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Clock, ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { RedisUnavailable } from "../redis/redis-connection.ts";
import { SharedRedis } from "../redis/shared-redis.ts";
import { LedgerUnavailable, type LedgerState } from "./ledger.ts";
import { isDataError, isUnusable, type UnusableKeys } from "./redis-data-error.ts";
import { EpochOver, RedisEpochs, type EpochLoss } from "./redis-epochs.ts";
import {
  epochKey,
  leasesKey,
  openKey,
  parseReserveReply,
  reserveCall,
  scriptArguments,
  type ScriptCall,
} from "./redis-ledger-calls.ts";
import { CLAIM_SCRIPT, INSTALLATION_KEY } from "./redis-account-scripts.ts";
import { CLEAR_WINDOW_SCRIPT, END_SCRIPT, RESERVE_SCRIPT, RESTORE_SCRIPT } from "./redis-ledger-scripts.ts";

interface LinkOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly silenceTimeoutMs: number;
  /** How long after the last reply of Redis `untilConnected` waits. */
  readonly closedTimeoutMs: number;
  /** Milliseconds to use instead of Redis's clock, so that tests can control the time of the production scripts. */
  readonly time: () => number;
  readonly onStateChange: ((state: LedgerState) => void) | undefined;
  /** Called when a server is available again, after what has waited for it was sent. */
  readonly onAvailable: () => void;
  readonly onLost: (loss: EpochLoss) => void;
  readonly onUnusableKeys: ((unusable: UnusableKeys) => void) | undefined;
}

/** Ends to repeat when Redis is available again. Others are charged as reserved when the lease of this process ends. */
const MAX_WAITING_ENDS = 100_000;
/** The same for gateways with unusable keys: their ends fail again, and must not take the place of others. */
const MAX_FAILING_ENDS = 1000;
/** Unusable keys of a gateway are reported as often. */
const REPORT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 1000;
const MAX_REPORTED = 1000;
const VERIFY_WINDOW_MS = 1000;
const RETRY_MS = 1000;
/** Another epoch may begin while the last one is read; more often it does not. */
const MAX_EPOCHS = 3;

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
  /** How many of them have failed because of unusable keys. */
  #failing = 0;
  /** When unusable keys were reported, by gateway. */
  readonly #reported = new BoundedCache<string, number>(MAX_REPORTED);
  #retry: ClockTimer | null = null;
  readonly #sending = new Set<Promise<void>>();
  readonly epochs: RedisEpochs;
  /** By gateway: what waits until its server is connected. */
  readonly #waits = new Map<string, PromiseWithResolvers<boolean>>();

  constructor(options: LinkOptions) {
    this.#options = options;
    const { url, clock, silenceTimeoutMs, time, onLost } = options;
    this.#redis = new SharedRedis(url, {
      clock,
      silenceTimeoutMs,
      verify: (client, hashTag) => this.#verify(client, hashTag),
      onStateChange: options.onStateChange,
      onAvailable: () => {
        this.#sendWaiting();
        options.onAvailable();
        this.#endWaits();
      },
    });
    this.epochs = new RedisEpochs({ redis: this.#redis, time, onLost });
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

  /** Resolves when the server of a gateway is connected, or to false at the end of the time for it. */
  untilConnected(gatewayId: string): boolean | Promise<boolean> {
    if (this.isConnectedFor(gatewayId)) return true;
    const { clock, closedTimeoutMs } = this.#options;
    const now = clock.now();
    const until = (this.#redis.unavailableSince(leasesKey(gatewayId)) ?? now) + closedTimeoutMs;
    if (now >= until) return false;
    const known = this.#waits.get(gatewayId);
    if (known !== undefined) return known.promise;
    const wait = Promise.withResolvers<boolean>();
    this.#waits.set(gatewayId, wait);
    const timer = clock.setTimeout(() => this.#endWait(gatewayId, false), until - now);
    void wait.promise.then(() => timer.close());
    return wait.promise;
  }

  /** Resolves to the installation that Redis belongs to; it becomes this one if there is none. Rejects if Redis is unavailable. */
  async claim(installationId: string): Promise<string> {
    const args = [CLAIM_SCRIPT, "1", INSTALLATION_KEY, installationId];
    return String(await this.#redis.send(INSTALLATION_KEY, "EVAL", args));
  }

  /**
   * Rejects if Redis is unavailable. A Redis that replies but cannot run the script (read-only, full) is unavailable too. Rejects with
   * LedgerUnavailable if the keys of this gateway are unusable, which concerns no other gateway; with EpochOver if `boundTo` is the id of an
   * epoch that is over.
   */
  async run(script: string, call: ScriptCall, boundTo: string | null = null): Promise<unknown> {
    try {
      for (let tries = 1; ; tries++) {
        const { id } = this.epochs.current(call.gatewayId) ?? (await this.epochs.join(call.gatewayId));
        if (boundTo !== null && boundTo !== id) throw new EpochOver();
        try {
          return await this.#runIn(id, script, call);
        } catch (error) {
          if (!toError(error).message.startsWith("EPOCH") || tries === MAX_EPOCHS) throw error;
          this.epochs.end(call.gatewayId, id);
        }
      }
    } catch (error) {
      if (error instanceof RedisUnavailable || error instanceof EpochOver) throw error;
      const cause = toError(error);
      if (!isDataError(cause)) {
        this.#redis.disconnect(leasesKey(call.gatewayId), `returned an error: ${cause.message}`);
        throw error;
      }
      void this.#reportUnusable(call, cause);
      const detail = `Redis has unusable data of the gateway ${call.gatewayId}; the log names its keys`;
      throw new LedgerUnavailable(detail, { cause });
    }
  }

  async #reportUnusable({ gatewayId, keys }: ScriptCall, error: Error): Promise<void> {
    const now = this.#options.clock.now();
    if (now < (this.#reported.get(gatewayId) ?? -Infinity) + REPORT_MS) return;
    this.#reported.set(gatewayId, now);
    const key = leasesKey(gatewayId);
    const unusable: string[] = [];
    const epoch = this.epochs.current(gatewayId)?.id ?? "";
    const open = openKey(gatewayId, `${this.processId}.${epoch}`);
    for (const each of [key, open, epochKey(gatewayId), ...keys]) {
      const type: unknown = await this.#redis.send(key, "TYPE", [each]).catch(() => "none");
      if (isUnusable(each, String(type))) unusable.push(each);
    }
    this.#options.onUnusableKeys?.({ gatewayId, keys: unusable, error });
  }

  /** Resolves also if Redis is unavailable: then the call is repeated when it is available again. */
  runOrRepeat(script: string, call: ScriptCall): Promise<void> {
    const mayBeReceived = call.isUnrepeatable === true && this.isConnectedFor(call.gatewayId);
    const sending = this.run(script, call).then(
      () => undefined,
      (error: unknown) => {
        if (mayBeReceived) return;
        if (error instanceof LedgerUnavailable && this.#failing++ >= MAX_FAILING_ENDS) return;
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
    for (const gatewayId of [...this.#waits.keys()]) this.#endWait(gatewayId, false);
  }

  #endWaits(): void {
    for (const gatewayId of [...this.#waits.keys()])
      if (this.isConnectedFor(gatewayId)) this.#endWait(gatewayId, true);
  }

  #endWait(gatewayId: string, isConnected: boolean): void {
    this.#waits.get(gatewayId)?.resolve(isConnected);
    this.#waits.delete(gatewayId);
  }

  #runIn(epoch: string, script: string, call: ScriptCall): Promise<unknown> {
    const args = scriptArguments(call, this.processId, epoch, this.#options.time());
    const key = leasesKey(call.gatewayId);
    // Clearing must not be overtaken by later reservations, which it would be if Redis did not know the script yet.
    if (script === CLEAR_WINDOW_SCRIPT) return this.#redis.send(key, "EVAL", [script, ...args]);
    return this.#evaluate(key, script, args);
  }

  /** Sends the calls whose server is connected. */
  #sendWaiting(): void {
    const calls = this.#waiting;
    this.#failing = 0;
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

  /**
   * Counts a request with a new key, which tests that Redis can write, and loads the script. Resolves to what identifies the process of
   * Redis; empty if it does not say that.
   */
  async #verify(client: RedisClient, hashTag: string): Promise<string> {
    const key = `proof ${crypto.randomUUID()}`;
    const claims = [{ kind: "requests", key, limit: 1, windowMs: VERIFY_WINDOW_MS } as const];
    const call = reserveCall(hashTag, claims, { reservationId: "1" });
    const args = scriptArguments(call, this.processId, "", 0);
    const reply: unknown = await client.send("EVAL", [RESERVE_SCRIPT, ...args]);
    if (!parseReserveReply(reply, claims).fits) throw new Error("the reserve script rejected a new key");
    // Ends of reservations that were given up come before new ones. A script that Redis does not know yet would come after them.
    for (const script of [END_SCRIPT, RESTORE_SCRIPT])
      await client.send("SCRIPT", ["LOAD", script]).catch(() => undefined);
    return serverIn(client);
  }
}

/** Returns the run id of Redis, or the id of its replication. */
async function serverIn(client: RedisClient): Promise<string> {
  for (const [section, field] of [
    ["server", "run_id"],
    ["replication", "master_replid"],
  ] as const) {
    const info: unknown = await client.send("INFO", [section]).catch(() => "");
    const value = new RegExp(`^${field}:(\\S+)`, "m").exec(String(info))?.[1];
    if (value !== undefined) return value;
  }
  return "";
}
