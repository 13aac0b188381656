// The store for responses of a plugin under test: a bounded map in memory.
import type { PluginResponse } from "./contexts.ts";
import type { ResponseStore, ResponseStoreLimits } from "./reuse.ts";

interface Entry {
  readonly response: PluginResponse;
  readonly bytes: number;
  readonly keptAt: number;
  readonly expiresAt: number;
}

export class TestResponses implements ResponseStore {
  readonly maxEntryBytes: number;
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();

  constructor({ maxBytes, maxEntryBytes }: ResponseStoreLimits) {
    this.maxEntryBytes = maxEntryBytes;
    this.#maxBytes = maxBytes;
  }

  /** Returns the response if it has not expired and was kept at most `maxAgeMs` ago, else null. */
  get(key: string, maxAgeMs = Infinity): PluginResponse | null {
    const entry = this.#entries.get(key);
    const now = Date.now();
    if (entry === undefined || entry.expiresAt <= now || now - entry.keptAt > maxAgeMs) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.response;
  }

  keep(key: string, response: PluginResponse, ttlMs: number): void {
    const bytes = sizeOf(response.body);
    if (bytes > this.maxEntryBytes) return;
    const now = Date.now();
    this.#entries.delete(key);
    this.#entries.set(key, { response, bytes, keptAt: now, expiresAt: now + ttlMs });
    let total = 0;
    for (const entry of this.#entries.values()) total += entry.bytes;
    for (const [oldest, entry] of this.#entries) {
      if (total <= this.#maxBytes) break;
      this.#entries.delete(oldest);
      total -= entry.bytes;
    }
  }
}

function sizeOf(body: unknown): number {
  if (body === undefined) return 0;
  if (body instanceof Uint8Array) return body.byteLength;
  return Buffer.byteLength(typeof body === "string" ? body : JSON.stringify(body));
}
