// The mixed traffic of a soak run: everything that an ordinary day brings, good and bad, at a steady rate.
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import { limiter, pluginsDirectory, type Fields } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

/** Collects garbage and tells the heap when it is asked to; otherwise does a little at every stage. */
export const PLUGIN_DIRECTORY = pluginsDirectory({
  "soak.ts": `
    import { heapStats } from "bun:jsc";
    import { definePlugin, z } from "gatehouse/sdk";
    export default definePlugin({
      name: "soak",
      description: "Takes part in every stage.",
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
  /** Answers by name of the scenario and what came of it. */
  readonly outcomes: Map<string, number>;
  /** Every answer of 500 and above: the providers here give none, so it is the gateway's own. */
  readonly serverErrors: string[];
}

type Scenario = () => Promise<string>;

/** Where the first chunk and the break arrive together nothing went to the client, and 502 is the truth. */
const PROVIDERS_FAULT = "provider";
const CUT = { chunks: 40, cutAfterChunks: 20, chunkDelayMs: 5 };

interface MixedLoad {
  readonly tally: Tally;
  /** Lets what is under way finish and starts nothing more, until resumed. */
  pause(): Promise<void>;
  resume(): void;
  /** Requests a second from now on. */
  setRate(perSecond: number): void;
  /** Collects garbage in the gateway; the size of its heap afterwards. */
  collect(): Promise<number>;
  stop(): Promise<void>;
}

export async function startMixedLoad(gatehouse: GatehouseProcess, rate: number): Promise<MixedLoad> {
  const steady = await startFakeProvider({ name: "steady", record: false });
  const moody = await startFakeProvider({ name: "moody", record: false });
  let moods = 0;
  // One in ten breaks off before its answer, which another target then gives.
  moody.behave(() => (++moods % 10 === 0 ? { closeBeforeAnswer: true } : {}));
  const scenarios = await prepare(gatehouse, steady, moody);
  const tally: Tally = { outcomes: new Map(), serverErrors: [] };
  const underWay = new Set<Promise<void>>();

  const run = async ([name, scenario]: readonly [string, Scenario]): Promise<void> => {
    const outcome = await scenario().catch((error: unknown) => `fault: ${String(error)}`);
    const key = `${name}: ${outcome}`;
    tally.outcomes.set(key, (tally.outcomes.get(key) ?? 0) + 1);
    if (/^5\d\d/.test(outcome) && !name.startsWith(PROVIDERS_FAULT)) tally.serverErrors.push(key);
  };
  let perSecond = rate;
  let isPaused = false;
  let turn = 0;
  let owed = 0;
  let lastAt = performance.now();
  // As many as are due, and no more than a busy machine can carry.
  const ticking = setInterval(() => {
    const now = performance.now();
    owed = Math.min(owed + ((now - lastAt) / 1000) * perSecond, perSecond);
    lastAt = now;
    if (isPaused) return;
    for (; owed >= 1 && underWay.size < 200; owed--) {
      const started = run(scenarios[turn++ % scenarios.length]!);
      underWay.add(started);
      void started.then(() => underWay.delete(started));
    }
  }, 20);

  return {
    tally,
    async pause() {
      isPaused = true;
      await Promise.all(underWay);
    },
    resume() {
      isPaused = false;
      owed = 0;
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
      await Promise.all(underWay);
      await Promise.all([steady.stop(), moody.stop()]);
    },
  };
}

async function prepare(
  gatehouse: GatehouseProcess,
  steady: FakeProvider,
  moody: FakeProvider,
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
  const failover = await seed("failover", [], [targetAt(moody), targetAt(steady, { priority: 2 })]);
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
    ["big answer", () => post(plain.url, CHAT, {}, { bigStream: { bytes: 2_000_000, chunkBytes: 16_384 } })],
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
    ["client leaves before the answer", () => leave(plain.url, 5, { delayMs: 60_000 })],
    ["client leaves in a stream", () => leave(plain.url, 30, { chunks: 1000, chunkDelayMs: 5 })],
    ["client leaves a translated stream", () => leave(translated.url, 30, { chunks: 1000, chunkDelayMs: 5 })],
    [`${PROVIDERS_FAULT} cuts a stream`, () => post(plain.url, STREAM, {}, CUT)],
    [`${PROVIDERS_FAULT} resets a stream`, () => post(plugin.url, STREAM, {}, { ...CUT, reset: true })],
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

/** The status, and whether the answer came to its end. */
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
    return `${response.status}, broken off`;
  }
}

async function leave(url: string, afterMs: number, fake: object): Promise<string> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), afterMs);
  try {
    return await post(url, STREAM, {}, fake, abort.signal);
  } catch {
    return "left";
  } finally {
    clearTimeout(timer);
  }
}
