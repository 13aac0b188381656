// `npm run bench neighbors`: the time of requests of one gateway while an isolated plugin of another one misbehaves, in alternating bursts
// with and without it. The process of the gateway and its plugins share one core; the load and the provider have the other ones.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider } from "../src/fake-provider/server.ts";
import { reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable, quantile, type Measurement } from "./report.ts";

const PAIRS = 4;
/** Bursts of less than the 5 seconds after which a hook that loops or waits is ended. */
const LOADS = {
  low: { requests: 800, concurrency: 4 },
  high: { requests: 7000, concurrency: 60 },
} as const;
type Load = keyof typeof LOADS;
/** Of the provider. */
const DELAY_MS = 20;
/** Between the requests of the client whose plugin misbehaves. */
const PAUSE_MS = 50;
const LIMIT = 1.1;

type Isolation = "worker" | "process";

/** What the hook does to a request with the header X-Misbehave. */
const MISBEHAVIORS = {
  loop: "while (true) {}",
  exit: "process.exit(0)",
  throw: 'setTimeout(() => { throw new Error("thrown by a timer"); }); return new Promise(() => {});',
  wait: "return new Promise((resolve) => setTimeout(resolve, 10_000));",
  allocate: "const kept = []; for (let n = 0; n < 4096; n++) kept.push(new Uint8Array(1048576).fill(n));",
} as const;
type Misbehavior = keyof typeof MISBEHAVIORS;

const BODY = JSON.stringify({
  model: "gpt-fake",
  messages: [{ role: "user", content: "Summarize the following text in two sentences. ".repeat(20) }],
});

const sourceOf = (name: string, code: string) => `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "${name}", description: "", stages: ["pre_request"], settings: z.strictObject({}),
    create: () => ({ pre_request(context) { if (context.headers.has("x-misbehave")) { ${code} } } }),
  });`;

export async function benchNeighbors(isolations: readonly Isolation[]): Promise<void> {
  reserveGatewayCore();
  const rows: Measurement[] = [];
  for (const isolation of isolations)
    for (const what of misbehaviorsIn(isolation)) {
      rows.push(...(await measure(isolation, what, "low")));
      // Only a plugin that loops competes for the core all the time.
      if (what === "loop") rows.push(...(await measure(isolation, what, "high")));
    }
  printTable(
    "Time of other requests beside an isolated plugin that misbehaves, divided by that without it",
    rows,
  );
}

/** The memory of a worker thread is not limited. */
function misbehaviorsIn(isolation: Isolation): Misbehavior[] {
  const all = Object.keys(MISBEHAVIORS) as Misbehavior[];
  return isolation === "process" ? all : all.filter((what) => what !== "allocate");
}

async function measure(isolation: Isolation, what: Misbehavior, load: Load): Promise<Measurement[]> {
  const provider = await startFakeProvider({ record: false });
  provider.behave({ delayMs: DELAY_MS });
  const plugins = join(temporaryFolder(), "plugins");
  mkdirSync(plugins, { recursive: true });
  writeFileSync(join(plugins, `${what}.ts`), sourceOf(what, MISBEHAVIORS[what]));
  const gatehouse = await startGatehouse({
    dataDir: temporaryFolder(),
    env: { PLUGINS_DIR: plugins },
  });
  const targets = [targetAt(provider.url)];
  await createRoute(gatehouse, { targets, path: "/other", gateway: { name: "other" } });
  const other = `${gatehouse.proxyUrl}/other`;
  await runBurst(other, load);
  const times = { alone: [] as number[], beside: [] as number[] };
  for (let pair = 0; pair < PAIRS; pair++) {
    // A new gateway, because restarts are delayed more with each crash of a plugin.
    const path = `/misbehaving-${pair}`;
    const required_plugins = [{ name: what, stage: "pre_request", settings: {}, isolation }];
    await createRoute(gatehouse, { targets, path, gateway: { name: path, required_plugins } });
    times.alone.push(...(await runBurst(other, load)));
    const misbehaving = misbehave(gatehouse.proxyUrl + path);
    times.beside.push(...(await runBurst(other, load)));
    await misbehaving.stop();
  }
  await gatehouse.stop();
  await provider.stop();
  const ratio = (share: number) => quantile(times.beside, share) / quantile(times.alone, share);
  const note = `${quantile(times.alone, 0.99).toFixed(1)} ms alone`;
  return [
    { what: `${isolation}, ${what}, ${load} load, p50`, value: ratio(0.5), unit: "×" },
    { what: `${isolation}, ${what}, ${load} load, p99`, value: ratio(0.99), unit: "×", atMost: LIMIT, note },
  ];
}

/** Sends requests to the plugin that misbehaves, until it is stopped and the plugin is restarted. */
function misbehave(url: string): { stop(): Promise<void> } {
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      await send(url, { "x-misbehave": "1" });
      await Bun.sleep(PAUSE_MS);
    }
    while ((await send(url)) !== 200) await Bun.sleep(PAUSE_MS);
  };
  const running = run();
  return {
    stop: () => {
      isStopped = true;
      return running;
    },
  };
}

async function runBurst(url: string, load: Load): Promise<number[]> {
  const times: number[] = [];
  let left: number = LOADS[load].requests;
  const run = async () => {
    while (left-- > 0) {
      const startedAt = performance.now();
      await send(url);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: LOADS[load].concurrency }, run));
  return times;
}

async function send(url: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: BODY,
  });
  await response.bytes();
  return response.status;
}
