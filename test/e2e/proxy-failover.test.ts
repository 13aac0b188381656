// Failover: when another target is tried and when not, how often, and what the client gets if all fail.
import { describe, expect, test } from "bun:test";
import type { Behavior, FakeProvider } from "../../src/fake-provider/server.ts";
import {
  anthropicTargetOf,
  sendChat,
  sendRawChat,
  endedCleanly,
  expectFailure,
  outcomeOf,
  seedUpstream,
  servedInTurn,
  strayOutput,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { eventLoopTurns, passTimeUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two", "three", "four", "stopped");
const [one, two, three, four, stopped] = providers;
// Connections to its port are refused.
await stopped.stop();

/** Returns targets that are tried in this order. */
function inOrder(...providers: FakeProvider[]): Record<string, unknown>[] {
  return providers.map((provider, at) => targetOf(provider, { priority: at + 1 }));
}

function requestCounts(): number[] {
  return [one, two, three, four].map((provider) => provider.requestCount);
}

describe("failover to another target", () => {
  test.each([429, 500, 502, 503, 504, 529])("on %d", async (status) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(requestCounts()).toEqual([1, 1, 0, 0]);
  });

  test("on a connection that is refused", async () => {
    const route = await seedUpstream(gatehouse, inOrder(stopped, two));
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
  });

  test("on a name that does not resolve", async () => {
    const nowhere = { provider: "nowhere", base_url: "http://nowhere.invalid", path: "/v1/chat/completions" };
    const route = await seedUpstream(gatehouse, [nowhere, targetOf(two, { priority: 2 })]);
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
  });

  const BROKEN: [string, Behavior][] = [
    ["closed when it is accepted", { refuse: true }],
    ["reset when it is accepted", { refuse: true, reset: true }],
    ["closed before the response", { closeBeforeAnswer: true }],
    ["reset before the response", { closeBeforeAnswer: true, reset: true }],
    ["closed within the status line", { cutHeadAfterBytes: 7 }],
    ["closed within the headers", { cutHeadAfterBytes: 60 }],
    ["reset within the headers", { cutHeadAfterBytes: 60, reset: true }],
  ];
  test.each(BROKEN)("on a connection %s", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave(behavior);
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(two.requestCount).toBe(1);
  });

  test("on a first-byte timeout, and the request to the slow provider is canceled", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { first_byte: 150 } });
    one.behave({ delayMs: 60_000 });
    const outcome = await outcomeOf(await passTimeUntil(clock, sendChat(route)));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    await one.until(() => one.requests[0]?.aborted === true);
  });

  const WHOLE: [string, Behavior][] = [
    ["shorter than announced", { wrongContentLength: "longer" }],
    ["reset in its middle", { cutAfterBytes: 40, reset: true }],
  ];
  test.each(WHOLE)("on a whole response %s, before the client gets a byte", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave(behavior);
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(JSON.parse(outcome.text)).toHaveProperty("choices");
  });

  test("on a stream that is cut after its headers, before the client gets a byte", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ cutAfterChunks: 0 });
    const client = await sendRawChat(route, { stream: true });
    const { received } = await client.ended;
    expect(received).toContain("data: [DONE]");
    expect(received).toMatch(/^x-gw-attempts: 2\r$/im);
    expect(two.requestCount).toBe(1);
  });

  test("on a chunked response that is cut while it is read for translation", async () => {
    const targets = [anthropicTargetOf(one), anthropicTargetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {}, { response_format: "openai" });
    one.behave({ body: ['{"type":', '"message"}'], chunkDelayMs: 20, cutAfterChunks: 1 });
    const outcome = await outcomeOf(await passTimeUntil(clock, sendChat(route)));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
  });

  test("for a stream request, which then streams from the other target", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503 });
    const outcome = await outcomeOf(await sendChat(route, { stream: true }));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(outcome.text).toEndWith("data: [DONE]\n\n");
  });

  test("sends the same body to the other target", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503 });
    await sendChat(route);
    expect(two.requests[0]!.body.length).toBeGreaterThan(0);
    expect(two.requests[0]!.body).toEqual(one.requests[0]!.body);
  });

  test("between targets of different formats", async () => {
    const targets = [targetOf(one), anthropicTargetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {}, { response_format: "openai" });
    one.behave({ status: 503 });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(two.requests[0]!.target).toBe("/v1/messages");
    expect(JSON.parse(outcome.text)).toHaveProperty("choices");
  });

  test("crosses tiers", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 }), targetOf(three, { priority: 7 })];
    const route = await seedUpstream(gatehouse, targets);
    one.behave({ status: 500 });
    two.behave({ status: 502 });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "three", attempts: "3" });
  });

  test("exhausts a tier before it goes to the next", async () => {
    const targets = [targetOf(one), targetOf(two), targetOf(three, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets);
    one.behave({ status: 500 });
    expect(await servedInTurn(route, 4)).toEqual(["two", "two", "two", "two"]);
    expect(three.requestCount).toBe(0);
  });
});

describe("no failover", () => {
  const OTHERS = [
    200, 201, 204, 302, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415, 422, 424, 425, 431, 451, 501,
    505, 507, 520, 599,
  ];
  test.each(OTHERS)("on %d, which the client gets unchanged", async (status) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status, headers: [["Location", "/elsewhere"]] });
    const response = await fetch(route.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "gpt-fake", messages: [{ role: "user", content: "hello" }] }),
      redirect: "manual",
    });
    expect(await outcomeOf(response)).toMatchObject({ status, provider: "one", attempts: "1" });
    expect(requestCounts()).toEqual([1, 0, 0, 0]);
  });

  const CUT: [string, Behavior][] = [
    ["closed", { cutAfterChunks: 2 }],
    ["reset", { cutAfterChunks: 2, reset: true }],
    ["malformed", { malformedChunk: true }],
  ];
  test.each(CUT)("after the client got a byte: a stream %s after its first chunk", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ chunkDelayMs: 30, ...behavior });
    const client = await sendRawChat(route, { stream: true });
    const { received } = await passTimeUntil(clock, client.ended);
    expect(received).toMatch(/^x-gw-attempts: 1\r$/im);
    expect(endedCleanly(received)).toBe(false);
    expect(requestCounts()).toEqual([1, 0, 0, 0]);
  });

  test("after the client disconnected", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { first_byte: 300 } });
    one.behave({ delayMs: 60_000 });
    const client = await sendRawChat(route, { stream: false });
    await one.until(() => one.requestCount === 1);
    client.disconnect();
    await one.until(() => one.requests[0]?.aborted === true);
    // The first-byte timeout would send the request to the next target.
    clock.advance(400);
    await eventLoopTurns();
    expect(requestCounts()).toEqual([1, 0, 0, 0]);
  });
});

describe("max_attempts", () => {
  const failing = async (fields: Record<string, unknown>): Promise<Route> => {
    for (const provider of [one, two, three, four]) provider.behave({ status: 503 });
    return seedUpstream(gatehouse, inOrder(one, two, three, four), fields);
  };

  test("is 3 by default", async () => {
    const outcome = await outcomeOf(await sendChat(await failing({})));
    expect(outcome).toMatchObject({ status: 503, provider: "three", attempts: "3" });
    expect(requestCounts()).toEqual([1, 1, 1, 0]);
  });

  test.each([
    [1, [1, 0, 0, 0]],
    [2, [1, 1, 0, 0]],
    [4, [1, 1, 1, 1]],
  ])("of %d is respected", async (max_attempts, expected) => {
    const outcome = await outcomeOf(await sendChat(await failing({ max_attempts })));
    expect(outcome.attempts).toBe(String(max_attempts));
    expect(requestCounts()).toEqual(expected);
  });

  test("more than there are targets: no target is tried twice", async () => {
    one.behave({ status: 503 });
    two.behave({ status: 503 });
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], { max_attempts: 10 });
    expect((await outcomeOf(await sendChat(route))).attempts).toBe("2");
    expect(requestCounts()).toEqual([1, 1, 0, 0]);
  });
});

describe("if no other target is eligible", () => {
  const BROKEN: [string, Behavior][] = [
    ["closed", { closeBeforeAnswer: true }],
    ["reset", { closeBeforeAnswer: true, reset: true }],
  ];
  test.each(BROKEN)("a connection %s before any byte of a response is retried once", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    one.behave(({ serial }) => (serial === 1 ? behavior : {}));
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "one", attempts: "2" });
    expect(one.requestCount).toBe(2);
  });

  test.each(BROKEN)("but only once, if it is %s again", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { max_attempts: 5 });
    one.behave(behavior);
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("2");
    expect(one.requestCount).toBe(2);
  });

  test.each(BROKEN)("the same for a kept-alive connection that is then %s", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    await servedInTurn(route, 3);
    expect(one.connectionsOpened).toBe(1);
    one.behave(behavior);
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("2");
    expect(one.requestCount).toBe(3 + 2);
  });

  test("a refused connection is retried once", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(stopped)]);
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("2");
  });

  test("the client does not notice stale connections", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(four)]);
    await Promise.all(Array.from({ length: 8 }, () => sendChat(route).then((response) => response.text())));
    await four.restart();
    const outcomes = await Promise.all(Array.from({ length: 3 }, async () => (await sendChat(route)).status));
    expect(outcomes).toEqual([200, 200, 200]);
  });

  test("within max_attempts", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { max_attempts: 1 });
    one.behave({ closeBeforeAnswer: true });
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("1");
    expect(one.requestCount).toBe(1);
  });

  test("within max_attempts, also on a kept-alive connection", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { max_attempts: 1 });
    await servedInTurn(route, 2);
    one.behave({ closeBeforeAnswer: true });
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("1");
    expect(one.requestCount).toBe(2 + 1);
  });

  test("the last target is retried once after the others have failed", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503 });
    two.behave(({ serial }) => (serial === 1 ? { closeBeforeAnswer: true } : {}));
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "3" });
  });

  const NOT_AGAIN: [string, Behavior][] = [
    ["an error status", { status: 503 }],
    ["a 429", { rateLimited: { retryAfter: 1 } }],
    ["silence until the first-byte timeout", { delayMs: 60_000 }],
    ["a response cut after some bytes of its body", { cutAfterBytes: 40 }],
    ["a response shorter than its Content-Length", { wrongContentLength: "longer" }],
  ];
  test.each(NOT_AGAIN)("%s is not retried", async (_, behavior) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave(behavior);
    const response = await passTimeUntil(clock, sendChat(route));
    await response.text();
    expect({ attempts: response.headers.get("x-gw-attempts"), requests: one.requestCount }).toEqual({
      attempts: "1",
      requests: 1,
    });
  });

  test("a response cut after some bytes of its headers is not retried", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    one.behave({ cutHeadAfterBytes: 40 });
    await (await sendChat(route)).text();
    expect(one.requestCount).toBe(1);
  });
});

describe("if all targets fail", () => {
  test("the client gets the last provider's response unchanged", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503, body: "first message", headers: [["X-Own", "first"]] });
    two.behave({
      status: 529,
      body: '{"error":  "last message"}',
      headers: [
        ["X-Own", "second"],
        ["Retry-After", "7"],
        ["Content-Type", "application/problem+json"],
      ],
    });
    const response = await sendChat(route);
    expect(response.headers.get("x-own")).toBe("second");
    expect(response.headers.get("retry-after")).toBe("7");
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const outcome = await outcomeOf(response);
    expect(outcome).toEqual({
      status: 529,
      provider: "two",
      attempts: "2",
      text: '{"error":  "last message"}',
    });
  });

  const NO_RESPONSE: [string, () => FakeProvider, Behavior][] = [
    ["refused the connection", () => stopped, {}],
    ["closed the connection", () => two, { closeBeforeAnswer: true }],
    ["was silent", () => two, { delayMs: 60_000 }],
  ];
  test.each(NO_RESPONSE)(
    "also if the last one %s and only an earlier one responded",
    async (_, last, behavior) => {
      const route = await seedUpstream(gatehouse, inOrder(one, last()), { timeouts: { first_byte: 200 } });
      one.behave({ status: 503, body: "last message", headers: [["X-Own", "first"]] });
      two.behave(behavior);
      const response = await passTimeUntil(clock, sendChat(route));
      expect(response.headers.get("x-own")).toBe("first");
      expect(await outcomeOf(response)).toMatchObject({ status: 503, text: "last message" });
    },
  );

  test("the response of an earlier target names its provider", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, stopped));
    one.behave({ status: 503 });
    expect((await outcomeOf(await sendChat(route))).provider).toBe("one");
  });

  test("also if that response is large and not read yet", async () => {
    const text = "last message ".repeat(100_000);
    const route = await seedUpstream(gatehouse, inOrder(one, stopped));
    one.behave({ status: 500, body: text });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome.status).toBe(500);
    expect(outcome.text).toBe(text);
  });

  test("also if the total timeout expires during the next attempt", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { total: 300 } });
    one.behave({ status: 503, body: "last message" });
    two.behave({ delayMs: 60_000 });
    const response = await passTimeUntil(clock, sendChat(route));
    expect(await outcomeOf(response)).toMatchObject({ status: 503, text: "last message" });
  });

  test("502 upstream_unreachable without any response", async () => {
    one.behave({ closeBeforeAnswer: true });
    const route = await seedUpstream(gatehouse, inOrder(stopped, one));
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("3");
  });

  test("504 upstream_timeout without a response in time", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { first_byte: 150 } });
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 60_000 });
    const response = await passTimeUntil(clock, sendChat(route));
    const headers = await expectFailure(response, 504, "upstream_timeout");
    expect(headers.get("x-gw-attempts")).toBe("2");
  });

  test("an unused failed response leaves no connection open", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503, body: ["x".repeat(600_000)], chunkDelayMs: 10, stallAfterChunks: 1 });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two" });
    await one.until(() => one.openConnections() === 0);
  });
});

describe("the retry budget of an upstream", () => {
  test("always allows ten retries per second", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)]);
    one.behave({ status: 503 });
    two.behave({ status: 503 });
    const attempts: (string | null)[] = [];
    for (let times = 0; times < 12; times++) attempts.push((await outcomeOf(await sendChat(route))).attempts);
    expect(attempts).toEqual([...Array<string>(10).fill("2"), "1", "1"]);
    clock.advance(1000);
    expect((await outcomeOf(await sendChat(route))).attempts).toBe("2");
  });

  test("counts the retry at the only target", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    one.behave({ closeBeforeAnswer: true });
    for (let times = 0; times < 20; times++) await (await sendChat(route)).text();
    expect(one.requestCount).toBeLessThanOrEqual(30);
    expect(one.requestCount).toBeGreaterThan(20);
  });

  test.each([
    ["responds 503", { status: 503 }],
    ["closes connections", { closeBeforeAnswer: true }],
  ] satisfies [string, Behavior][])(
    "a total outage that %s multiplies the attempts by at most 1.2, plus ten",
    async (_, behavior) => {
      const REQUESTS = 400;
      const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two), targetOf(three)]);
      for (const provider of [one, two, three]) provider.behave(behavior);
      let remaining = REQUESTS;
      const worker = async () => {
        while (remaining-- > 0) await (await sendChat(route)).text();
      };
      await Promise.all(Array.from({ length: 20 }, worker));
      const calls = one.requestCount + two.requestCount + three.requestCount;
      expect(calls).toBeGreaterThan(REQUESTS * 1.1);
      expect(calls).toBeLessThanOrEqual(REQUESTS * 1.2 + 10);
    },
    60_000,
  );

  test("is per upstream: the outage of one does not use up that of another", async () => {
    const failing = await seedUpstream(gatehouse, inOrder(one, two));
    const other = await seedUpstream(gatehouse, inOrder(one, three));
    one.behave({ status: 503 });
    two.behave({ status: 503 });
    for (let times = 0; times < 15; times++) await (await sendChat(failing)).text();
    expect(await outcomeOf(await sendChat(other))).toMatchObject({ status: 200, attempts: "2" });
  });
});

test("X-GW-Attempts is 1 if the first attempt succeeds", async () => {
  const route = await seedUpstream(gatehouse, inOrder(one, two));
  expect((await outcomeOf(await sendChat(route))).attempts).toBe("1");
});

test("only log records were printed", () => {
  expect(strayOutput(gatehouse)).toEqual([]);
});
