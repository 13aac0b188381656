// The requests that crashed a plugin, by digest: a request that has crashed it twice is not tried again for a minute, and one that may have
// crashed it runs alone.
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
/** Fields of a context that differ when a client repeats a request. */
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
  /** 0: others were running when the plugin crashed. Of a body: the number of different requests with it that crashed the plugin. */
  readonly crashes: number;
  readonly until: number;
  readonly bytes: number;
}

interface Digests {
  readonly request: string;
  /** The body with the client that sent it, whatever the head of the request; null if there is no body. */
  readonly body: string | null;
}

/** Of one entry of a gateway. */
export class Quarantine {
  readonly #clock: Clock;
  /** The oldest is first. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns whether the request may crash the plugin. Throws if it has done so twice. */
  check<Hook extends IsolatedHook>(plugin: string, hook: Hook, context: IsolatedContexts[Hook]): boolean {
    if (this.#entries.size === 0) return false;
    const bytes = sizeOf(hook, context);
    const isPossible = [...this.#entries.values()].some((entry) => entry.bytes === bytes);
    if (!isPossible) return false;
    const now = this.#clock.now();
    const entries = this.#entriesOf(digestsOf(hook, context)).filter(({ until }) => until > now);
    const last = entries.find(({ crashes }) => crashes >= CRASHES);
    if (last !== undefined) throw quarantined(plugin, last.until - now);
    return entries.length > 0;
  }

  /**
   * Counts crashes of a call; 0 if it is not known whether this call is why the plugin crashed. Returns the error of a request that is in
   * quarantine now, else null.
   */
  add<Hook extends IsolatedHook>(
    plugin: string,
    hook: Hook,
    context: IsolatedContexts[Hook],
    crashes: number,
  ): GatehouseError | null {
    const now = this.#clock.now();
    for (const [digest, { until }] of this.#entries) if (until <= now) this.#entries.delete(digest);
    const bytes = sizeOf(hook, context);
    const digests = digestsOf(hook, context);
    const isNew = (this.#entries.get(digests.request)?.crashes ?? 0) === 0;
    this.#count(digests.request, crashes, bytes);
    // Otherwise a client would repeat the crash by changing a header that the plugin does not read.
    if (digests.body !== null) this.#count(digests.body, isNew && crashes > 0 ? 1 : 0, bytes);
    const isOver = this.#entriesOf(digests).some((entry) => entry.crashes >= CRASHES);
    return isOver ? quarantined(plugin, QUARANTINE_MS) : null;
  }

  /** The call was alone and has not crashed the plugin: it was not why the plugin crashed before. */
  clear<Hook extends IsolatedHook>(hook: Hook, context: IsolatedContexts[Hook]): void {
    const { request, body } = digestsOf(hook, context);
    for (const digest of [request, body])
      if (digest !== null && this.#entries.get(digest)?.crashes === 0) this.#entries.delete(digest);
  }

  #entriesOf({ request, body }: Digests): Entry[] {
    return [request, body].flatMap((digest) => (digest === null ? [] : (this.#entries.get(digest) ?? [])));
  }

  #count(digest: string, crashes: number, bytes: number): void {
    const known = this.#entries.get(digest)?.crashes ?? 0;
    this.#entries.delete(digest);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < MAX_DIGESTS) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(digest, { crashes: known + crashes, until: this.#clock.now() + QUARANTINE_MS, bytes });
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

function digestsOf<Hook extends IsolatedHook>(hook: Hook, context: IsolatedContexts[Hook]): Digests {
  const { context: data, bytes } = readContext(hook, context);
  const fields = Object.entries(data).filter(([name]) => !VOLATILE_FIELDS.has(name));
  const content = bytes === null || bytes.byteLength === 0 ? null : digestOfBytes(bytes);
  // Without an API key, the address identifies the client: no client can have the bodies of others rejected.
  const client = context.apiKey?.id ?? context.clientAddress;
  return {
    request: digestOf([hook, ...fields.map(([name, value]) => [name, stableValue(name, value)]), content]),
    body: content === null ? null : digestOf([hook, client, content]),
  };
}

function digestOf(value: unknown): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(value)).digest("base64url");
}

function digestOfBytes(bytes: Uint8Array): string {
  const hash = new Bun.CryptoHasher("sha256").update(`${bytes.byteLength} `);
  hash.update(bytes.subarray(0, MAX_END_BYTES));
  hash.update(bytes.subarray(Math.max(MAX_END_BYTES, bytes.byteLength - MAX_END_BYTES)));
  return hash.digest("base64url");
}

function stableValue(name: string, value: unknown): unknown {
  if (name !== "headers" || !Array.isArray(value)) return value;
  return value.filter((entry: unknown) => !Array.isArray(entry) || !VOLATILE_HEADERS.has(String(entry[0])));
}
