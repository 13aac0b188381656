// `npm run bench isolation`: the time of a hook in a worker thread and in a process, and the time of other requests beside a plugin that
// loops in one.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/base/clock.ts";
import { startFakeProvider } from "../src/fake-provider/server.ts";
import { PluginRegistry } from "../src/plugins/registry.ts";
import { Isolation } from "../src/runtime/isolation/isolation.ts";
import { definePlugin, z, type PluginHost, type RequestContext } from "../src/sdk/index.ts";
import { createLog } from "../src/telemetry/log/log.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable } from "./report.ts";

const CALLS = 10_000;
const BURSTS = 4;
const REQUESTS_PER_BURST = 200;
const CONCURRENCY = 4;
/** Of the provider. */
const DELAY_MS = 20;

const BODY = JSON.stringify({
  model: "gpt-fake",
  messages: [{ role: "user", content: "Summarize the following text in two sentences. ".repeat(20) }],
});

const SOURCE = (code: string) => `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "measured", description: "", stages: ["pre_request"], settings: z.strictObject({}),
    create: () => ({ pre_request(context) { ${code} } }),
  });`;

export async function benchIsolation(): Promise<void> {
  const rows = [];
  for (const isolation of ["worker", "process"] as const) {
    const times = await hookTimes(isolation);
    for (const share of [0.5, 0.99])
      rows.push({ what: `${isolation}, p${share * 100}`, value: percentile(times, share), unit: "µs" });
  }
  printTable("One call of a pre_request hook that reads the body and sets a header", rows);
  printTable("p99 of requests of another gateway beside a plugin that loops, divided by that without it", [
    { what: "worker", value: await neighborRatio("worker"), unit: "×" },
    { what: "process", value: await neighborRatio("process"), unit: "×" },
  ]);
}

async function hookTimes(isolation: "worker" | "process"): Promise<number[]> {
  const registry = new PluginRegistry();
  const definition = definePlugin({
    name: "measured",
    description: "",
    stages: ["pre_request"],
    settings: z.strictObject({}),
    create: () => ({}),
  });
  registry.keepSource(definition, SOURCE(`context.setHeader("x-size", String(context.bodyText.length))`));
  const log = createLog({ level: "error", format: "json" }, { write: console.error });
  const isolating = new Isolation({ PLUGIN_USER: null, PLUGIN_MEMORY_MB: 256 }, registry, log, systemClock);
  const host = { isExplaining: false } as PluginHost;
  const order = {
    gatewayId: "g",
    instanceId: "g/1",
    definition,
    settings: {},
    isolation,
    isShadow: false,
    host,
  };
  try {
    isolating.hooksFor(order, true);
  } catch {
    await isolating.start();
  }
  const hooks = isolating.hooksFor(order, true);
  const times: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const context = requestContext();
    const startedAt = Bun.nanoseconds();
    await hooks.pre_request?.(context);
    times.push((Bun.nanoseconds() - startedAt) / 1000);
  }
  isolating.close();
  return times;
}

/** As of a chat request with a few headers. */
function requestContext(): RequestContext {
  const headers = new Map(
    Object.entries({
      host: "gateway.test",
      "content-type": "application/json",
      "user-agent": "bench",
      accept: "*/*",
      "content-length": String(BODY.length),
    }),
  );
  const context = {
    requestId: "01J0000000000000000000000",
    gateway: { id: "g", name: "bench" },
    rule: { id: "r", name: null, path: "/v1/*" },
    apiKey: { id: "k", name: "bench" },
    protocol: "http",
    tool: null,
    method: "POST",
    clientAddress: "127.0.0.1",
    notes: new Map<string, unknown>(),
    path: "/v1/chat/completions",
    query: "",
    headers,
    bodySize: BODY.length,
    bodyView: Buffer.from(BODY),
    isJson: true,
    bodyUser: null,
    requestedModel: "gpt-fake",
    setHeader: () => undefined,
  };
  return context as unknown as RequestContext;
}

async function neighborRatio(isolation: "worker" | "process"): Promise<number> {
  const provider = await startFakeProvider({ record: false });
  provider.behave({ delayMs: DELAY_MS });
  const plugins = join(temporaryFolder(), "plugins");
  mkdirSync(plugins, { recursive: true });
  writeFileSync(join(plugins, "measured.ts"), SOURCE("while (true) {}"));
  const gatehouse = await startGatehouse({ dataDir: temporaryFolder(), env: { PLUGINS_DIR: plugins } });
  const targets = [targetAt(provider.url)];
  const looping = { name: "measured", stage: "pre_request", settings: {}, isolation };
  await createRoute(gatehouse, { targets, path: "/other", gateway: { name: "other" } });
  await createRoute(gatehouse, {
    targets,
    path: "/looping",
    gateway: { name: "looping", required_plugins: [looping] },
  });
  const times = { alone: [] as number[], beside: [] as number[] };
  await runBurst(`${gatehouse.proxyUrl}/other`);
  for (let burst = 0; burst < BURSTS; burst++) {
    times.alone.push(...(await runBurst(`${gatehouse.proxyUrl}/other`)));
    // It loops for 5 seconds, which is longer than the burst.
    const loop = send(`${gatehouse.proxyUrl}/looping`);
    times.beside.push(...(await runBurst(`${gatehouse.proxyUrl}/other`)));
    await loop;
  }
  await gatehouse.stop();
  await provider.stop();
  return percentile(times.beside, 0.99) / percentile(times.alone, 0.99);
}

async function runBurst(url: string): Promise<number[]> {
  const times: number[] = [];
  let left = REQUESTS_PER_BURST;
  const run = async () => {
    while (left-- > 0) {
      const startedAt = performance.now();
      await send(url);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, run));
  return times;
}

async function send(url: string): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  await (await fetch(url, { method: "POST", headers, body: BODY })).bytes();
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? NaN;
}
