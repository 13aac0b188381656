// A response that is kept for later requests, and the places that keep it.
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { FormatName } from "../../formats/format-names.ts";
import type { Operation } from "../../formats/operations.ts";

/** A complete successful response, as it was before plugins changed it and before ids in it were sealed. */
export interface KeptResponse {
  readonly status: number;
  /** What was requested, which says how to convert the body to a stream. */
  readonly operation: Operation;
  /** That of the body. */
  readonly format: FormatName;
  /** The whole response as JSON, also if it was a stream. */
  readonly body: Uint8Array;
  readonly provider: string;
  readonly model: string | null;
  /** Fields of the request that the target's format lacks: those of X-GW-Translated. */
  readonly dropped: readonly string[];
  /** Identifies the target, for ids of stored objects in the body. */
  readonly targetTag: string;
  /** Unix milliseconds. */
  readonly keptAt: number;
  readonly expiresAt: number;
  /** What the response has used; the cost in nano-dollars is null if it is unknown. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNanos: number | null;
  readonly streams: KeptStreams;
}

export type StreamKind = "plain" | "withUsage";

/** The event streams of a response in memory. Each is created with the first hit that wants it. */
export class KeptStreams {
  plain: Uint8Array | null = null;
  /** With the usage that clients of chat streams may request. */
  withUsage: Uint8Array | null = null;

  get bytes(): number {
    return (this.plain?.byteLength ?? 0) + (this.withUsage?.byteLength ?? 0);
  }
}

export interface Occupied {
  readonly entries: number;
  readonly bytes: number;
}

/** Where the responses of one plugin entry are kept. */
export interface ResponseBackend {
  /** Changes with every purge that this process knows of. */
  readonly generation: string;
  /** Returns null if there is none, it has expired, or the place is unavailable or slow. */
  get(key: string): ValueOrPromise<KeptResponse | null>;
  /** Does not wait. */
  set(key: string, response: KeptResponse, maxBytes: number): void;
  /** Keeps a stream of a response that `get` has returned, if there is room for it. */
  setStream(
    key: string,
    response: KeptResponse,
    kind: StreamKind,
    stream: Uint8Array,
    maxBytes: number,
  ): void;
  /** Returns how many responses were removed. */
  purge(): ValueOrPromise<number>;
  occupied(): ValueOrPromise<Occupied>;
}
