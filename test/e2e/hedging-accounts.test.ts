// What hedged requests cost: reservations, budgets, and usage of the attempt that is not used, whatever happens to both attempts.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { CHAT_REQUEST, seedUpstream, targetOf } from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { runs } from "../support/long-form.ts";
import { passTimeUntil, waitFor, waitUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

const targets = [targetOf(one), targetOf(two, { priority: 2 })];
const route = await seedUpstream(gatehouse, targets, { hedge: { after: 300, budget: 1 } });
const gateway = route.upstream.split("/upstreams")[0] ?? "";
await gatehouse.api("PATCH", gateway, { prices: [{ model: "gpt-fake", per_request: "0.01" }] });

async function createBudget(name: string, amount: string): Promise<string> {
  const fields = { name, unit: "usd", amount, period: "total", scope: "gateway" };
  const { body } = await gatehouse.api("POST", `${gateway}/budgets`, fields);
  return `${gateway}/budgets/${body.id}`;
}

async function send(signal: AbortSignal | null = null) {
  const sent = fetch(route.url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(CHAT_REQUEST),
    signal,
  });
  const response = await passTimeUntil(clock, sent);
  const endedAt = performance.now();
  await response.arrayBuffer();
  return { status: response.status, hedged: response.headers.get("x-gw-hedged"), endedAt };
}

const stateOf = async (budget: string) => (await gatehouse.api("GET", `${budget}/state`)).body;

test("budget and usage have one amount for each call of a provider, and no reservation stays open", async () => {
  const budget = await createBudget("all", "100");
  one.behave({ delayMs: 60_000 });
  for (let count = 0; count < 3; count++) expect(await send()).toMatchObject({ hedged: "won" });
  one.behave({ delayMs: 600 });
  two.behave({ delayMs: 60_000 });
  expect(await send()).toMatchObject({ hedged: "lost" });
  one.behave({ delayMs: 60_000 });
  const controller = new AbortController();
  const calls = two.requestCount;
  const left = send(controller.signal).catch(() => null);
  await two.until(() => two.requestCount > calls);
  controller.abort();
  await left;
  const spent = (one.requestCount + two.requestCount) * 0.01;
  const state = await waitFor(async () => {
    const read = await stateOf(budget);
    return Number(read.spent) > spent - 0.001 && Number(read.reserved) === 0 ? read : null;
  });
  expect(Number(state.spent)).toBeCloseTo(spent, 6);
  clock.advance(1000);
  const { body } = await gatehouse.api("GET", `${gateway}/usage?group_by=purpose`);
  expect(body.usage).toMatchObject([
    { purpose: "hedge", requests: 5 },
    { purpose: "request", requests: 5 },
  ]);
  expect(body.total.cost).toBeCloseTo(spent, 6);
  await gatehouse.api("DELETE", budget);
});

test("a request whose second attempt does not fit into a budget is not hedged", async () => {
  const budget = await createBudget("one", "0.01");
  one.behave({ delayMs: 1000 });
  expect(await send()).toMatchObject({ status: 200, hedged: null });
  expect(two.requestCount).toBe(0);
  expect(Number((await stateOf(budget)).spent)).toBe(0.01);
  await gatehouse.api("DELETE", budget);
});

test("an attempt with an error response costs nothing, although another one serves the request", async () => {
  const budget = await createBudget("errors", "100");
  one.behave({ delayMs: 400, status: 503 });
  two.behave({ delayMs: 600 });
  expect(await send()).toMatchObject({ status: 200, hedged: "won" });
  await waitUntil(async () => Number((await stateOf(budget)).reserved) === 0);
  expect(Number((await stateOf(budget)).spent)).toBe(0.01);
  await gatehouse.api("DELETE", budget);
});

const EVENT_STREAM: Behavior["headers"] = [["Content-Type", "text/event-stream"]];
const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

/** Requests, input, and output. */
async function usageByPurpose(): Promise<Record<string, number[]>> {
  const { body } = await gatehouse.api("GET", `${gateway}/usage?group_by=purpose`);
  const rows = body.usage as {
    purpose: string;
    requests: number;
    input_tokens: number;
    output_tokens: number;
  }[];
  return Object.fromEntries(
    rows.map((row) => [row.purpose, [row.requests, row.input_tokens, row.output_tokens]]),
  );
}

test("tokens of the attempt that has lost: those that it reported, else the estimated input", async () => {
  const target = { format: "anthropic", path: "/v1/messages" };
  const tokens = await seedUpstream(
    gatehouse,
    [targetOf(one, target), targetOf(two, { ...target, priority: 2 })],
    { hedge: { after: 300, budget: 1 } },
  );
  const model = "claude-hedged";
  await gatehouse.api("PATCH", gateway, { prices: [{ model, input: "1", output: "10" }] });
  const fields = { period: "total", scope: "gateway" };
  const create = async (body: object) =>
    `${gateway}/budgets/${(await gatehouse.api("POST", `${gateway}/budgets`, { ...fields, ...body })).body.id}`;
  const usd = await create({ name: "usd", unit: "usd", amount: "10" });
  const counted = await create({ name: "counted", unit: "tokens", amount: 1_000_000 });
  const start = (input: number) =>
    event({
      type: "message_start",
      message: { id: "m", role: "assistant", content: [], usage: { input_tokens: input, output_tokens: 1 } },
    });
  two.behave({
    headers: EVENT_STREAM,
    body: [
      start(100),
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } }),
      event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 20 } }),
      event({ type: "message_stop" }),
    ],
  });
  const ask = async () => {
    const body = { model, max_tokens: 50, stream: true, messages: CHAT_REQUEST.messages };
    const sent = fetch(tokens.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const response = await passTimeUntil(clock, sent);
    expect(response.headers.get("x-gw-hedged")).toBe("won");
    await response.text();
    const requestId = response.headers.get("x-request-id") ?? "";
    return waitFor(async () => {
      const { body: found } = await gatehouse.api("GET", `${gateway}/requests?request_id=${requestId}`);
      return found.requests[0] ?? null;
    });
  };
  const before = await usageByPurpose();
  // 1 dollar per million tokens of input, 10 of output.
  one.behave({ headers: EVENT_STREAM, body: [start(1000)], stallAfterChunks: 1 });
  const reported = await ask();
  expect(reported.cost).toBeCloseTo(100e-6 + 200e-6, 12);
  expect(reported.hedge.cost).toBeCloseTo(1000e-6 + 10e-6, 12);
  one.behave({ delayMs: 60_000 });
  const { hedge } = await ask();
  const estimated = Math.round(hedge.cost * 1e6);
  expect(estimated).toBeWithin(1, 50);
  const settled = async (budget: string) =>
    waitFor(async () => {
      const read = await stateOf(budget);
      return Number(read.reserved) === 0 ? Number(read.spent) : null;
    });
  expect(await settled(usd)).toBeCloseTo(2 * 300e-6 + 1010e-6 + estimated * 1e-6, 9);
  expect(await settled(counted)).toBe(2 * 120 + 1001 + estimated);
  clock.advance(1000);
  const after = await usageByPurpose();
  const added = Object.entries(after).map(([purpose, sums]) => [
    purpose,
    sums.map((sum, at) => sum - (before[purpose]?.[at] ?? 0)),
  ]);
  expect(Object.fromEntries(added)).toEqual({ hedge: [2, 1000 + estimated, 1], request: [2, 200, 40] });
  await gatehouse.api("DELETE", usd);
  await gatehouse.api("DELETE", counted);
  await gatehouse.api("PATCH", gateway, { prices: [{ model: "gpt-fake", per_request: "0.01" }] });
});

const choice = (delta: object) => event({ choices: [{ index: 0, delta, finish_reason: null }] });
const QUIET = choice({ role: "assistant", content: "" });
const CONTENT = [choice({ content: "text" }), "data: [DONE]\n\n"];
const ERROR = event({ error: { message: "overloaded", type: "server_error" } });
const stream = (delayMs: number, body: string[], more: Behavior = {}): Behavior => ({
  delayMs,
  headers: EVENT_STREAM,
  body,
  chunkDelayMs: 40,
  ...more,
});
const behaviorArb: fc.Arbitrary<Behavior> = fc
  .tuple(fc.constantFrom(0, 100, 280, 330, 500, 60_000), fc.nat(9))
  .map(([delayMs, kind]) => {
    if (kind === 0) return { delayMs, status: 400 };
    if (kind === 1) return { delayMs, status: 503 };
    if (kind === 2) return { delayMs, closeBeforeAnswer: true };
    if (kind === 3) return stream(delayMs, [QUIET, ERROR]);
    if (kind === 4) return stream(delayMs, [QUIET, ": ping\n\n"]);
    if (kind === 5) return stream(delayMs, [QUIET, ": ping\n\n", ...CONTENT], { cutAfterChunks: 2 });
    if (kind === 6) return stream(delayMs, [QUIET, ...CONTENT], { stallAfterChunks: 1 });
    if (kind === 7) return stream(delayMs, [QUIET, ": ping\n\n", ...CONTENT], { stallAfterChunks: 3 });
    return stream(delayMs, [QUIET, ...CONTENT]);
  });

/** Failures after which the provider may have run the model. */
const CHARGED = [
  "broken",
  "client_left",
  "error_event",
  "first_byte_timeout",
  "first_content_timeout",
  "empty_stream",
  "cut",
  "hedge_lost",
  "idle_timeout",
  "invalid",
];

interface RecordedAttempt {
  readonly status: number | null;
  readonly fault: string | null;
  readonly ms: number;
}

const isCharged = ({ status, fault }: RecordedAttempt) =>
  fault === null ? status === 200 : CHARGED.includes(fault) && (status === null || status < 400);

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, "gm"))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

test("property: whatever both attempts and the client do, nothing stays reserved, and what ran is charged once", async () => {
  const timeouts = { first_content: 2500, idle: 1500, first_byte: 2500 };
  await gatehouse.api("PATCH", route.upstream, { timeouts });
  const budget = await createBudget("phases", "1000");
  const spentCents = async () => Math.round(Number((await stateOf(budget)).spent) * 100);
  const leaveArb = fc.option(fc.constantFrom(20, 150, 290, 310, 350, 450, 700, 2000), { freq: 2 });
  await fc.assert(
    fc.asyncProperty(behaviorArb, behaviorArb, leaveArb, async (first, second, leaveAfter) => {
      one.behave(first);
      two.behave(second);
      const [calls, spent] = [one.requestCount + two.requestCount, await spentCents()];
      const requestId = crypto.randomUUID();
      const leaving = new AbortController();
      let isSettled = false;
      const sent = fetch(route.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Request-Id": requestId },
        body: JSON.stringify({ ...CHAT_REQUEST, stream: true }),
        signal: leaving.signal,
      })
        .then((response) => response.text())
        .catch(() => null)
        .finally(() => (isSettled = true));
      // A client that leaves before the gateway has its request leaves no record.
      await waitUntil(async () => isSettled || (await metric("gatehouse_requests_in_flight")) > 0);
      const timer = leaveAfter === null ? null : clock.setTimeout(() => leaving.abort(), leaveAfter);
      await passTimeUntil(clock, sent);
      timer?.close();
      const record = await passTimeUntil(
        clock,
        waitFor(async () => {
          const { body } = await gatehouse.api("GET", `${gateway}/requests?request_id=${requestId}`);
          return body.requests[0] ?? null;
        }),
      );
      const attempts = record.attempts as RecordedAttempt[];
      await waitUntil(async () => Number((await stateOf(budget)).reserved) === 0);
      const charged = attempts.filter(isCharged);
      const added = (await spentCents()) - spent;
      // An attempt that the client has ended before it got a connection reaches no provider, and may cost nothing.
      const unsent = attempts.length - (one.requestCount + two.requestCount - calls);
      expect(unsent).toBeGreaterThanOrEqual(0);
      const left = charged.filter(({ fault }) => fault === "client_left").length;
      const fewest = charged.length - Math.min(unsent, left);
      expect([attempts, added >= fewest && added <= charged.length]).toEqual([attempts, true]);
      await waitUntil(async () => (await metric("gatehouse_target_in_flight")) === 0);
    }),
    {
      numRuns: runs({ short: 25, long: 500 }),
      endOnFailure: true,
      examples: [
        [{ delayMs: 500, status: 400 }, { delayMs: 100, status: 400 }, null],
        [{ delayMs: 60_000 }, { delayMs: 100, status: 400 }, 450],
      ],
    },
  );
  expect(await metric("gatehouse_requests_in_flight")).toBe(0);
  await gatehouse.api("DELETE", budget);
}, 600_000);
