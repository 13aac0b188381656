// The stores for responses of all plugin entries: opened by plugins, counted per gateway, purged by operators.
import type { Clock } from "../../base/clock.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { ResponseStore, ResponseStoreLimits } from "../../sdk/index.ts";
import type { KeptResponse, ResponseBackend, StreamKind } from "./kept-response.ts";
import { MemoryResponses } from "./memory-responses.ts";

/** What the stores of a gateway have done since the process started, and what they hold. */
export interface ResponseCounts {
  readonly store: "memory" | "redis";
  readonly entries: number;
  readonly bytes: number;
  readonly max_bytes: number;
  readonly hits: number;
  readonly coalesced: number;
  readonly misses: number;
  readonly kept: number;
  readonly saved_input_tokens: number;
  readonly saved_output_tokens: number;
  readonly saved_nanos: number;
  readonly unpriced_requests: number;
}

/** How this process reaches Redis; null if it keeps responses in memory. */
export type OpenRedis = (() => Promise<RedisPlace>) | null;

interface RedisPlace {
  open(gatewayId: string, instanceId: string): ResponseBackend;
  close(): void;
}

class Counters {
  hits = 0;
  coalesced = 0;
  misses = 0;
  kept = 0;
  savedInputTokens = 0;
  savedOutputTokens = 0;
  savedNanos = 0;
  /** Hits and coalesced requests whose cost would not have been known. */
  unpriced = 0;
}

/** The store of one plugin entry. */
export class OpenedResponses implements ResponseStore {
  readonly maxEntryBytes: number;
  readonly maxBytes: number;
  readonly instanceId: string;
  readonly backend: ResponseBackend;
  readonly #counters: Counters;

  constructor(instanceId: string, backend: ResponseBackend, counters: Counters, limits: ResponseStoreLimits) {
    this.instanceId = instanceId;
    this.backend = backend;
    this.#counters = counters;
    this.maxEntryBytes = limits.maxEntryBytes;
    this.maxBytes = limits.maxBytes;
  }

  /** Changes with every purge that this process knows of. */
  get generation(): string {
    return this.backend.generation;
  }

  get(key: string): ValueOrPromise<KeptResponse | null> {
    return this.backend.get(key);
  }

  /** `generation` is that of the time before the request was sent: what was requested before a purge is not kept after it. */
  keep(key: string, response: KeptResponse, generation: string): void {
    if (generation !== this.generation) return;
    this.#counters.kept++;
    this.backend.set(key, response, this.maxBytes);
  }

  keepStream(key: string, response: KeptResponse, kind: StreamKind, stream: Uint8Array): void {
    this.backend.setStream(key, response, kind, stream, this.maxBytes);
  }

  countMiss(): void {
    this.#counters.misses++;
  }

  /** `kept` is null if it is not known what the response has used. */
  countHit(kept: KeptResponse | null, isCoalesced: boolean): void {
    const counters = this.#counters;
    if (isCoalesced) counters.coalesced++;
    else counters.hits++;
    counters.savedInputTokens += kept?.inputTokens ?? 0;
    counters.savedOutputTokens += kept?.outputTokens ?? 0;
    const costNanos = kept?.costNanos ?? null;
    if (costNanos === null) counters.unpriced++;
    else counters.savedNanos += costNanos;
  }
}

/** The stores of one gateway. */
class GatewayStores {
  readonly counters = new Counters();
  readonly stores = new Map<string, OpenedResponses>();
}

export class ResponseStores {
  readonly #clock: Clock;
  readonly #openRedis: OpenRedis;
  #redis: Promise<RedisPlace> | null = null;
  readonly #gateways = new Map<string, GatewayStores>();

  constructor(clock: Clock, openRedis: OpenRedis) {
    this.#clock = clock;
    this.#openRedis = openRedis;
  }

  /** What was kept stays if only the limits change. */
  open(gatewayId: string, instanceId: string, limits: ResponseStoreLimits): OpenedResponses {
    const gateway = this.#gateways.get(gatewayId) ?? new GatewayStores();
    this.#gateways.set(gatewayId, gateway);
    const backend = gateway.stores.get(instanceId)?.backend ?? this.#backendFor(gatewayId, instanceId);
    const opened = new OpenedResponses(instanceId, backend, gateway.counters, limits);
    gateway.stores.set(instanceId, opened);
    return opened;
  }

  releaseGateway(gatewayId: string): void {
    this.#gateways.delete(gatewayId);
  }

  async countsOf(gatewayId: string): Promise<ResponseCounts> {
    const { counters, stores } = this.#gateways.get(gatewayId) ?? new GatewayStores();
    let [entries, bytes, maxBytes] = [0, 0, 0];
    for (const { backend, maxBytes: most } of stores.values()) {
      const occupied = await backend.occupied();
      entries += occupied.entries;
      bytes += occupied.bytes;
      maxBytes += most;
    }
    return {
      store: this.#openRedis === null ? "memory" : "redis",
      entries,
      bytes,
      max_bytes: maxBytes,
      hits: counters.hits,
      coalesced: counters.coalesced,
      misses: counters.misses,
      kept: counters.kept,
      saved_input_tokens: counters.savedInputTokens,
      saved_output_tokens: counters.savedOutputTokens,
      saved_nanos: counters.savedNanos,
      unpriced_requests: counters.unpriced,
    };
  }

  /** Resolves to the number of responses that were removed. Rejects if Redis is unavailable. */
  async purge(gatewayId: string): Promise<number> {
    let purged = 0;
    for (const { backend } of this.#gateways.get(gatewayId)?.stores.values() ?? [])
      purged += await backend.purge();
    return purged;
  }

  /** Returns what each gateway has in the memory of this process; empty with Redis. */
  inMemory(): { gatewayId: string; entries: number; bytes: number }[] {
    return [...this.#gateways].map(([gatewayId, { stores }]) => {
      let [entries, bytes] = [0, 0];
      for (const { backend } of stores.values()) {
        if (!(backend instanceof MemoryResponses)) continue;
        const occupied = backend.occupied();
        entries += occupied.entries;
        bytes += occupied.bytes;
      }
      return { gatewayId, entries, bytes };
    });
  }

  async close(): Promise<void> {
    (await this.#redis)?.close();
  }

  #backendFor(gatewayId: string, instanceId: string): ResponseBackend {
    if (this.#openRedis === null) return new MemoryResponses(this.#clock);
    this.#redis ??= this.#openRedis();
    return new PendingBackend(this.#redis.then((redis) => redis.open(gatewayId, instanceId)));
  }
}

/** A backend whose code is loaded on demand. */
class PendingBackend implements ResponseBackend {
  readonly #opening: Promise<ResponseBackend>;
  #backend: ResponseBackend | null = null;

  constructor(opening: Promise<ResponseBackend>) {
    this.#opening = opening;
    void opening.then((backend) => (this.#backend = backend));
  }

  get generation(): string {
    return this.#backend?.generation ?? "";
  }

  get(key: string): ValueOrPromise<KeptResponse | null> {
    return this.#backend?.get(key) ?? null;
  }

  set(key: string, response: KeptResponse, maxBytes: number): void {
    this.#backend?.set(key, response, maxBytes);
  }

  setStream(
    key: string,
    response: KeptResponse,
    kind: StreamKind,
    stream: Uint8Array,
    maxBytes: number,
  ): void {
    this.#backend?.setStream(key, response, kind, stream, maxBytes);
  }

  async purge(): Promise<number> {
    return (await this.#opening).purge();
  }

  async occupied() {
    return (await this.#opening).occupied();
  }
}
