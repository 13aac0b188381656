// Hedged requests: a request without content after some time goes to a second target, the first content is relayed, and the other
// attempt is aborted.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import {
  CHAT_REQUEST,
  outcomeOf,
  seedUpstream,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { waitFor, passTimeUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two", "three");
const [one, two, three] = providers;

const HEDGE = { hedge: { after: 300, budget: 1 } };
const SLOW: Behavior = { delayMs: 60_000 };
const EVENT_STREAM: Behavior["headers"] = [["Content-Type", "text/event-stream"]];

async function routeTo(fields: object = {}, target: object = {}, rule: object = {}): Promise<Route> {
  const targets = [targetOf(one, { ...target }), targetOf(two, { priority: 2, ...target })];
  return seedUpstream(gatehouse, targets, { ...HEDGE, ...fields }, { ...rule });
}

function post(route: Route, body: object = {}, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(route.url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...CHAT_REQUEST, ...body }),
    signal,
  });
}

async function send(route: Route, body: object = {}, signal: AbortSignal | null = null) {
  const response = await passTimeUntil(clock, post(route, body, signal));
  const outcome = await passTimeUntil(clock, outcomeOf(response));
  const requestId = response.headers.get("x-request-id") ?? "";
  const ownRequestId = response.headers.get("request-id");
  return { ...outcome, hedged: response.headers.get("x-gw-hedged"), requestId, ownRequestId };
}

function recordOf({ upstream }: Route, requestId: string) {
  const gateway = upstream.split("/upstreams")[0] ?? "";
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `${gateway}/requests?request_id=${requestId}`);
    return body.requests[0] ?? null;
  });
}

describe.each([true, false])("a request with stream: %p", (stream) => {
  test("is served by the second target if that has content first", async () => {
    const route = await routeTo();
    one.behave(SLOW);
    const { status, provider, attempts, hedged, requestId } = await send(route, { stream });
    expect({ status, provider, attempts, hedged }).toEqual({
      status: 200,
      provider: "two",
      attempts: "2",
      hedged: "won",
    });
    await one.until(() => one.requests[0]?.aborted === true);
    const record = await recordOf(route, requestId);
    expect(record.hedge).toEqual({ result: "won", after_ms: 300, cost: null });
    expect(record.attempts).toMatchObject([
      { provider: "one", purpose: "hedge", fault: "hedge_lost" },
      { provider: "two", purpose: "request", fault: null },
    ]);
  });

  test("is served by the first target if that has content first", async () => {
    const route = await routeTo();
    one.behave({ delayMs: 600 });
    two.behave(SLOW);
    const { provider, attempts, hedged, requestId } = await send(route, { stream });
    expect({ provider, attempts, hedged }).toEqual({ provider: "one", attempts: "2", hedged: "lost" });
    await two.until(() => two.requests[0]?.aborted === true);
    const { hedge, attempts: recorded } = await recordOf(route, requestId);
    expect(hedge.result).toBe("lost");
    expect(recorded).toMatchObject([{ purpose: "request" }, { purpose: "hedge", fault: "hedge_lost" }]);
  });

  test("is not sent twice if its first target is fast", async () => {
    const route = await routeTo();
    one.behave({ delayMs: 200 });
    const { provider, attempts, hedged } = await send(route, { stream });
    expect({ provider, attempts, hedged }).toEqual({ provider: "one", attempts: "1", hedged: null });
    expect(two.requestCount).toBe(0);
  });

  test("fails over to a third target if both fail", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 }), targetOf(three, { priority: 3 })];
    const route = await seedUpstream(gatehouse, targets, HEDGE);
    one.behave({ delayMs: 600, status: 503 });
    two.behave({ delayMs: 600, status: 500 });
    const { status, provider, attempts, hedged } = await send(route, { stream });
    expect({ status, provider, attempts, hedged }).toEqual({
      status: 200,
      provider: "three",
      attempts: "3",
      hedged: "lost",
    });
  });

  test("continues with the second attempt if the first one fails meanwhile, and the other way round", async () => {
    const route = await routeTo();
    one.behave({ delayMs: 400, status: 503 });
    two.behave({ delayMs: 600 });
    expect(await send(route, { stream })).toMatchObject({ status: 200, provider: "two", hedged: "won" });
    one.behave({ delayMs: 600 });
    two.behave({ delayMs: 100, status: 401 });
    expect(await send(route, { stream })).toMatchObject({ status: 200, provider: "one", hedged: "lost" });
  });

  test("stops both attempts if the client disconnects", async () => {
    const route = await routeTo();
    one.behave(SLOW);
    two.behave(SLOW);
    const controller = new AbortController();
    const sent = send(route, { stream }, controller.signal).catch(() => null);
    await two.until(() => two.requests[0] !== undefined);
    controller.abort();
    await sent;
    await one.until(() => one.requests[0]?.aborted === true);
    await two.until(() => two.requests[0]?.aborted === true);
  });

  test("is not sent twice after a 429 in the last 10 seconds", async () => {
    const route = await routeTo({ max_attempts: 2 });
    one.behave({ status: 429 });
    two.behave({ status: 429 });
    expect(await send(route, { stream })).toMatchObject({ status: 429, attempts: "2" });
    const slow = { delayMs: 1000 };
    one.behave(slow);
    two.behave(slow);
    expect(await send(route, { stream })).toMatchObject({ status: 200, attempts: "1", hedged: null });
    clock.advance(10_000);
    expect(await send(route, { stream })).toMatchObject({ status: 200, attempts: "2", hedged: "lost" });
  });
});

const FUNCTION = { type: "function", function: { name: "f", parameters: { type: "object" } } };

test.each<[string, object, boolean]>([
  ["store: true", { store: true }, false],
  ["store: false", { store: false }, true],
  ["background", { background: true }, false],
  ["a hosted tool", { tools: [FUNCTION, { type: "web_search" }] }, false],
  ["a dated tool that the provider runs", { tools: [{ type: "code_execution_20250825" }] }, false],
  ["a search option", { web_search_options: {} }, false],
  ["functions", { tools: [FUNCTION] }, true],
])("a request with %s", async (_, fields, isHedged) => {
  const route = await routeTo();
  one.behave({ delayMs: 1000 });
  two.behave({ delayMs: 1000 });
  const { status, attempts } = await send(route, fields);
  expect({ status, attempts }).toEqual({ status: 200, attempts: isHedged ? "2" : "1" });
});

test.each<[string, object, string]>([
  ["without store", {}, "1"],
  ["with store: false", { store: false }, "2"],
])("a request to the Responses API %s", async (_, fields, attempts) => {
  const route = await routeTo({}, { path: "/v1/responses", format: "responses" });
  one.behave({ delayMs: 1000 });
  two.behave({ delayMs: 1000 });
  const body = { model: "gpt-fake", input: "hello", messages: undefined, ...fields };
  expect(await send(route, body)).toMatchObject({ status: 200, attempts });
});

describe("the share of hedged requests", () => {
  test("is limited by `budget`", async () => {
    const route = await routeTo({ hedge: { after: 1, budget: 0.05 } });
    one.behave({ delayMs: 40 });
    two.behave({ delayMs: 500 });
    for (let count = 0; count < 100; count++) await send(route);
    expect(two.requestCount).toBe(5);
    for (let count = 0; count < 20; count++) await send(route);
    expect(two.requestCount).toBe(6);
  });

  test("is limited by the retry budget", async () => {
    const route = await routeTo({ hedge: { after: 10, budget: 1 } });
    one.behave({ delayMs: 2000 });
    two.behave({ delayMs: 5000 });
    // No time passes until all requests are open: the budget allows ten more in each second.
    const sent = Promise.all(Array.from({ length: 40 }, () => post(route)));
    await one.until(() => one.requestCount === 40);
    const responses = await passTimeUntil(clock, sent);
    for (const { status } of responses) expect(status).toBe(200);
    expect(two.requestCount).toBe(10);
  });

  test("max_attempts counts the second attempt", async () => {
    const route = await routeTo({ max_attempts: 1 });
    one.behave({ delayMs: 1000 });
    expect(await send(route)).toMatchObject({ status: 200, attempts: "1", hedged: null });
  });
});

test("p95: a request is hedged once 20 times are known, after the time that 95 % needed", async () => {
  const route = await routeTo({ hedge: { after: "p95", budget: 1 } });
  const timed = (fast: number) => one.behave({ delayMs: fast });
  timed(200);
  for (let count = 0; count < 20; count++)
    expect(await send(route)).toMatchObject({ provider: "one", attempts: "1" });
  timed(60_000);
  const { hedged, requestId } = await send(route);
  expect(hedged).toBe("won");
  expect((await recordOf(route, requestId)).hedge.after_ms).toBeWithin(200, 300);
});

describe("before its first content", () => {
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const QUIET = chunk({ role: "assistant", content: "" });

  test("a stream of an upstream that hedges relays no event", async () => {
    const route = await routeTo();
    one.behave({
      headers: EVENT_STREAM,
      body: [QUIET, QUIET, chunk({ content: "late" })],
      chunkDelayMs: 2500,
    });
    two.behave({ headers: EVENT_STREAM, body: [QUIET, chunk({ content: "first" }), "data: [DONE]\n\n"] });
    const { hedged, text } = await send(route, { stream: true });
    expect(hedged).toBe("won");
    expect(text).toBe(`${QUIET}${chunk({ content: "first" })}data: [DONE]\n\n`);
  });

  test("the client gets comments, and then the stream", async () => {
    const route = await routeTo();
    one.behave({
      delayMs: 10_000,
      headers: EVENT_STREAM,
      body: [chunk({ content: "a" }), "data: [DONE]\n\n"],
    });
    two.behave(SLOW);
    const { status, text, requestId, ownRequestId } = await send(route, { stream: true });
    expect(status).toBe(200);
    expect(ownRequestId).toBe(requestId);
    expect(text).toMatch(/^(: keep-alive\n\n){2,3}data: /);
    expect(text.replaceAll(": keep-alive\n\n", "")).toBe(`${chunk({ content: "a" })}data: [DONE]\n\n`);
  });

  test.each([
    [
      "openai",
      "/v1/chat/completions",
      /^data: \{"error":\{"message":".*"code":"upstream_unreachable".*\}\n\n$/,
    ],
    ["anthropic", "/v1/messages", /^event: error\ndata: \{"type":"error","error":\{.*\}\n\n$/],
    ["responses", "/v1/responses", /event: response\.failed\ndata: .*\n\n$/],
  ])(
    "after comments, an error event of the format %s ends the stream if all attempts fail",
    async (format, path, event) => {
      const route = await routeTo({}, { path, format }, { response_format: format });
      one.behave({ delayMs: 5_500, closeBeforeAnswer: true });
      two.behave({ delayMs: 5_500, closeBeforeAnswer: true });
      const { status, text, requestId } = await send(route, { stream: true, max_tokens: 9, input: "x" });
      expect(status).toBe(200);
      expect(text).toStartWith(": keep-alive\n\n");
      expect(text.replaceAll(": keep-alive\n\n", "")).toMatch(event);
      expect(await recordOf(route, requestId)).toMatchObject({
        outcome: "incomplete",
        error_code: "upstream_unreachable",
      });
    },
  );

  test("an error before the first comment is an ordinary error response", async () => {
    const route = await routeTo();
    one.behave({ delayMs: 1000, closeBeforeAnswer: true });
    two.behave({ delayMs: 1000, closeBeforeAnswer: true });
    expect(await send(route, { stream: true })).toMatchObject({ status: 502 });
  });

  test("after comments, a client that disconnects stops both attempts", async () => {
    const route = await routeTo();
    one.behave(SLOW);
    two.behave(SLOW);
    const controller = new AbortController();
    const sent = send(route, { stream: true }, controller.signal).catch(() => null);
    await two.until(() => two.requests[0] !== undefined);
    clock.advance(5_000);
    clock.advance(5_000);
    controller.abort();
    await sent;
    await one.until(() => one.requests[0]?.aborted === true);
    await two.until(() => two.requests[0]?.aborted === true);
  });
});

test("explain says whether a request would be hedged, and after which time", async () => {
  const route = await routeTo();
  const explain = async (body: object) => {
    const request = { method: "POST", path: route.path, body: JSON.stringify({ ...CHAT_REQUEST, ...body }) };
    const gateway = route.upstream.split("/upstreams")[0] ?? "";
    const headers = { "Content-Type": "application/json" };
    return (await gatehouse.api("POST", `${gateway}/explain`, { ...request, headers })).body.hedge;
  };
  expect(await explain({})).toEqual({ possible: true, after_ms: 300, reason: null });
  expect(await explain({ store: true })).toMatchObject({ possible: false, reason: expect.any(String) });
});

test("`after` must not be larger than timeouts.first_content", async () => {
  const route = await routeTo();
  const fields = { hedge: { after: 500 }, timeouts: { first_content: 400 } };
  const { status, body } = await gatehouse.api("PATCH", route.upstream, fields);
  expect(status).toBe(400);
  expect(body.details).toEqual([{ path: "hedge.after", message: expect.stringContaining("400") }]);
});

test("metrics count hedges by result", async () => {
  const route = await routeTo();
  one.behave(SLOW);
  await send(route);
  const metric = `gatehouse_hedges_total{gateway="balanced",upstream="${route.path}",result="won"} 1`;
  await waitFor(async () => {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    return text.includes(metric) ? true : null;
  });
});
