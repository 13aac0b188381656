// The four timeouts of an upstream: connect, first byte, idle and total.
import { afterAll, describe, expect, test } from "bun:test";
import {
  accessLine,
  anthropicTargetOf,
  sendChat,
  sendRawChat,
  connectionsTo,
  endedCleanly,
  expectFailure,
  outcomeOf,
  seedUpstream,
  servedBy,
  strayOutput,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startFullListener } from "../support/full-listener.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { passTimeUntil, untilStable } from "../support/waiting.ts";

/** Half of the default timeouts: a response after this time is not due to the timeout that the test sets. */
const LATEST_MS = 60_000;

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

/** Lets time pass until the promise settles, and expects that to happen when the timeout expires. */
async function afterTimeout<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  const startedAt = clock.now();
  const result = await passTimeUntil(clock, promise);
  expect(clock.now() - startedAt).toBeWithin(timeoutMs, LATEST_MS);
  return result;
}

/** Sends a chat and expects the error response for a timeout. */
const expectTimeout = async (timeoutMs: number, route: Route) =>
  expectFailure(await afterTimeout(timeoutMs, sendChat(route)), 504, "upstream_timeout");

/** Sends a chat and returns the whole stream, while time passes. */
async function streamOf(route: Route): Promise<string> {
  const text = sendChat(route, { stream: true }).then((response) => response.text());
  return passTimeUntil(clock, text);
}

/** Expects a stream that began and was cut. */
function expectCut(received: string): void {
  expect(received).toContain("data: {");
  expect(received).not.toContain("[DONE]");
  expect(endedCleanly(received)).toBe(false);
}

test("connect 5000, first_byte 120000, idle 120000 and no total by default", async () => {
  const route = await seedUpstream(gatehouse, [targetOf(one)]);
  const { body } = await gatehouse.api("GET", route.upstream);
  expect(body.timeouts).toEqual({
    connect: 5000,
    first_byte: 120_000,
    first_content: null,
    idle: 120_000,
    total: null,
  });
});

const full = await startFullListener();

describe("connect", () => {
  afterAll(() => full.stop());
  const statusesOf = (route: Route, count: number) =>
    Promise.all(Array.from({ length: count }, async () => (await sendChat(route)).status));
  const unreachable = { provider: "full", base_url: full.url, path: "/v1/chat/completions" };

  test("without a connection in time: 504 upstream_timeout, long before the first-byte timeout", async () => {
    const route = await seedUpstream(gatehouse, [unreachable], { timeouts: { connect: 300 } });
    const headers = await expectTimeout(300, route);
    expect(headers.get("x-gw-attempts")).toBe("1");
  });

  test("leads to another target", async () => {
    const targets = [unreachable, targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, { timeouts: { connect: 300 } });
    expect(await outcomeOf(await afterTimeout(300, sendChat(route)))).toMatchObject({
      status: 200,
      provider: "two",
      attempts: "2",
    });
  });

  test("counts as a failure of the target", async () => {
    const targets = [unreachable, targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {
      timeouts: { connect: 200 },
      health_checks: { passive: true, threshold: 1, interval: 30 },
    });
    expect(await afterTimeout(200, servedBy(route))).toBe("two");
    expect(await outcomeOf(await sendChat(route))).toMatchObject({ provider: "two", attempts: "1" });
  });

  test("applies to many requests at once", async () => {
    const route = await seedUpstream(gatehouse, [unreachable], { timeouts: { connect: 300 } });
    const statuses = await afterTimeout(300, statusesOf(route, 20));
    expect(new Set(statuses)).toEqual(new Set([504]));
  });

  test("limits pending connections: while one is overdue, others are started only now and then", async () => {
    const port = Number(new URL(full.url).port);
    const route = await seedUpstream(gatehouse, [unreachable], { timeouts: { connect: 100 } });
    await expectTimeout(100, route);
    clock.advance(3100);
    const before = connectionsTo(port);
    const statuses = await afterTimeout(100, statusesOf(route, 30));
    expect(new Set(statuses)).toEqual(new Set([504]));
    expect(connectionsTo(port) - before).toBeLessThan(3);
  });

  test("a connected provider may take longer to respond", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { connect: 100 } });
    one.behave({ delayMs: 500 });
    expect((await afterTimeout(500, sendChat(route))).status).toBe(200);
    expect(one.requestCount).toBe(1);
  });
});

describe("first_byte", () => {
  test("without a response in time: 504 upstream_timeout, and the request is canceled", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave({ delayMs: 60_000 });
    await expectTimeout(200, route);
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("a status line alone is not enough", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave({ headerDelayMs: 60_000 });
    await expectTimeout(200, route);
  });

  test("slowly arriving headers do not extend it", async () => {
    const dripping = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket) {
          socket.write("HTTP/1.1 200 OK\r\n");
          let serial = 0;
          clock.setInterval(() => socket.write(`X-Drip-${++serial}: still here\r\n`), 40);
        },
      },
    });
    const target = { provider: "drip", base_url: `http://127.0.0.1:${dripping.port}`, path: "/v1" };
    const route = await seedUpstream(gatehouse, [target], { timeouts: { first_byte: 300 } });
    await expectTimeout(300, route);
    dripping.stop(true);
  });

  test("interim responses do not extend it", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave({ informational: [102, 103], headerDelayMs: 60_000 });
    await expectTimeout(200, route);
  });

  test("ends with the headers: the body may arrive later", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 150 } });
    one.behave({ chunks: 6, chunkDelayMs: 60 });
    expect(await streamOf(route)).toEndWith("data: [DONE]\n\n");
  });

  test("applies to each attempt", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, { timeouts: { first_byte: 300 } });
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 200 });
    const response = await afterTimeout(300 + 200, sendChat(route));
    expect(await outcomeOf(response)).toMatchObject({ status: 200, provider: "two" });
  });
});

describe("idle", () => {
  const idle = { timeouts: { idle: 200 } };

  test("silence between chunks cuts the client's stream and cancels the request", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ stallAfterChunks: 2 });
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(route, { stream: true, requestId });
    expectCut((await afterTimeout(200, client.ended)).received);
    await one.until(() => one.requests[0]?.aborted === true);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  test("also in a translated stream", async () => {
    const route = await seedUpstream(gatehouse, [anthropicTargetOf(one)], idle, {
      response_format: "openai",
    });
    one.behave({ stallAfterChunks: 4 });
    const client = await sendRawChat(route, { stream: true });
    expectCut((await afterTimeout(200, client.ended)).received);
  });

  test("silence before the first chunk is not an end either", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ stallAfterChunks: 0 });
    const outcome = await afterTimeout(
      200,
      sendChat(route, { stream: true })
        .then((response) => response.text().then(() => response.status))
        .catch(() => "broken"),
    );
    // No byte has been sent to the client yet, so it can still get an error.
    expect(outcome).toBeOneOf([504, "broken"]);
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("silence within a whole response: 504 upstream_timeout", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ headers: [["Content-Length", "5000"]], body: ["{"], stallAfterChunks: 1 });
    await expectTimeout(200, route);
  });

  test("a stream that keeps arriving may take longer", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ chunks: 10, chunkDelayMs: 60 });
    expect(await streamOf(route)).toEndWith("data: [DONE]\n\n");
  });

  test("a client that does not read is not silence of the provider, and does not extend it later", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    const bytes = 24 << 20;
    one.behave({ bigStream: { bytes, chunkBytes: 1 << 16 }, stallAfterChunks: bytes >> 16 });
    const client = await sendRawChat(route, { stream: false });
    await client.until((received) => received.length > 0);
    client.pause();
    await untilStable(() => one.requests[0]!.bytesSent);
    clock.advance(700);
    client.resume();
    await one.until(() => one.requests[0]!.bytesSent >= bytes);
    const { received } = await passTimeUntil(clock, client.ended);
    expect(received.length).toBeGreaterThan(bytes);
    expect(endedCleanly(received)).toBe(false);
  });
});

describe("total", () => {
  test("before the response: 504 upstream_timeout", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 200 } });
    one.behave({ delayMs: 60_000 });
    await expectTimeout(200, route);
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("in a stream that keeps arriving: the stream is cut", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 400 } });
    one.behave({ chunks: 2000, chunkDelayMs: 20 });
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(route, { stream: true, requestId });
    expectCut((await afterTimeout(400, client.ended)).received);
    await one.until(() => one.requests[0]?.aborted === true);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  test("applies to all attempts together", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, { timeouts: { first_byte: 400, total: 600 } });
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 60_000 });
    const headers = await expectTimeout(600, route);
    expect(headers.get("x-gw-attempts")).toBe("2");
    await two.until(() => two.requests[0]?.aborted === true);
  });

  test("while the client uploads: 504 upstream_timeout, and no request is sent", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 200 } });
    const unfinishedBody = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"messages":['));
      },
    });
    const response = fetch(route.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: unfinishedBody,
    });
    await expectFailure(await afterTimeout(200, response), 504, "upstream_timeout");
    expect(one.requestCount).toBe(0);
  });

  test("a response within it is complete, and no timer ends the next one", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 2000 } });
    one.behave({ chunks: 4, chunkDelayMs: 200 });
    // Together they take longer than the timeout.
    for (let times = 0; times < 3; times++) {
      expect(await streamOf(route)).toEndWith("data: [DONE]\n\n");
    }
  });
});

test("only log records were printed", () => {
  expect(strayOutput(gatehouse)).toEqual([]);
});
