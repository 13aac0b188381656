// The load of gatehouse bench: a number of clients that send one request after another for a given time.

export interface LoadResult {
  /** Duration of each successful request in milliseconds. */
  readonly times: readonly number[];
  readonly perSecond: number;
  readonly failed: number;
}

const CHAT_REQUEST = JSON.stringify({
  model: "bench",
  messages: [{ role: "user", content: "How much does a gateway cost?" }],
});
/** A request that takes longer counts as failed. */
const DEADLINE_MS = 10_000;

export async function runLoad(url: string, clients: number, ms: number): Promise<LoadResult> {
  const times: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  const client = async () => {
    while (performance.now() - startedAt < ms) {
      const sentAt = performance.now();
      const isOk = await sendChatRequest(url);
      if (isOk) times.push(performance.now() - sentAt);
      else failed++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { times, perSecond: (times.length * 1000) / (performance.now() - startedAt), failed };
}

async function sendChatRequest(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: CHAT_REQUEST,
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
