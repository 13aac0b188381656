// Divides CPU cores between the workers of the gateway, the load generator, and the provider.

export interface CorePlan {
  readonly gateway: readonly number[];
  readonly load: readonly number[];
  readonly provider: readonly number[];
}

/** Parses a list in the notation of taskset, such as `0-3,6`; throws if it is not valid. */
export function parseCores(list: string): number[] {
  const cores = list.split(",").flatMap((part) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part.trim()) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (!(from <= to)) throw new Error(`--cores is "${list}"; use a list such as 0-7 or 0,2,4-6`);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  return [...new Set(cores)].sort((a, b) => a - b);
}

/**
 * Returns half of the cores for the gateway, and a quarter each for load generator and provider, which together take less CPU
 * per request than the gateway; null if there are fewer than three.
 */
export function planCores(cores: readonly number[]): CorePlan | null {
  if (cores.length < 3) return null;
  const quarter = Math.ceil(cores.length / 4);
  const workers = cores.length - 2 * quarter;
  return {
    gateway: cores.slice(0, workers),
    load: cores.slice(workers, workers + quarter),
    provider: cores.slice(workers + quarter),
  };
}

/** Returns 1, 2, 4, … up to the number of the gateway's cores, which is the last one. */
export function workerCounts(most: number): number[] {
  const counts: number[] = [];
  for (let count = 1; count < most; count *= 2) counts.push(count);
  return [...counts, most];
}
