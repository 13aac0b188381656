// Hedging with a provider whose first content is sometimes late: 96 % after 0.3 s, 4 % after 5 s. The time to first content of the
// clients, and how many more calls the providers get, without and with `hedge`.
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable } from "./report.ts";
import { CHAT_PATH } from "./chat-payload.ts";

const FAST_MS = 300;
const SLOW_MS = 5000;
const SLOW_SHARE = 0.04;
const REQUESTS = 3000;
const PER_SECOND = 75;

const encoder = new TextEncoder();
const EVENT = (delta: object) =>
  encoder.encode(
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`,
  );
const BODY = JSON.stringify({
  model: "gpt-fake",
  stream: true,
  messages: [{ role: "user", content: "hello" }],
});

interface BimodalProvider {
  readonly origin: string;
  calls: number;
}

/** Sends the headers and the role at once, and the first text later. */
function startBimodal(): BimodalProvider {
  const provider = { origin: "", calls: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch() {
      provider.calls++;
      const delayMs = Math.random() < SLOW_SHARE ? SLOW_MS : FAST_MS;
      const stream = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(EVENT({ role: "assistant", content: "" }));
          await Bun.sleep(delayMs);
          try {
            controller.enqueue(EVENT({ content: "text" }));
            controller.enqueue(encoder.encode("data: [DONE]\n\n"));
            controller.close();
          } catch {
            // The attempt was aborted.
          }
        },
      });
      return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    },
  });
  provider.origin = server.url.origin;
  return provider;
}

export async function benchHedge(): Promise<void> {
  const results = [];
  for (const hedge of [null, { after: "p95", budget: 0.05 }]) {
    const providers = [startBimodal(), startBimodal()];
    const gatehouse = await startGatehouse({ dataDir: temporaryFolder() });
    const targets = providers.map(({ origin }) => targetAt(origin));
    await createRoute(gatehouse, { targets, upstream: { hedge } });
    const times = await loadOpen(gatehouse.proxyUrl + CHAT_PATH);
    await gatehouse.stop();
    const calls = providers.reduce((sum, provider) => sum + provider.calls, 0);
    const what = hedge === null ? "without hedge" : "with hedge";
    results.push(
      { what: `${what}, p50 of first content`, value: percentile(times, 0.5), unit: "ms" },
      { what: `${what}, p99 of first content`, value: percentile(times, 0.99), unit: "ms" },
      { what: `${what}, more calls`, value: (calls / REQUESTS - 1) * 100, unit: "%" },
    );
  }
  printTable(
    `Hedging: ${REQUESTS} streams, first content after ${FAST_MS} ms, ${SLOW_SHARE * 100} % after ${SLOW_MS} ms`,
    results,
  );
}

/** Starts requests at a constant rate, however slow the responses are. Resolves to the times to first content, sorted. */
async function loadOpen(url: string): Promise<number[]> {
  const sent: Promise<number>[] = [];
  const startedAt = performance.now();
  while (sent.length < REQUESTS) {
    sent.push(firstContent(url));
    const dueAt = startedAt + (sent.length * 1000) / PER_SECOND;
    await Bun.sleep(Math.max(0, dueAt - performance.now()));
  }
  return (await Promise.all(sent)).sort((a, b) => a - b);
}

async function firstContent(url: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: BODY,
  });
  let text = "";
  let seenAt = 0;
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (seenAt === 0 && text.includes('"text"')) seenAt = performance.now();
  }
  if (seenAt === 0) throw new Error(`no content: ${response.status} ${text}`);
  return seenAt - startedAt;
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? NaN;
}
