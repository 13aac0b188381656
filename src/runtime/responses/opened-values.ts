// Responses of Redis that this process has used lately, with their streams, so that equal values are not decrypted and decompressed again.
import type { Clock } from "../../base/clock.ts";
import type { KeptResponse, StreamKind } from "./kept-response.ts";
import { MemoryResponses } from "./memory-responses.ts";

/** Of the responses of all gateways, without their sealed values, which are about as large. */
const MAX_BYTES = 16 * 1024 * 1024;

export class OpenedValues {
  readonly #responses: MemoryResponses;
  readonly #sealedValues = new WeakMap<KeptResponse, string>();

  constructor(clock: Clock) {
    this.#responses = new MemoryResponses(clock);
  }

  /**
   * Returns the response in a value that was read from Redis; null if it is none. Only a response of exactly this value is used again: what
   * was replaced, changed or removed in Redis is not. Throws if `open` does.
   */
  get(redisKey: string, sealed: unknown, open: (sealed: string) => KeptResponse | null): KeptResponse | null {
    const known = this.#responses.get(redisKey);
    if (known !== null && this.#sealedValues.get(known) === sealed) return known;
    this.#responses.delete(redisKey);
    const response = typeof sealed === "string" ? open(sealed) : null;
    if (response === null || typeof sealed !== "string") return null;
    this.#sealedValues.set(response, sealed);
    this.#responses.set(redisKey, response, MAX_BYTES);
    return response;
  }

  setStream(redisKey: string, response: KeptResponse, kind: StreamKind, stream: Uint8Array): void {
    this.#responses.setStream(redisKey, response, kind, stream, MAX_BYTES);
  }

  clear(): void {
    this.#responses.purge();
  }
}
