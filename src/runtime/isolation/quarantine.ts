// The requests that crashed a plugin, by digest. A guard must not be switched off by crashing it, so a request that has crashed it twice
// is not tried again for a minute.
import type { Clock } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { IsolatedContexts } from "./context-data.ts";
import { readContext } from "./context-data.ts";
import type { IsolatedHook } from "./messages.ts";

const QUARANTINE_MS = 60_000;
const MAX_DIGESTS = 1000;
const CRASHES = 2;
/** Of longer bodies both ends are hashed, so that a crash does not keep other requests waiting. */
const MAX_END_BYTES = 128 * 1024;
/** Fields of a context that differ from request to request. */
const VOLATILE_FIELDS = new Set(["requestId", "clientAddress", "durationMs", "firstByteMs", "attempts"]);
/** Headers that differ when a client repeats a request. */
const VOLATILE_HEADERS = new Set([
  "date",
  "idempotency-key",
  "traceparent",
  "tracestate",
  "x-client-request-id",
  "x-request-id",
  "x-stainless-retry-count",
]);

interface Entry {
  crashes: number;
  until: number;
  readonly bytes: number;
}

/** Of one entry of a gateway. */
export class Quarantine {
  readonly #clock: Clock;
  /** The oldest is first. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws if the request of a call has crashed the plugin twice. */
  check<Hook extends IsolatedHook>(plugin: string, hook: Hook, context: IsolatedContexts[Hook]): void {
    if (this.#entries.size === 0) return;
    const bytes = sizeOf(hook, context);
    const isPossible = [...this.#entries.values()].some((entry) => entry.bytes === bytes);
    if (!isPossible) return;
    const entry = this.#entries.get(digestOf(hook, context));
    if (entry !== undefined && entry.crashes >= CRASHES && entry.until > this.#clock.now())
      throw quarantined(plugin, entry.until - this.#clock.now());
  }

  /** Counts crashes of a call. Returns the error of a request that is in quarantine now, else null. */
  add<Hook extends IsolatedHook>(
    plugin: string,
    hook: Hook,
    context: IsolatedContexts[Hook],
    crashes: number,
  ): GatehouseError | null {
    const now = this.#clock.now();
    for (const [digest, { until }] of this.#entries) if (until <= now) this.#entries.delete(digest);
    const digest = digestOf(hook, context);
    const known = this.#entries.get(digest)?.crashes ?? 0;
    this.#entries.delete(digest);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < MAX_DIGESTS) break;
      this.#entries.delete(oldest);
    }
    const entry = { crashes: known + crashes, until: now + QUARANTINE_MS, bytes: sizeOf(hook, context) };
    this.#entries.set(digest, entry);
    return entry.crashes >= CRASHES ? quarantined(plugin, QUARANTINE_MS) : null;
  }
}

function quarantined(plugin: string, leftMs: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil(leftMs / 1000));
  const message = `This request has crashed the plugin ${plugin} twice. It is not tried again for ${seconds} s.`;
  return new GatehouseError("plugin_quarantined", message, { headers: { "Retry-After": String(seconds) } });
}

function sizeOf<Hook extends IsolatedHook>(hook: Hook, context: IsolatedContexts[Hook]): number {
  return readContext(hook, context).bytes?.byteLength ?? 0;
}

function digestOf<Hook extends IsolatedHook>(hook: Hook, context: IsolatedContexts[Hook]): string {
  const { context: data, bytes } = readContext(hook, context);
  const fields = Object.entries(data).filter(([name]) => !VOLATILE_FIELDS.has(name));
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(JSON.stringify([hook, ...fields.map(([name, value]) => [name, stableValue(name, value)])]));
  if (bytes !== null) {
    hash.update(`${bytes.byteLength} `);
    hash.update(bytes.subarray(0, MAX_END_BYTES));
    hash.update(bytes.subarray(Math.max(MAX_END_BYTES, bytes.byteLength - MAX_END_BYTES)));
  }
  return hash.digest("base64url");
}

function stableValue(name: string, value: unknown): unknown {
  if (name !== "headers" || !Array.isArray(value)) return value;
  return value.filter((entry: unknown) => !Array.isArray(entry) || !VOLATILE_HEADERS.has(String(entry[0])));
}
