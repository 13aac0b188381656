// The oracle for counters, which filters a list for every decision, and random traces to compare with.
import type { Decision, Limit } from "../../src/sdk/index.ts";

interface NaiveLog {
  entries: number[];
  keepMs: number;
}

export class NaiveCounters {
  readonly #logs = new Map<string, NaiveLog>();

  admit(limits: readonly Limit[], now: number): Omit<Decision, "source"> {
    const checks = limits.map((limit) => this.#check(limit, now));
    const refusedBy = checks.findIndex(({ waitMs }) => waitMs > 0);
    const admitted = refusedBy === -1;
    if (admitted) for (const limit of limits) this.#count(limit, now);
    const states = checks.map(({ counted, waitMs }, at) => {
      const { limit, windowMs } = limits[at]!;
      const remaining = Math.max(0, limit - counted.length - (admitted ? 1 : 0));
      return { remaining, resetAt: Math.ceil(((counted[0] ?? now) + windowMs) / 1000), waitMs };
    });
    return { admitted, refusedBy, states };
  }

  clear(key: string): void {
    this.#logs.delete(key);
  }

  /** Returns the entries of the last `keepMs`. */
  #kept(key: string, now: number): number[] {
    const log = this.#logs.get(key);
    return log === undefined ? [] : log.entries.filter((time) => time > now - log.keepMs);
  }

  #check({ key, limit, windowMs }: Limit, now: number) {
    const counted = this.#kept(key, now).filter((time) => time > now - windowMs);
    const waitMs = counted.length < limit ? 0 : counted[counted.length - limit]! + windowMs - now;
    return { counted, waitMs };
  }

  #count({ key, windowMs }: Limit, now: number): void {
    const kept = this.#kept(key, now);
    const log = kept.length === 0 ? undefined : this.#logs.get(key);
    this.#logs.set(key, {
      entries: [...kept, now],
      keepMs: Math.max(log?.keepMs ?? 0, windowMs),
    });
  }
}

export type TraceStep =
  | { readonly kind: "admit"; readonly afterMs: number; readonly limits: readonly Limit[] }
  | { readonly kind: "clear"; readonly key: string };

/** Mulberry32, seeded so that a failing trace can be repeated. */
function randomNumbers(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A few keys, limits that change sometimes, and pauses that often end exactly at the end of a window. */
export function randomTrace(seed: number, steps: number, scale: number): TraceStep[] {
  const random = randomNumbers(seed);
  const below = (bound: number) => Math.floor(random() * bound);
  const windows = [1, 7, 50, 1000, 1000, 60_000];
  const anyLimit = (key: string): Limit => ({
    key,
    limit: 1 + below(random() < 0.2 ? 40 : 5),
    windowMs: windows[below(windows.length)]! * scale,
  });
  const limits = Array.from({ length: 1 + below(4) }, (_, at) => anyLimit(`trace ${seed} key ${at}`));
  return Array.from({ length: steps }, (): TraceStep => {
    const chosen = below(limits.length);
    if (random() < 0.02) return { kind: "clear", key: limits[chosen]!.key };
    if (random() < 0.05) limits[chosen] = anyLimit(limits[chosen]!.key);
    const { windowMs, limit } = limits[chosen]!;
    const pauses = [0, 0, 1, below(10), Math.ceil(windowMs / limit), windowMs - 1, windowMs, windowMs + 1];
    const subset = limits.filter(() => random() < 0.8);
    const afterMs = random() < 0.7 ? pauses[below(5)]! : pauses[below(pauses.length)]!;
    return { kind: "admit", afterMs, limits: subset.length === 0 ? [limits[chosen]!] : subset };
  });
}
