// The load of gatehouse bench: as many requests at once as told, one after the other, for as long as told.

export interface Measured {
  /** Milliseconds of each request. */
  readonly times: readonly number[];
  readonly perSecond: number;
  readonly failed: number;
}

const QUESTION = JSON.stringify({
  model: "bench",
  messages: [{ role: "user", content: "How much does a gateway cost?" }],
});
/** A request that takes longer is one of its failures. */
const DEADLINE_MS = 10_000;

export async function measure(url: string, atOnce: number, ms: number): Promise<Measured> {
  const times: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const client = async () => {
    while (performance.now() - startedAt < ms) {
      const began = performance.now();
      const isAnswered = await ask(url);
      if (isAnswered) times.push(performance.now() - began);
      else failed++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  return { times, perSecond: (times.length * 1000) / (performance.now() - startedAt), failed };
}

async function ask(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: QUESTION,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    await response.bytes();
    return response.ok;
  } catch {
    return false;
  }
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
