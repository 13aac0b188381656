// The time of requests with and without plugins in shadow mode: two gateways of one process that differ only in these, in alternating bursts.
import { startFakeProvider } from "../src/fake-provider/server.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { median, printTable } from "./report.ts";

const BURSTS = 20;
const REQUESTS_PER_BURST = 250;
/** Of the provider. Without one, the calls of one request always delay the next. */
const DELAY_MS = 20;
const CONCURRENCY = 4;

const BODY = JSON.stringify({
  model: "gpt-fake",
  messages: [{ role: "user", content: "Summarize the following text in two sentences. ".repeat(20) }],
});

const SHADOWS = [
  {
    name: "rate_limiter",
    stage: "pre_request",
    settings: { limits: { per_ip: { limit: 100, window: "1m" } } },
  },
  {
    name: "code_sanitation",
    stage: "pre_request",
    settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
  },
].map((entry) => ({ ...entry, mode: "shadow" }));

export async function benchShadow(): Promise<void> {
  const provider = await startFakeProvider({ record: false });
  provider.behave({ delayMs: DELAY_MS });
  const gatehouse = await startGatehouse({ dataDir: temporaryFolder() });
  const targets = [targetAt(provider.url)];
  await createRoute(gatehouse, { targets, path: "/off", gateway: { name: "off" } });
  await createRoute(gatehouse, {
    targets,
    path: "/on",
    gateway: { name: "on", required_plugins: SHADOWS },
  });
  const times = { off: [] as number[], on: [] as number[] };
  const ratios: number[] = [];
  for (let burst = 0; burst <= BURSTS; burst++) {
    const pair = { off: [] as number[], on: [] as number[] };
    for (const side of burst % 2 === 0 ? (["off", "on"] as const) : (["on", "off"] as const))
      pair[side] = await runBurst(`${gatehouse.proxyUrl}/${side}`);
    // The first pair warms up.
    if (burst === 0) continue;
    times.off.push(...pair.off);
    times.on.push(...pair.on);
    ratios.push(percentile(pair.on, 0.99) / percentile(pair.off, 0.99));
  }
  await gatehouse.stop();
  await provider.stop();
  const rows = [0.5, 0.99].flatMap((share) => {
    const [off, on] = [percentile(times.off, share), percentile(times.on, share)];
    const name = `p${share * 100}`;
    return [
      { what: `${name} without`, value: off, unit: "ms" },
      { what: `${name} with two plugins in shadow mode`, value: on, unit: "ms" },
      { what: `${name} ratio`, value: on / off, unit: "" },
    ];
  });
  printTable(
    `Shadow mode: ${BURSTS} bursts of ${REQUESTS_PER_BURST} requests each in turn, provider ${DELAY_MS} ms`,
    [
      ...rows,
      { what: "p99 ratio, median of the pairs", value: median(ratios), unit: "", note: "limit 1.05" },
    ],
  );
}

async function runBurst(url: string): Promise<number[]> {
  const times: number[] = [];
  let left = REQUESTS_PER_BURST;
  const run = async () => {
    while (left-- > 0) {
      const startedAt = performance.now();
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: BODY,
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`status ${response.status}`);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, run));
  return times;
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
