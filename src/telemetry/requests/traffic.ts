// Traffic for charts: points of one second each, of all requests and of each gateway.
import type { RequestFacts } from "./request-facts.ts";
import { quantile, SecondRing, TRAFFIC_SECONDS, type TrafficSecond } from "./second-ring.ts";

/** A ring takes some 100 kB, so that only so many gateways have one at a time. */
export const MAX_GATEWAY_RINGS = 100;

/** A point as the Admin API shows it. */
export interface TrafficPoint {
  readonly time: string;
  readonly requests: number;
  readonly errors: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
  readonly first_byte_p50_ms: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** The traffic of this process, or of all that share its listeners. */
export interface TrafficSource {
  /** The seconds from `from` to `to` (Unix seconds) in which something happened; `gatewayId` null: of all gateways. */
  readTraffic(from: number, to: number, gatewayId: string | null): Promise<readonly TrafficSecond[]>;
}

export class Traffic implements TrafficSource {
  readonly #all = new SecondRing();
  readonly #byGateway = new Map<string, SecondRing>();
  #lookedAt = -1;

  add(facts: RequestFacts): void {
    const second = Math.floor(facts.endedWallMs / 1000);
    this.#all.add(facts, second);
    if (facts.gatewayId !== null) this.#ringOf(facts.gatewayId, second)?.add(facts, second);
  }

  readTraffic(from: number, to: number, gatewayId: string | null): Promise<readonly TrafficSecond[]> {
    const ring = gatewayId === null ? this.#all : this.#byGateway.get(gatewayId);
    return Promise.resolve(ring?.read(from, to) ?? []);
  }

  /** Null while as many other gateways as may have a ring are in use. */
  #ringOf(gatewayId: string, second: number): SecondRing | null {
    const known = this.#byGateway.get(gatewayId);
    if (known !== undefined) return known;
    if (this.#byGateway.size >= MAX_GATEWAY_RINGS && !this.#dropQuiet(second)) return null;
    const ring = new SecondRing();
    this.#byGateway.set(gatewayId, ring);
    return ring;
  }

  /** Rings in which nothing is left to read. */
  #dropQuiet(second: number): boolean {
    // Whoever finds no room asks again with every request: once a second is enough.
    if (second === this.#lookedAt) return false;
    this.#lookedAt = second;
    for (const [id, { lastSecond }] of this.#byGateway)
      if (lastSecond <= second - TRAFFIC_SECONDS) this.#byGateway.delete(id);
    return this.#byGateway.size < MAX_GATEWAY_RINGS;
  }
}

/** The seconds of several processes as those of one. */
export function mergePoints(lists: readonly (readonly TrafficSecond[])[]): TrafficSecond[] {
  const bySecond = new Map<number, TrafficSecond>();
  for (const point of lists.flat()) {
    const before = bySecond.get(point.second);
    bySecond.set(point.second, before === undefined ? point : added(before, point));
  }
  return [...bySecond.values()].sort((a, b) => a.second - b.second);
}

function added(one: TrafficSecond, other: TrafficSecond): TrafficSecond {
  const codes = [...new Set([...Object.keys(one.refused), ...Object.keys(other.refused)])];
  return {
    second: one.second,
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    durations: one.durations.map((each, index) => each + (other.durations[index] ?? 0)),
    firstBytes: one.firstBytes.map((each, index) => each + (other.firstBytes[index] ?? 0)),
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
    refused: Object.fromEntries(
      codes.map((code) => [code, (one.refused[code] ?? 0) + (other.refused[code] ?? 0)]),
    ),
  };
}

/** A point for each second, those without traffic too. */
export function showPoints(points: readonly TrafficSecond[], from: number, to: number): TrafficPoint[] {
  const bySecond = new Map(points.map((point) => [point.second, point]));
  return Array.from({ length: to - from + 1 }, (_, index) =>
    showPoint(from + index, bySecond.get(from + index)),
  );
}

function showPoint(second: number, point: TrafficSecond | undefined): TrafficPoint {
  return {
    time: new Date(second * 1000).toISOString(),
    requests: point?.requests ?? 0,
    errors: point?.errors ?? 0,
    p50_ms: round(quantile(point?.durations ?? [], 0.5)),
    p99_ms: round(quantile(point?.durations ?? [], 0.99)),
    first_byte_p50_ms: round(quantile(point?.firstBytes ?? [], 0.5)),
    input_tokens: point?.inputTokens ?? 0,
    output_tokens: point?.outputTokens ?? 0,
    cost: point?.cost ?? 0,
    refused: point?.refused ?? {},
  };
}

function round(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 100) / 100;
}
