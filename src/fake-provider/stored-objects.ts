// The objects that clients store in the fake provider (responses, files, batches), bounded in number and size.
import type { JsonObject } from "./loose-json.ts";

export interface StoredResponse {
  /** The response as it was returned. */
  readonly response: JsonObject;
  readonly input: readonly unknown[];
  /** All items up to and including the output, for requests that continue the conversation. */
  readonly conversation: readonly unknown[];
}

export interface StoredFile {
  readonly file: JsonObject;
  readonly content: Uint8Array;
}

export interface StoredBatch {
  batch: JsonObject;
}

const MAX_OBJECTS = 1000;
const MAX_BYTES = 1 << 26;

export class StoredObjects {
  readonly responses = new BoundedStore<StoredResponse>(MAX_OBJECTS, MAX_BYTES);
  readonly files = new BoundedStore<StoredFile>(MAX_OBJECTS, MAX_BYTES);
  readonly batches = new BoundedStore<StoredBatch>(MAX_OBJECTS, MAX_BYTES);

  clear(): void {
    this.responses.clear();
    this.files.clear();
    this.batches.clear();
  }
}

export class BoundedStore<T> {
  readonly #entries = new Map<string, { value: T; bytes: number }>();
  #bytes = 0;

  constructor(
    private readonly maxEntries: number,
    private readonly maxBytes: number,
  ) {}

  /** Adds a value and drops the oldest ones that no longer fit. Returns false if the value alone is too large. */
  add(id: string, value: T, bytes: number): boolean {
    if (bytes > this.maxBytes) return false;
    this.delete(id);
    this.#entries.set(id, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.maxEntries && this.#bytes <= this.maxBytes) break;
      this.delete(oldest);
    }
    return true;
  }

  get(id: string): T | undefined {
    return this.#entries.get(id)?.value;
  }

  delete(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#bytes -= entry.bytes;
    return this.#entries.delete(id);
  }

  /** Oldest first. */
  values(): T[] {
    return [...this.#entries.values()].map((entry) => entry.value);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}
