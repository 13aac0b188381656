// The totals equal the tokens that the provider sent, over many concurrent mixed requests with failover, cut streams, clients
// that disconnect, and errors. GATEHOUSE_USAGE_REQUESTS sets the number of requests.
import { beforeEach, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { estimateRequestTokens, estimateTokens } from "../../src/formats/token-estimate.ts";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const REQUESTS = Number(process.env["GATEHOUSE_USAGE_REQUESTS"] ?? 120);
const CONCURRENCY = 24;
/** The third event of a stream of messages has no text; those of a chat have two words of it. */
const CUT_AFTER = 3;
const CUT_TEXT = "a few";
const LIMIT_MS = 60_000 + REQUESTS * 20;
const PRICES = [
  { model: "gpt-a", input_per_million: 1, output_per_million: 2 },
  { model: "gpt-b*", input_per_million: 0.25, output_per_million: 40 },
];

const [gatehouse, one, two] = await Promise.all([
  useGatehouse(),
  useFakeProvider({ name: "one", maxRecords: 10 }),
  useFakeProvider({ name: "two", maxRecords: 10 }),
]);
// The first provider fails if the request says so; the second never fails.
beforeEach(() =>
  one.behave((request) => (request.header("x-one-fails") === undefined ? {} : { status: 503 })),
);
const targets = (fields: object) => [targetAt(one, { ...fields }), targetAt(two, { ...fields, priority: 2 })];
const anthropic = { provider: "anthropic" };
const seedPath = (
  path: string,
  fields: object,
  rule: object = {},
  gateway: string | Record<string, unknown> = {},
) =>
  seedRoute(gatehouse, {
    gateway,
    upstream: { targets: targets(fields) },
    rule: { path, ...rule },
  });
const { gateway } = await seedPath("/chat", {});
await seedPath("/messages", anthropic, {}, gateway);
await seedPath("/translated", anthropic, { response_format: "openai" }, gateway);
const keys = [
  await seedKey(gatehouse, gateway, { name: "first" }),
  await seedKey(gatehouse, gateway, { name: "second" }),
];
await gatehouse.api("PUT", "/prices", { prices: PRICES });

/** A generator with the same numbers in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Plan {
  readonly path: "/chat" | "/messages" | "/translated";
  readonly model: string;
  readonly keyIndex: number;
  readonly input: number;
  readonly output: number;
  readonly ending: "whole" | "cut" | "disconnected" | "error";
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  readonly failsOver: boolean;
  readonly encoding: "gzip" | "br" | null;
}

function planRequest(random: (below: number) => number): Plan {
  const isStream = random(3) > 0;
  const ending = (["whole", "whole", "whole", "cut", "disconnected", "error"] as const)[random(6)] ?? "whole";
  return {
    path: (["/chat", "/messages", "/translated"] as const)[random(3)] ?? "/chat",
    model: ["gpt-a", "gpt-b-1", "gpt-b-2", "unpriced"][random(4)] ?? "",
    keyIndex: random(3),
    input: random(5000),
    output: 1 + random(5000),
    ending: isStream || ending === "error" ? ending : "whole",
    isStream,
    includesUsage: random(3) === 0,
    failsOver: random(8) === 0,
    encoding: ending === "whole" ? (([null, null, "gzip", "br"] as const)[random(4)] ?? null) : null,
  };
}

function behaviorOf({ input, output, ending, encoding }: Plan): Behavior {
  return {
    usage: { input, output },
    text: "a few words of a response",
    ...(encoding !== null && { encoding }),
    ...(ending === "cut" && { cutAfterChunks: CUT_AFTER, chunkDelayMs: 1 }),
    ...(ending === "disconnected" && { stallAfterChunks: CUT_AFTER }),
    ...(ending === "error" && { status: 400 }),
  };
}

function bodyOf({ includesUsage, model, isStream }: Plan): JsonObject {
  const options = includesUsage ? { stream_options: { include_usage: true } } : {};
  return { ...CHAT, model, max_tokens: 100, ...(isStream && { stream: true, ...options }) };
}

/** Sends the request as a client would. Resolves to the status. */
async function sendPlanned(plan: Plan): Promise<number> {
  const abort = new AbortController();
  const response = await fetch(gatehouse.proxyUrl + plan.path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "x-fake": JSON.stringify(behaviorOf(plan)),
      "Accept-Encoding": plan.encoding ?? "identity",
      ...(keys[plan.keyIndex] !== undefined && { "X-GW-API-Key": keys[plan.keyIndex]?.key ?? "" }),
      ...(plan.failsOver && { "x-one-fails": "yes" }),
    },
    body: JSON.stringify(bodyOf(plan)),
    signal: abort.signal,
  });
  if (plan.ending === "disconnected" && response.status === 200) {
    await readEvents(response, plan.path === "/chat" ? CUT_AFTER : 1);
    abort.abort();
    return response.status;
  }
  const ended = await response.text().then(
    (text) => {
      if (response.status === 200) expectEnd(plan, text);
      return "whole";
    },
    () => "cut",
  );
  if (response.status === 200) expect(ended).toBe(plan.ending);
  return response.status;
}

/** Reads until this many events have arrived: then the gateway has relayed them. */
async function readEvents(response: Response, count: number): Promise<void> {
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk);
    if (text.split("\n\n").length > count) return;
  }
}

/** The client sees the usage of a chat stream only if it requested usage. */
function expectEnd({ path, isStream, includesUsage }: Plan, text: string): void {
  if (isStream && path !== "/messages") expect(text.includes('"prompt_tokens"')).toBe(includesUsage);
}

/** The tokens that the provider had reported when the response ended, with an estimate of what was not reported. */
function tokensReported(plan: Plan, status: number): { input: number; output: number; partial: number } {
  const { path, ending, input, output } = plan;
  if (ending === "whole") return { input, output, partial: 0 };
  // A message stream starts with its input tokens and one output token; a chat stream reports nothing before its end.
  if (path !== "/chat" && input > 0) return { input, output: 1, partial: 1 };
  // The stream was cut before its first content, so that nothing was relayed.
  if (status !== 200) return { input: estimateRequestTokens(bodyOf(plan)), output: 0, partial: 1 };
  const relayed = path === "/chat" ? estimateTokens(CUT_TEXT) : 1;
  return { input: estimateRequestTokens(bodyOf(plan)), output: relayed, partial: 1 };
}

test(
  `the totals of ${REQUESTS} mixed requests are right to the token`,
  async () => {
    const random = createRandom(20_261_115);
    const plans = Array.from({ length: REQUESTS }, () => planRequest(random));
    const expected = new Map<string, { requests: number; partial: number; input: number; output: number }>();
    const statuses = new Map<number, number>();
    const waiting = [...plans];
    let counted = 0;
    const work = async () => {
      for (let plan = waiting.pop(); plan !== undefined; plan = waiting.pop()) {
        const status = await sendPlanned(plan);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 200 && plan.ending !== "cut") continue;
        counted++;
        const row = `${keys[plan.keyIndex]?.id ?? "none"} ${plan.model}`;
        const sum = expected.get(row) ?? { requests: 0, partial: 0, input: 0, output: 0 };
        const reported = tokensReported(plan, status);
        expected.set(row, {
          requests: sum.requests + 1,
          partial: sum.partial + reported.partial,
          input: sum.input + reported.input,
          output: sum.output + reported.output,
        });
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));

    expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 2);
    const body = await waitFor(async () => {
      const report = await gatehouse.api("GET", `/gateways/${gateway}/usage?group_by=api_key,model`);
      return report.body.total.requests >= counted ? report.body : null;
    });
    const totals = new Map<string, unknown>();
    let cost = 0;
    for (const { api_key_id, model, requests, partial_requests, input_tokens, output_tokens } of body.usage) {
      const row = `${api_key_id ?? "none"} ${model}`;
      const partial: number = partial_requests;
      const input: number = input_tokens;
      const output: number = output_tokens;
      const price = PRICES.find((each) => model.startsWith(each.model.replace("*", "")));
      if (price !== undefined)
        cost += (input * price.input_per_million + output * price.output_per_million) / 1e6;
      totals.set(row, { requests, partial, input, output });
    }
    expect(totals).toEqual(expected);
    expect(body.total.cost).toBeCloseTo(cost, 6);
    if (process.env["GATEHOUSE_USAGE_REQUESTS"] !== undefined)
      process.stdout.write(
        `${JSON.stringify({ statuses: Object.fromEntries(statuses), total: body.total })}\n`,
      );
  },
  LIMIT_MS,
);
