// `npm run bench isolation`: the time of a hook in a worker thread and in a process.
import { systemClock } from "../src/base/clock.ts";
import { PluginRegistry } from "../src/plugins/registry.ts";
import { Isolation } from "../src/runtime/isolation/isolation.ts";
import { definePlugin, z, type PluginHost, type RequestContext } from "../src/sdk/index.ts";
import { createLog } from "../src/telemetry/log/log.ts";
import { printTable, quantile } from "./report.ts";

const CALLS = 10_000;

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
      rows.push({ what: `${isolation}, p${share * 100}`, value: quantile(times, share), unit: "µs" });
  }
  printTable("One call of a pre_request hook that reads the body and sets a header", rows);
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
  isolating.order(order);
  await isolating.start();
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
