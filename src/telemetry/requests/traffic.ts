// Traffic for charts: one point per second, over all requests and per gateway.
import type { RequestFacts } from "./request-facts.ts";
import { quantile, SecondRing, TRAFFIC_SECONDS, type TrafficSecond } from "./second-ring.ts";

/** A ring takes about 140 kB. */
export const MAX_GATEWAY_RINGS = 100;

/** Sums and percentiles of a period as the Admin API shows them. */
interface TrafficSums {
  readonly requests: number;
  readonly errors: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
  readonly first_byte_p50_ms: number | null;
  readonly first_token_p50_ms: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
  readonly unpriced_requests: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly failed: Readonly<Record<string, number>>;
}

interface TrafficPoint extends TrafficSums {
  readonly time: string;
}

/** The requests of one gateway in some seconds. */
export interface GatewayTraffic {
  readonly gatewayId: string;
  readonly requests: number;
  readonly errors: number;
}

/** The traffic of this process, or of all worker processes. */
export interface TrafficSource {
  /** Returns the seconds from `from` to `to` (Unix seconds) that had requests. `gatewayIds` null selects all gateways. */
  readTraffic(
    from: number,
    to: number,
    gatewayIds: readonly string[] | null,
  ): Promise<readonly TrafficSecond[]>;
  /** Returns the sums of the gateways that had requests. */
  sumByGateway(from: number, to: number): Promise<readonly GatewayTraffic[]>;
}

export class Traffic implements TrafficSource {
  readonly #all = new SecondRing();
  readonly #byGateway = new Map<string, SecondRing>();
  #checkedAt = -1;
  readonly #beforeRead: () => void;

  /** `beforeRead` adds requests that have ended and are not counted yet. */
  constructor(beforeRead: () => void = () => undefined) {
    this.#beforeRead = beforeRead;
  }

  add(facts: RequestFacts): void {
    const second = Math.floor(facts.endedWallMs / 1000);
    this.#all.add(facts, second);
    if (facts.gatewayId !== null) this.#ringOf(facts.gatewayId, second)?.add(facts, second);
  }

  readTraffic(
    from: number,
    to: number,
    gatewayIds: readonly string[] | null,
  ): Promise<readonly TrafficSecond[]> {
    this.#beforeRead();
    if (gatewayIds === null) return Promise.resolve(this.#all.read(from, to));
    const rings = gatewayIds.flatMap((id) => this.#byGateway.get(id) ?? []);
    return Promise.resolve(mergePoints(rings.map((ring) => ring.read(from, to))));
  }

  sumByGateway(from: number, to: number): Promise<readonly GatewayTraffic[]> {
    this.#beforeRead();
    const sums = [...this.#byGateway].map(([gatewayId, ring]) => ({ gatewayId, ...ring.sum(from, to) }));
    return Promise.resolve(sums.filter(({ requests }) => requests > 0));
  }

  /** Returns the seconds of each gateway that had requests, and those of all requests under "". */
  readAll(from: number, to: number): Map<string, TrafficSecond[]> {
    this.#beforeRead();
    const lists = new Map<string, TrafficSecond[]>();
    for (const [id, ring] of [["", this.#all] as const, ...this.#byGateway]) {
      if (ring.lastSecond < from) continue;
      const seconds = ring.read(from, to);
      if (seconds.length > 0) lists.set(id, seconds);
    }
    return lists;
  }

  /** Returns null while MAX_GATEWAY_RINGS other gateways have recent traffic. */
  #ringOf(gatewayId: string, second: number): SecondRing | null {
    const known = this.#byGateway.get(gatewayId);
    if (known !== undefined) return known;
    if (this.#byGateway.size >= MAX_GATEWAY_RINGS && !this.#removeIdle(second)) return null;
    const ring = new SecondRing();
    this.#byGateway.set(gatewayId, ring);
    return ring;
  }

  /** Removes rings without traffic in the last TRAFFIC_SECONDS; returns whether there is room. */
  #removeIdle(second: number): boolean {
    // Called for every request of a gateway without a ring; one check per second is enough.
    if (second === this.#checkedAt) return false;
    this.#checkedAt = second;
    for (const [id, { lastSecond }] of this.#byGateway)
      if (lastSecond <= second - TRAFFIC_SECONDS) this.#byGateway.delete(id);
    return this.#byGateway.size < MAX_GATEWAY_RINGS;
  }
}

/** Sums the seconds of several processes. */
export function mergePoints(lists: readonly (readonly TrafficSecond[])[]): TrafficSecond[] {
  const bySecond = new Map<number, TrafficSecond>();
  for (const point of lists.flat()) {
    const before = bySecond.get(point.second);
    bySecond.set(point.second, before === undefined ? point : added(before, point));
  }
  return [...bySecond.values()].sort((a, b) => a.second - b.second);
}

/** Sums what several processes report per gateway. */
export function mergeGatewayTraffic(lists: readonly (readonly GatewayTraffic[])[]): GatewayTraffic[] {
  const merged = new Map<string, GatewayTraffic>();
  for (const { gatewayId, requests, errors } of lists.flat()) {
    const before = merged.get(gatewayId) ?? { requests: 0, errors: 0 };
    merged.set(gatewayId, {
      gatewayId,
      requests: before.requests + requests,
      errors: before.errors + errors,
    });
  }
  return [...merged.values()];
}

function added(one: TrafficSecond, other: TrafficSecond): TrafficSecond {
  return {
    second: one.second,
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    durations: addedCounts(one.durations, other.durations),
    firstBytes: addedCounts(one.firstBytes, other.firstBytes),
    firstTokens: addedCounts(one.firstTokens, other.firstTokens),
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
    unpriced: one.unpriced + other.unpriced,
    refused: addedCodes(one.refused, other.refused),
    failed: addedCodes(one.failed, other.failed),
  };
}

function addedCodes(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  const sums = { ...one };
  for (const [code, count] of Object.entries(other)) sums[code] = (sums[code] ?? 0) + count;
  return sums;
}

function addedCounts(one: readonly number[], other: readonly number[]): number[] {
  const [long, short] = one.length >= other.length ? [one, other] : [other, one];
  return long.map((each, index) => each + (short[index] ?? 0));
}

/** Returns one point per step, including those without traffic. `from` and `to` are the starts of the first and the last one. */
export function showPoints(
  points: readonly TrafficSecond[],
  from: number,
  to: number,
  step = 1,
): TrafficPoint[] {
  const bySecond = new Map(points.map((point) => [point.second, point]));
  return Array.from({ length: (to - from) / step + 1 }, (_, index) => ({
    time: new Date((from + index * step) * 1000).toISOString(),
    ...showSums(bySecond.get(from + index * step)),
  }));
}

/** Returns all points as one. Percentiles are computed from the merged histograms: those of points cannot be combined. */
export function showTotal(points: readonly TrafficSecond[]): TrafficSums {
  const [first, ...others] = points;
  return showSums(first === undefined ? undefined : others.reduce(added, first));
}

function showSums(point: TrafficSecond | undefined): TrafficSums {
  return {
    requests: point?.requests ?? 0,
    errors: point?.errors ?? 0,
    p50_ms: round(quantile(point?.durations ?? [], 0.5)),
    p99_ms: round(quantile(point?.durations ?? [], 0.99)),
    first_byte_p50_ms: round(quantile(point?.firstBytes ?? [], 0.5)),
    first_token_p50_ms: round(quantile(point?.firstTokens ?? [], 0.5)),
    input_tokens: point?.inputTokens ?? 0,
    output_tokens: point?.outputTokens ?? 0,
    cost: point?.cost ?? 0,
    unpriced_requests: point?.unpriced ?? 0,
    refused: point?.refused ?? {},
    failed: point?.failed ?? {},
  };
}

function round(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 100) / 100;
}
