// When another target is asked, when not, how often, and what the client gets when all fail (the contract's section 6).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
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
  startProviders,
  strayOutput,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";

/** A busy machine takes its time to start a process. */
const START_MS = 20_000;

let gatehouse: GatehouseProcess;
let one: FakeProvider;
let two: FakeProvider;
let three: FakeProvider;
let four: FakeProvider;
/** Its port is free: whoever connects there is refused. */
let gone: FakeProvider;

beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
  [one, two, three, four, gone] = await startProviders("one", "two", "three", "four", "gone");
  await gone.stop();
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await Promise.all([one, two, three, four].map((provider) => provider.stop()));
});
beforeEach(() => {
  for (const provider of [one, two, three, four, gone]) provider.reset();
});

/** The targets in the order in which they will be asked. */
function inOrder(...providers: FakeProvider[]): Record<string, unknown>[] {
  return providers.map((provider, at) => targetOf(provider, { priority: at + 1 }));
}

function asked(): number[] {
  return [one, two, three, four].map((provider) => provider.requestCount);
}

describe("failover to another target", () => {
  test.each([429, 500, 502, 503, 504, 529])("on %d", async (status) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(asked()).toEqual([1, 1, 0, 0]);
  });

  test("on a connection that is refused", async () => {
    const route = await seedUpstream(gatehouse, inOrder(gone, two));
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
    ["closed before the answer", { closeBeforeAnswer: true }],
    ["reset before the answer", { closeBeforeAnswer: true, reset: true }],
    ["closed within the status line", { cutHeadAfterBytes: 7 }],
    ["closed within the headers", { cutHeadAfterBytes: 60 }],
    ["reset within the headers", { cutHeadAfterBytes: 60, reset: true }],
  ];
  test.each(BROKEN)("on a connection %s", async (_, behaviour) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave(behaviour);
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(two.requestCount).toBe(1);
  });

  test("on a first-byte timeout, and the slow provider's request is given up", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { first_byte: 150 } });
    one.behave({ delayMs: 60_000 });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    await one.until(() => one.requests[0]?.aborted === true);
  });

  const WHOLE: [string, Behavior][] = [
    ["shorter than announced", { wrongContentLength: "longer" }],
    ["reset in its middle", { cutAfterBytes: 40, reset: true }],
  ];
  test.each(WHOLE)("on a whole answer %s, of which no byte went to the client", async (_, behaviour) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave(behaviour);
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(JSON.parse(outcome.text)).toHaveProperty("choices");
  });

  test("on a streamed answer cut after its headers, before any byte of it went to the client", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ cutAfterChunks: 0 });
    const client = await sendRawChat(route, { stream: true });
    const { received } = await client.ended;
    expect(received).toContain("data: [DONE]");
    expect(received).toMatch(/^x-gw-attempts: 2\r$/im);
    expect(two.requestCount).toBe(1);
  });

  test("on an answer in chunks that is cut while it is read to be translated", async () => {
    const targets = [anthropicTargetOf(one), anthropicTargetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {}, { response_format: "openai" });
    one.behave({ body: ['{"type":', '"message"}'], chunkDelayMs: 20, cutAfterChunks: 1 });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
  });

  test("of a request for a stream, which then streams from the other", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503 });
    const outcome = await outcomeOf(await sendChat(route, { stream: true }));
    expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    expect(outcome.text).toEndWith("data: [DONE]\n\n");
  });

  test("the other gets the same body", async () => {
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
  test.each(OTHERS)("on %d, which the client gets as it is", async (status) => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status, headers: [["Location", "/elsewhere"]] });
    const response = await fetch(route.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "gpt-fake", messages: [{ role: "user", content: "hello" }] }),
      redirect: "manual",
    });
    expect(await outcomeOf(response)).toMatchObject({ status, provider: "one", attempts: "1" });
    expect(asked()).toEqual([1, 0, 0, 0]);
  });

  const CUT: [string, Behavior][] = [
    ["closed", { cutAfterChunks: 2 }],
    ["reset", { cutAfterChunks: 2, reset: true }],
    ["malformed", { malformedChunk: true }],
  ];
  test.each(CUT)(
    "once a byte has gone to the client: a stream %s after its first chunk",
    async (_, behaviour) => {
      const route = await seedUpstream(gatehouse, inOrder(one, two));
      one.behave({ chunkDelayMs: 30, ...behaviour });
      const client = await sendRawChat(route, { stream: true });
      const { received } = await client.ended;
      expect(received).toMatch(/^x-gw-attempts: 1\r$/im);
      expect(endedCleanly(received)).toBe(false);
      expect(asked()).toEqual([1, 0, 0, 0]);
    },
  );

  test("after the client has left", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { first_byte: 300 } });
    one.behave({ delayMs: 60_000 });
    const client = await sendRawChat(route, { stream: false });
    await one.until(() => one.requestCount === 1);
    client.disconnect();
    await one.until(() => one.requests[0]?.aborted === true);
    await Bun.sleep(400);
    expect(asked()).toEqual([1, 0, 0, 0]);
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
    expect(asked()).toEqual([1, 1, 1, 0]);
  });

  test.each([
    [1, [1, 0, 0, 0]],
    [2, [1, 1, 0, 0]],
    [4, [1, 1, 1, 1]],
  ])("of %d is kept", async (max_attempts, expected) => {
    const outcome = await outcomeOf(await sendChat(await failing({ max_attempts })));
    expect(outcome.attempts).toBe(String(max_attempts));
    expect(asked()).toEqual(expected);
  });

  test("more than there are targets: none is asked twice", async () => {
    one.behave({ status: 503 });
    two.behave({ status: 503 });
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], { max_attempts: 10 });
    expect((await outcomeOf(await sendChat(route))).attempts).toBe("2");
    expect(asked()).toEqual([1, 1, 0, 0]);
  });
});

describe("where no other target is eligible", () => {
  const BROKEN: [string, Behavior][] = [
    ["closed", { closeBeforeAnswer: true }],
    ["reset", { closeBeforeAnswer: true, reset: true }],
  ];
  test.each(BROKEN)(
    "a connection %s before any byte of an answer is tried once more",
    async (_, behaviour) => {
      const route = await seedUpstream(gatehouse, [targetOf(one)]);
      one.behave(({ serial }) => (serial === 1 ? behaviour : {}));
      const outcome = await outcomeOf(await sendChat(route));
      expect(outcome).toMatchObject({ status: 200, provider: "one", attempts: "2" });
      expect(one.requestCount).toBe(2);
    },
  );

  test.each(BROKEN)("but only once, when it is %s again", async (_, behaviour) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { max_attempts: 5 });
    one.behave(behaviour);
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("2");
    expect(one.requestCount).toBe(2);
  });

  test.each(BROKEN)("the same on a connection that was kept alive and is then %s", async (_, behaviour) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    await servedInTurn(route, 3);
    expect(one.connectionsOpened).toBe(1);
    one.behave(behaviour);
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("2");
    expect(one.requestCount).toBe(3 + 2);
  });

  test("a connection refused is tried once more", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(gone)]);
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("2");
  });

  test("connections that had gone stale are not seen by the client", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(four)]);
    await Promise.all(Array.from({ length: 8 }, () => sendChat(route).then((answer) => answer.text())));
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

  test("within max_attempts also on a connection that was kept alive", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { max_attempts: 1 });
    await servedInTurn(route, 2);
    one.behave({ closeBeforeAnswer: true });
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("1");
    expect(one.requestCount).toBe(2 + 1);
  });

  test("after others have failed, the last one is tried once more", async () => {
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
    ["an answer broken after some bytes of its body", { cutAfterBytes: 40 }],
    ["an answer shorter than announced", { wrongContentLength: "longer" }],
  ];
  test.each(NOT_AGAIN)("%s is not tried once more", async (_, behaviour) => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave(behaviour);
    const response = await sendChat(route);
    await response.text();
    expect({ attempts: response.headers.get("x-gw-attempts"), requests: one.requestCount }).toEqual({
      attempts: "1",
      requests: 1,
    });
  });

  test("an answer broken after some bytes of its head is not tried once more", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    one.behave({ cutHeadAfterBytes: 40 });
    await (await sendChat(route)).text();
    expect(one.requestCount).toBe(1);
  });
});

describe("when all fail", () => {
  test("the client gets the last provider's answer as it was", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503, body: "first words", headers: [["X-Own", "first"]] });
    two.behave({
      status: 529,
      body: '{"error":  "its own words"}',
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
      text: '{"error":  "its own words"}',
    });
  });

  const NO_ANSWER: [string, () => FakeProvider, Behavior][] = [
    ["refused", () => gone, {}],
    ["broke off", () => two, { closeBeforeAnswer: true }],
    ["was silent", () => two, { delayMs: 60_000 }],
  ];
  test.each(NO_ANSWER)(
    "also when the last one %s, and only an earlier one answered",
    async (_, last, behaviour) => {
      const route = await seedUpstream(gatehouse, inOrder(one, last()), { timeouts: { first_byte: 200 } });
      one.behave({ status: 503, body: "its own words", headers: [["X-Own", "first"]] });
      two.behave(behaviour);
      const response = await sendChat(route);
      expect(response.headers.get("x-own")).toBe("first");
      expect(await outcomeOf(response)).toMatchObject({ status: 503, text: "its own words" });
    },
  );

  test("the answer of the earlier one names the provider that gave it", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, gone));
    one.behave({ status: 503 });
    expect((await outcomeOf(await sendChat(route))).provider).toBe("one");
  });

  test("also when that answer is a big one, still to be read", async () => {
    const words = "its own words ".repeat(100_000);
    const route = await seedUpstream(gatehouse, inOrder(one, gone));
    one.behave({ status: 500, body: words });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome.status).toBe(500);
    expect(outcome.text).toBe(words);
  });

  test("also when the total time is up while the next one is waited for", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { total: 300 } });
    one.behave({ status: 503, body: "its own words" });
    two.behave({ delayMs: 60_000 });
    expect(await outcomeOf(await sendChat(route))).toMatchObject({ status: 503, text: "its own words" });
  });

  test("with no answer at all: 502 upstream_unreachable", async () => {
    one.behave({ closeBeforeAnswer: true });
    const route = await seedUpstream(gatehouse, inOrder(gone, one));
    const headers = await expectFailure(await sendChat(route), 502, "upstream_unreachable");
    expect(headers.get("x-gw-attempts")).toBe("3");
  });

  test("with no answer in time: 504 upstream_timeout", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two), { timeouts: { first_byte: 150 } });
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 60_000 });
    const headers = await expectFailure(await sendChat(route), 504, "upstream_timeout");
    expect(headers.get("x-gw-attempts")).toBe("2");
  });

  test("a failed answer that was not used leaves no connection behind", async () => {
    const route = await seedUpstream(gatehouse, inOrder(one, two));
    one.behave({ status: 503, body: ["x".repeat(600_000)], chunkDelayMs: 10, stallAfterChunks: 1 });
    const outcome = await outcomeOf(await sendChat(route));
    expect(outcome).toMatchObject({ status: 200, provider: "two" });
    await one.until(() => one.openConnections() === 0);
  });
});

describe("the retry budget of an upstream", () => {
  test("three a second are always allowed", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)]);
    one.behave({ status: 503 });
    two.behave({ status: 503 });
    const attempts: (string | null)[] = [];
    for (let times = 0; times < 5; times++) attempts.push((await outcomeOf(await sendChat(route))).attempts);
    expect(attempts).toEqual(["2", "2", "2", "1", "1"]);
    await Bun.sleep(1050);
    expect((await outcomeOf(await sendChat(route))).attempts).toBe("2");
  });

  test("the further try at the only target counts too", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    one.behave({ closeBeforeAnswer: true });
    for (let times = 0; times < 10; times++) await (await sendChat(route)).text();
    expect(one.requestCount).toBeLessThanOrEqual(13);
    expect(one.requestCount).toBeGreaterThan(10);
  });

  test.each([
    ["answers 503", { status: 503 }],
    ["breaks off", { closeBeforeAnswer: true }],
  ] satisfies [string, Behavior][])(
    "a total outage that %s multiplies the calls by 1.2 at most, three a second aside",
    async (_, behaviour) => {
      const REQUESTS = 1200;
      const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two), targetOf(three)]);
      for (const provider of [one, two, three]) provider.behave(behaviour);
      const startedAt = performance.now();
      let left = REQUESTS;
      const worker = async () => {
        while (left-- > 0) await (await sendChat(route)).text();
      };
      await Promise.all(Array.from({ length: 20 }, worker));
      const seconds = Math.ceil((performance.now() - startedAt) / 1000);
      const calls = one.requestCount + two.requestCount + three.requestCount;
      if (process.env["GATEHOUSE_REPORT"] !== undefined) {
        process.stdout.write(`${REQUESTS} requests in ${seconds} s: ${calls} calls\n`);
      }
      expect(calls).toBeGreaterThan(REQUESTS * 1.1);
      expect(calls).toBeLessThanOrEqual(REQUESTS * 1.2 + 3 * (seconds + 1));
    },
    20_000,
  );

  test("is the upstream's own: the outage of one takes nothing from another", async () => {
    const failing = await seedUpstream(gatehouse, inOrder(one, two));
    const other = await seedUpstream(gatehouse, inOrder(one, three));
    one.behave({ status: 503 });
    two.behave({ status: 503 });
    for (let times = 0; times < 6; times++) await (await sendChat(failing)).text();
    expect(await outcomeOf(await sendChat(other))).toMatchObject({ status: 200, attempts: "2" });
  });
});

test("X-GW-Attempts is 1 where the first try succeeds", async () => {
  const route = await seedUpstream(gatehouse, inOrder(one, two));
  expect((await outcomeOf(await sendChat(route))).attempts).toBe("1");
});

test("nothing but log lines was printed", () => {
  expect(strayOutput(gatehouse)).toEqual([]);
});
