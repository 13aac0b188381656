// Passive health checks: which failures eject a target, for how long, what brings it back, and the effect of a 429. The
// routes have two tiers: "one" serves while it is healthy, "two" otherwise.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import {
  anthropicTargetOf,
  sendChat,
  sendRawChat,
  countOf,
  expectFailure,
  outcomeOf,
  patchUpstream,
  seedUpstream,
  servedBy,
  servedInTurn,
  strayOutput,
  targetOf,
  type ChatOptions,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { eventLoopTurns, passTimeUntil } from "../support/waiting.ts";

const THRESHOLD = 2;
const INTERVAL_MS = 1000;
const TIMEOUTS = { first_byte: 120, idle: 120 };

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

function seedTiers(checks: Record<string, unknown> = {}): Promise<Route> {
  return seedUpstream(gatehouse, [targetOf(one), targetOf(two, { priority: 2 })], {
    health_checks: { passive: true, threshold: THRESHOLD, interval: INTERVAL_MS / 1000, ...checks },
    timeouts: TIMEOUTS,
  });
}

/** Sends a chat and ignores how it ends: cut streams end in an error. */
async function sendIgnoringResult(route: Route, options: ChatOptions = {}): Promise<void> {
  await sendChat(route, options)
    .then((response) => response.text())
    .catch(() => null);
}

describe("consecutive failures eject a target", () => {
  const KINDS: [string, Behavior, ChatOptions][] = [
    ["no first byte in time", { delayMs: 60_000 }, {}],
    ["headers that do not end in time", { headerDelayMs: 60_000 }, {}],
    ["a connection closed before the response", { closeBeforeAnswer: true }, {}],
    ["500", { status: 500 }, {}],
    ["501, without failover", { status: 501 }, {}],
    ["502", { status: 502 }, {}],
    ["503", { status: 503 }, {}],
    ["504", { status: 504 }, {}],
    ["505, without failover", { status: 505 }, {}],
    ["529", { status: 529 }, {}],
    ["a stream cut by a close", { cutAfterChunks: 2 }, { stream: true }],
    ["a stream cut by a reset", { cutAfterChunks: 2, reset: true }, { stream: true }],
    ["a stream cut by malformed chunks", { malformedChunk: true }, { stream: true }],
    ["a stream that goes silent", { stallAfterChunks: 2 }, { stream: true }],
    ["a whole response that is cut", { wrongContentLength: "longer" }, {}],
    [
      "a large body that is cut",
      { bigStream: { bytes: 900_000, chunkBytes: 9000 }, cutAfterBytes: 500_000 },
      {},
    ],
  ];
  test.each(KINDS)("%s", async (_, behavior, options) => {
    const route = await seedTiers({ interval: 30 });
    one.behave(behavior);
    for (let failures = 1; failures <= THRESHOLD; failures++) {
      // Some of these failures are timeouts.
      await passTimeUntil(clock, sendIgnoringResult(route, options));
      expect(one.requestCount).toBeGreaterThanOrEqual(failures);
    }
    one.behave({});
    const before = one.requestCount;
    expect(await servedInTurn(route, 3)).toEqual(["two", "two", "two"]);
    expect(one.requestCount).toBe(before);
  });

  test("a refused connection", async () => {
    const route = await seedTiers({ interval: 30 });
    await one.stop();
    await sendIgnoringResult(route);
    await sendIgnoringResult(route);
    await one.restart();
    expect(await servedInTurn(route, 3)).toEqual(["two", "two", "two"]);
    expect(one.requestCount).toBe(0);
  });

  test("a stream of another format cut before its end", async () => {
    const targets = [anthropicTargetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(
      gatehouse,
      targets,
      { health_checks: { passive: true, threshold: THRESHOLD, interval: 30 } },
      { response_format: "openai" },
    );
    one.behave({ cutAfterChunks: 3 });
    for (let failures = 0; failures < THRESHOLD; failures++)
      await sendIgnoringResult(route, { stream: true });
    one.behave({});
    expect(await servedBy(route)).toBe("two");
  });

  test("fewer than the threshold do not eject it", async () => {
    const route = await seedTiers({ threshold: 3 });
    one.behave(({ serial }) => (serial <= 2 ? { status: 500 } : {}));
    expect(await servedInTurn(route, 4)).toEqual(["two", "two", "one", "one"]);
  });

  test("a success between them resets the count", async () => {
    const route = await seedTiers();
    one.behave(({ serial }) => (serial % 2 === 1 ? { status: 500 } : {}));
    expect(await servedInTurn(route, 6)).toEqual(["two", "one", "two", "one", "two", "one"]);
  });

  test("the threshold is 3 and the checks are off by default", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two, { priority: 2 })]);
    one.behave({ status: 500 });
    for (let times = 0; times < 6; times++) await sendIgnoringResult(route);
    expect(one.requestCount).toBe(6);
    await patchUpstream(gatehouse, route, { health_checks: { passive: true } });
    for (let times = 0; times < 6; times++) await sendIgnoringResult(route);
    expect(one.requestCount).toBe(6 + 3);
  });
});

describe("does not count as a failure", () => {
  test.each([400, 401, 403, 404, 409, 413, 422, 429, 499])("%d", async (status) => {
    const route = await seedTiers();
    one.behave({ status });
    for (let times = 0; times <= THRESHOLD; times++) await sendIgnoringResult(route);
    one.behave({});
    expect(await servedBy(route)).toBe("one");
  });

  test("a client that disconnects while it waits", async () => {
    const route = await seedTiers({ threshold: 1 });
    await patchUpstream(gatehouse, route, { timeouts: { first_byte: 60_000 } });
    one.behave({ delayMs: 60_000 });
    for (let times = 1; times <= 3; times++) {
      const client = await sendRawChat(route, { stream: false });
      await one.until(() => one.requestCount === times);
      client.disconnect(times % 2 === 0);
      await one.until(() => one.requests.every((request) => request.aborted));
    }
    one.behave({});
    expect(await servedBy(route)).toBe("one");
  });

  test("a client that disconnects in the middle of a stream", async () => {
    const route = await seedTiers({ threshold: 1 });
    one.behave({ chunks: 400, chunkDelayMs: 10 });
    for (let times = 1; times <= 3; times++) {
      const client = await sendRawChat(route, { stream: true });
      const started = client.until((received) => received.includes("data: "));
      await passTimeUntil(clock, started);
      client.disconnect(times % 2 === 0);
      await one.until(() => one.requests.every((request) => request.aborted));
    }
    one.behave({});
    expect(await servedBy(route)).toBe("one");
  });

  test("a client that disconnects while the provider is silent in the middle of a stream", async () => {
    const route = await seedTiers({ threshold: 1 });
    await patchUpstream(gatehouse, route, { timeouts: { idle: 60_000 } });
    one.behave({ stallAfterChunks: 1 });
    for (let times = 1; times <= 3; times++) {
      const client = await sendRawChat(route, { stream: true });
      await client.until((received) => received.includes("data: "));
      client.disconnect(times % 2 === 0);
      await one.until(() => one.requests.every((request) => request.aborted));
    }
    one.behave({});
    expect(await servedBy(route)).toBe("one");
  });

  test("a client that disconnects while a response is read for translation", async () => {
    const targets = [anthropicTargetOf(one), targetOf(two, { priority: 2 })];
    const checks = { health_checks: { passive: true, threshold: 1, interval: 30 } };
    const route = await seedUpstream(gatehouse, targets, checks, { response_format: "openai" });
    // In chunks, so that its length is unknown.
    one.behave({ body: ['{"type":', '"message"}'], stallAfterChunks: 1 });
    const client = await sendRawChat(route, { stream: false });
    await one.until(() => (one.requests[0]?.bytesSent ?? 0) > 0);
    await eventLoopTurns();
    client.disconnect();
    await one.until(() => one.requests[0]?.aborted === true);
    one.behave({});
    expect(await servedBy(route)).toBe("one");
  });
});

describe("an ejected target is out for `interval` seconds, then one request tries it", () => {
  async function takeOut(route: Route): Promise<void> {
    one.behave({ status: 500 });
    for (let failures = 0; failures < THRESHOLD; failures++) await sendIgnoringResult(route);
    one.behave({});
    one.reset();
  }

  test("it gets no connection in the meantime; a success brings it back", async () => {
    const route = await seedTiers();
    await takeOut(route);
    const connections = one.connectionsOpened;
    for (const waitMs of [0, INTERVAL_MS / 2, INTERVAL_MS / 2 - 1]) {
      clock.advance(waitMs);
      expect(await servedBy(route)).toBe("two");
    }
    expect([one.requestCount, one.connectionsOpened]).toEqual([0, connections]);
    clock.advance(1);
    expect(await servedInTurn(route, 4)).toEqual(["one", "one", "one", "one"]);
  });

  test("only one request tries it, while others are served elsewhere", async () => {
    const route = await seedTiers();
    await patchUpstream(gatehouse, route, { timeouts: { first_byte: 5000 } });
    await takeOut(route);
    clock.advance(INTERVAL_MS);
    one.behave({ delayMs: 300 });
    const trial = servedBy(route);
    await one.until(() => one.requestCount === 1);
    const others = await Promise.all(Array.from({ length: 11 }, () => servedBy(route)));
    expect(countOf(others, "two")).toBe(11);
    clock.advance(300);
    expect(await trial).toBe("one");
    one.behave({});
    expect(await servedInTurn(route, 3)).toEqual(["one", "one", "one"]);
  });

  test("a failed trial ejects the target for another interval", async () => {
    const route = await seedTiers();
    await takeOut(route);
    clock.advance(INTERVAL_MS);
    one.behave({ status: 500 });
    expect(await servedInTurn(route, 3)).toEqual(["two", "two", "two"]);
    expect(one.requestCount).toBe(1);
    one.behave({});
    clock.advance(INTERVAL_MS - 1);
    expect(await servedBy(route)).toBe("two");
    clock.advance(1);
    expect(await servedBy(route)).toBe("one");
  });

  test("after a trial whose client disconnects, or that ends in a 4xx, the next request tries it", async () => {
    const route = await seedTiers();
    await patchUpstream(gatehouse, route, { timeouts: { first_byte: 5000 } });
    await takeOut(route);
    clock.advance(INTERVAL_MS);
    one.behave({ delayMs: 60_000 });
    const client = await sendRawChat(route, { stream: false });
    await one.until(() => one.requestCount === 1);
    client.disconnect();
    await one.until(() => one.requests[0]?.aborted === true);
    one.behave({ status: 400 });
    expect((await sendChat(route)).status).toBe(400);
    one.behave({});
    expect(await servedInTurn(route, 2)).toEqual(["one", "one"]);
  });

  test("a configuration change does not bring it back", async () => {
    const route = await seedTiers({ interval: 30 });
    await takeOut(route);
    await patchUpstream(gatehouse, route, { max_attempts: 2 });
    expect(await servedInTurn(route, 2)).toEqual(["two", "two"]);
  });
});

describe("a 429 with Retry-After rests the target", () => {
  const inSeconds = (seconds: number): string => new Date(clock.unixNow() + seconds * 1000).toUTCString();

  test.each([
    ["in seconds", 10_000, (): number | string => 10],
    // An HTTP date has whole seconds: this is 9 to 10 seconds from now.
    ["as an HTTP date", 9000, () => inSeconds(10)],
  ])("for that time, %s", async (_, shortestMs, retryAfter) => {
    const route = await seedTiers({ passive: false });
    one.behave({ rateLimited: { retryAfter: retryAfter() } });
    expect(await servedBy(route)).toBe("two");
    one.behave({});
    expect(await servedInTurn(route, 3)).toEqual(["two", "two", "two"]);
    clock.advance(shortestMs - 1);
    expect(await servedBy(route)).toBe("two");
    expect(one.requestCount).toBe(1);
    clock.advance(10_001 - shortestMs);
    expect(await servedBy(route)).toBe("one");
  });

  test("not without Retry-After, or with one that is in the past or invalid", async () => {
    const route = await seedTiers();
    one.behave({ status: 429 });
    await sendIgnoringResult(route);
    for (const retryAfter of [0, "soon", "-5", inSeconds(-3600)]) {
      one.behave({ rateLimited: { retryAfter } });
      await sendIgnoringResult(route);
    }
    expect(one.requestCount).toBe(5);
  });

  test("until the later of two times", async () => {
    const route = await seedTiers();
    await patchUpstream(gatehouse, route, { timeouts: { first_byte: 5000 } });
    one.behave(({ serial }) =>
      serial === 1
        ? { rateLimited: { retryAfter: 30 }, delayMs: 150 }
        : { rateLimited: { retryAfter: 1 }, delayMs: 300 },
    );
    const both = Promise.all([servedBy(route), servedBy(route)]);
    await one.until(() => one.requestCount === 2);
    await passTimeUntil(clock, both);
    one.behave({});
    clock.advance(2000);
    expect(await servedInTurn(route, 2)).toEqual(["two", "two"]);
  });

  test("for at most 60 s", async () => {
    // Both rest. The target whose rest ends first is used: "one", unless its hour was not limited.
    const route = await seedTiers();
    one.behave({ rateLimited: { retryAfter: 3600 } });
    two.behave({ rateLimited: { retryAfter: 90 } });
    expect((await outcomeOf(await sendChat(route))).status).toBe(429);
    one.behave({});
    two.behave({});
    expect(await servedBy(route)).toBe("one");
  });

  test("but is still used if it is the only target", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)]);
    one.behave({ rateLimited: { retryAfter: 30 } });
    const response = await sendChat(route);
    expect(response.headers.get("retry-after")).toBe("30");
    expect(response.status).toBe(429);
    one.behave({});
    expect(await servedInTurn(route, 2)).toEqual(["one", "one"]);
  });

  test("and if all other targets are out or drained", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {
      health_checks: { passive: true, threshold: 1, interval: 30 },
    });
    one.behave({ rateLimited: { retryAfter: 30 } });
    two.behave({ status: 500 });
    await sendIgnoringResult(route);
    one.behave({});
    const before = two.requestCount;
    expect(await servedInTurn(route, 2)).toEqual(["one", "one"]);
    expect(two.requestCount).toBe(before);
  });

  test("a configuration change does not end the rest", async () => {
    const route = await seedTiers();
    one.behave({ rateLimited: { retryAfter: 30 } });
    await sendIgnoringResult(route);
    one.behave({});
    await patchUpstream(gatehouse, route, { max_attempts: 2 });
    expect(await servedInTurn(route, 2)).toEqual(["two", "two"]);
  });
});

describe("without a healthy target", () => {
  test("503 no_healthy_target with Retry-After at once, and no request is sent", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {
      health_checks: { passive: true, threshold: 1, interval: 20 },
    });
    one.behave({ status: 500 });
    two.behave({ status: 500 });
    await sendIgnoringResult(route);
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 60_000 });
    const headers = await expectFailure(await sendChat(route), 503, "no_healthy_target");
    expect(headers.get("retry-after")).toBe("20");
    expect([one.requestCount, two.requestCount]).toEqual([1, 1]);
  });

  test("a client that waits for Retry-After is served", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], {
      health_checks: { passive: true, threshold: 1, interval: 1 },
    });
    one.behave({ status: 500 });
    await sendIgnoringResult(route);
    one.behave({});
    const headers = await expectFailure(await sendChat(route), 503, "no_healthy_target");
    clock.advance(Number(headers.get("retry-after")) * 1000);
    expect(await servedBy(route)).toBe("one");
  });

  test("also while a trial request is in progress", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], {
      health_checks: { passive: true, threshold: 1, interval: 1 },
    });
    one.behave({ status: 500 });
    await sendIgnoringResult(route);
    clock.advance(INTERVAL_MS);
    one.behave({ delayMs: 400 });
    const trial = servedBy(route);
    await one.until(() => one.requestCount === 2);
    const headers = await expectFailure(await sendChat(route), 503, "no_healthy_target");
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    clock.advance(400);
    expect(await trial).toBe("one");
  });
});

test("only log records were printed", () => {
  expect(strayOutput(gatehouse)).toEqual([]);
});
