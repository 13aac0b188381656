// The traffic of a soak run at a steady rate: successful requests of all kinds, errors, disconnects, and cut streams.
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import { limiter, pluginsDirectory, type Fields } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

/** A plugin that uses every stage. On request, it collects garbage and returns the heap size. */
export const PLUGIN_DIRECTORY = pluginsDirectory({
  "soak.ts": `
    import { heapStats } from "bun:jsc";
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "soak",
      description: "Uses every stage.",
      stages: ["pre_request", "post_request", "pre_response", "post_response"],
      settings: z.strictObject({}),
      create: () => ({
        pre_request(context) {
          if (context.headers.get("x-soak-collect") !== null) {
            Bun.gc(true);
            context.respond({ status: 200, body: { heap: heapStats().heapSize } });
            return;
          }
          context.notes.set("at", performance.now());
          context.setHeader("x-soak", context.requestId);
        },
        post_request: (context) => context.setHeader("x-soak-status", String(context.status)),
        pre_response: (context) => context.replaceChunk(context.chunk),
        post_response: (context) => void (context.usage, context.durationMs),
      }),
    });`,
});

interface Tally {
  /** Number of requests by scenario and outcome. */
  readonly outcomes: Map<string, number>;
  /** Responses with status 500 and above. The providers send none, so they come from the gateway. */
  readonly serverErrors: string[];
}

type Scenario = () => Promise<string>;

/** Prefix of scenarios in which a provider fails. If the cut arrives with the first chunk, 502 is the right response. */
const PROVIDER_FAILS = "provider";
const CUT = { chunks: 40, cutAfterChunks: 20, chunkDelayMs: 5 };

interface MixedLoad {
  readonly tally: Tally;
  /** Waits for running requests and starts no new ones until `resume`. */
  pause(): Promise<void>;
  resume(): void;
  /** Sets the number of requests per second. */
  setRate(perSecond: number): void;
  /** Collects garbage in the gateway. Resolves to the size of its heap. */
  collect(): Promise<number>;
  stop(): Promise<void>;
}

export async function startMixedLoad(gatehouse: GatehouseProcess, rate: number): Promise<MixedLoad> {
  const steady = await startFakeProvider({ name: "steady", record: false });
  const flaky = await startFakeProvider({ name: "flaky", record: false });
  let flakyRequests = 0;
  // Every tenth request is closed without a response, and another target serves it.
  flaky.behave(() => (++flakyRequests % 10 === 0 ? { closeBeforeAnswer: true } : {}));
  const scenarios = await prepare(gatehouse, steady, flaky);
  const tally: Tally = { outcomes: new Map(), serverErrors: [] };
  const running = new Set<Promise<void>>();

  const run = async ([name, scenario]: readonly [string, Scenario]): Promise<void> => {
    const outcome = await scenario().catch((error: unknown) => `error: ${String(error)}`);
    const key = `${name}: ${outcome}`;
    tally.outcomes.set(key, (tally.outcomes.get(key) ?? 0) + 1);
    if (/^5\d\d/.test(outcome) && !name.startsWith(PROVIDER_FAILS)) tally.serverErrors.push(key);
  };
  let perSecond = rate;
  let isPaused = false;
  let turn = 0;
  let due = 0;
  let lastAt = performance.now();
  // Starts the requests that are due, with at most 200 in flight, for a busy machine.
  const ticking = setInterval(() => {
    const now = performance.now();
    due = Math.min(due + ((now - lastAt) / 1000) * perSecond, perSecond);
    lastAt = now;
    if (isPaused) return;
    for (; due >= 1 && running.size < 200; due--) {
      const started = run(scenarios[turn++ % scenarios.length]!);
      running.add(started);
      void started.then(() => running.delete(started));
    }
  }, 20);

  return {
    tally,
    async pause() {
      isPaused = true;
      await Promise.all(running);
    },
    resume() {
      isPaused = false;
      due = 0;
    },
    setRate(wanted) {
      perSecond = wanted;
    },
    async collect() {
      const response = await fetch(`${gatehouse.proxyUrl}/soak/plugin`, {
        method: "POST",
        headers: { "x-soak-collect": "1", "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      });
      return ((await response.json()) as { heap: number }).heap;
    },
    async stop() {
      clearInterval(ticking);
      await Promise.all(running);
      await Promise.all([steady.stop(), flaky.stop()]);
    },
  };
}

async function prepare(
  gatehouse: GatehouseProcess,
  steady: FakeProvider,
  flaky: FakeProvider,
): Promise<(readonly [string, Scenario])[]> {
  const seed = async (name: string, plugins: Fields[], targets: Fields[], rule: Fields = {}) => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: plugins },
      upstream: { targets },
      rule: { path: `/soak/${name}`, ...rule },
    });
    return { ...route, url: gatehouse.proxyUrl + route.path };
  };
  const plain = await seed("plain", [], [targetAt(steady)]);
  const failover = await seed("failover", [], [targetAt(flaky), targetAt(steady, { priority: 2 })]);
  const limited = await seed(
    "limited",
    [limiter({ per_user: [5, "10s"], global: [50, "1s"] })],
    [targetAt(steady)],
  );
  const clean = await seed("clean", [sanitation("block")], [targetAt(steady)]);
  const masked = await seed("masked", [sanitation("sanitize")], [targetAt(steady)]);
  const plugin = await seed(
    "plugin",
    STAGES.map((stage) => ({ name: "soak", stage })),
    [targetAt(steady)],
  );
  const anthropic = targetAt(steady, { provider: "anthropic", default_model: "claude-fake" });
  const translated = await seed("translated", [], [anthropic], { response_format: "openai" });
  const guarded = await seed("guarded", [], [targetAt(steady)], { require_api_key: true });
  const { key } = await seedKey(gatehouse, guarded.gateway);
  const at = `/gateways/${plain.gateway}/upstreams/${plain.upstream}`;
  const injected = { ...CHAT, messages: [{ role: "user", content: "'; DROP TABLE users; --" }] };
  const long = { ...CHAT, messages: [{ role: "user", content: "a long prompt ".repeat(20_000) }] };
  let serial = 0;

  return [
    ["json", () => post(plain.url, CHAT)],
    ["stream", () => post(plain.url, STREAM)],
    ["json again", () => post(plain.url, CHAT)],
    ["big request", () => post(plain.url, long)],
    [
      "big response",
      () => post(plain.url, CHAT, {}, { bigStream: { bytes: 2_000_000, chunkBytes: 16_384 } }),
    ],
    ["failover", () => post(failover.url, serial++ % 2 === 0 ? CHAT : STREAM)],
    ["limited", () => post(limited.url, CHAT, { "X-User-ID": `user ${serial++ % 500}` })],
    ["limited, one user", () => post(limited.url, CHAT, { "X-User-ID": "the same" })],
    ["clean", () => post(clean.url, CHAT)],
    ["blocked", () => post(clean.url, injected)],
    ["masked", () => post(masked.url, injected)],
    ["custom plugin", () => post(plugin.url, CHAT)],
    ["custom plugin on a stream", () => post(plugin.url, STREAM)],
    ["translated", () => post(translated.url, CHAT)],
    ["translated stream", () => post(translated.url, STREAM)],
    ["key", () => post(guarded.url, CHAT, { "X-GW-API-Key": key })],
    ["wrong key", () => post(guarded.url, CHAT, { "X-GW-API-Key": `gw_${"A".repeat(43)}` })],
    ["no rule", () => post(`${gatehouse.proxyUrl}/soak/nothing`, CHAT)],
    ["bad JSON", () => post(plain.url, "{")],
    ["client disconnects before the response", () => disconnectAfter(plain.url, 5, { delayMs: 60_000 })],
    [
      "client disconnects in a stream",
      () => disconnectAfter(plain.url, 30, { chunks: 1000, chunkDelayMs: 5 }),
    ],
    [
      "client disconnects in a translated stream",
      () => disconnectAfter(translated.url, 30, { chunks: 1000, chunkDelayMs: 5 }),
    ],
    [`${PROVIDER_FAILS} cuts a stream`, () => post(plain.url, STREAM, {}, CUT)],
    [`${PROVIDER_FAILS} resets a stream`, () => post(plugin.url, STREAM, {}, { ...CUT, reset: true })],
    [
      "configuration changes",
      async () => String((await gatehouse.api("PATCH", at, { name: `models ${serial++}` })).status),
    ],
  ];
}

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"];
const STREAM = { ...CHAT, stream: true };

function sanitation(action: "block" | "sanitize"): Fields {
  const languages = ["javascript", "sql", "shell", "html"].map((language) => ({ language, enabled: true }));
  return {
    name: "code_sanitation",
    stage: "pre_request",
    settings: { languages, content_to_check: ["body", "path_and_query"], action },
  };
}

/** Sends a request. Resolves to the status, and to whether the response was cut. */
async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  fake: object | null = null,
  signal?: AbortSignal,
): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(fake !== null && { "x-fake": JSON.stringify(fake) }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  });
  try {
    await response.arrayBuffer();
    return String(response.status);
  } catch {
    return `${response.status}, cut`;
  }
}

/** Sends a streaming request and disconnects after this time. */
async function disconnectAfter(url: string, afterMs: number, fake: object): Promise<string> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), afterMs);
  try {
    return await post(url, STREAM, {}, fake, abort.signal);
  } catch {
    return "disconnected";
  } finally {
    clearTimeout(timer);
  }
}
