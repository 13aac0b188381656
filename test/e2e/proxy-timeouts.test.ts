// The four timeouts of an upstream: connect, first byte, idle and total.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
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
  startProviders,
  strayOutput,
  targetOf,
} from "../support/balancing-fixtures.ts";
import { startGatehouseProcess, waitFor, type GatehouseProcess } from "../support/gatehouse-process.ts";

/** No timeout in these tests is longer than half a second, so a response that takes longer than this missed it. */
const IN_TIME_MS = 3000;

/** Generous, for a busy machine. */
const START_MS = 20_000;

let gatehouse: GatehouseProcess;
let one: FakeProvider;
let two: FakeProvider;

beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
  [one, two] = await startProviders("one", "two");
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await Promise.all([one.stop(), two.stop()]);
});
beforeEach(() => {
  one.reset();
  two.reset();
});

async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  expect(performance.now() - startedAt).toBeLessThan(IN_TIME_MS);
  return result;
}

test("connect 5000, first_byte 120000, idle 120000 and no total by default", async () => {
  const route = await seedUpstream(gatehouse, [targetOf(one)]);
  const { body } = await gatehouse.api("GET", route.upstream);
  expect(body.timeouts).toEqual({ connect: 5000, first_byte: 120_000, idle: 120_000, total: null });
});

// Listens with the shortest queue, accepts no connection, and prints its port.
const NEVER_ACCEPTS = `use Socket; $| = 1;
socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(0, INADDR_LOOPBACK)) or die; listen(S, 0) or die;
print((sockaddr_in(getsockname(S)))[0], "\\n"); sleep 600;`;

interface FullListener {
  readonly url: string;
  stop(): void;
}

/** Starts a listener whose queue is full: the kernel drops every further SYN, as if the host were down. */
async function startFullListener(): Promise<FullListener> {
  const child = Bun.spawn(["perl", "-e", NEVER_ACCEPTS], { stdout: "pipe" });
  const printed = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(printed.value));
  const sockets: { terminate(): unknown }[] = [];
  for (let isFull = false; !isFull;) {
    const connecting = Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
    void connecting.then((socket) => sockets.push(socket)).catch(() => undefined);
    isFull = await Promise.race([connecting.then(() => false), Bun.sleep(200).then(() => true)]);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      child.kill("SIGKILL");
      for (const socket of sockets) socket.terminate();
    },
  };
}

describe("connect", () => {
  let full: FullListener;
  beforeAll(async () => {
    full = await startFullListener();
  });
  afterAll(() => full.stop());
  const unreachable = () => ({ provider: "full", base_url: full.url, path: "/v1/chat/completions" });

  test("without a connection in time: 504 upstream_timeout, long before the first-byte timeout", async () => {
    const route = await seedUpstream(gatehouse, [unreachable()], { timeouts: { connect: 300 } });
    const headers = await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
    expect(headers.get("x-gw-attempts")).toBe("1");
  });

  test("leads to another target", async () => {
    const targets = [unreachable(), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, { timeouts: { connect: 300 } });
    expect(await inTime(async () => outcomeOf(await sendChat(route)))).toMatchObject({
      status: 200,
      provider: "two",
      attempts: "2",
    });
  });

  test("counts as a failure of the target", async () => {
    const targets = [unreachable(), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {
      timeouts: { connect: 200 },
      health_checks: { passive: true, threshold: 1, interval: 30 },
    });
    await servedBy(route);
    expect(await outcomeOf(await sendChat(route))).toMatchObject({ provider: "two", attempts: "1" });
  });

  test("applies to many requests at once", async () => {
    const route = await seedUpstream(gatehouse, [unreachable()], { timeouts: { connect: 300 } });
    const statuses = await inTime(() =>
      Promise.all(Array.from({ length: 20 }, async () => (await sendChat(route)).status)),
    );
    expect(new Set(statuses)).toEqual(new Set([504]));
  });

  test("limits pending connections: while one is overdue, others are started only now and then", async () => {
    const port = Number(new URL(full.url).port);
    const route = await seedUpstream(gatehouse, [unreachable()], { timeouts: { connect: 100 } });
    expect((await sendChat(route)).status).toBe(504);
    await Bun.sleep(3100);
    const before = connectionsTo(port);
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async () => (await sendChat(route)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([504]));
    expect(connectionsTo(port) - before).toBeLessThan(15);
  }, 15_000);

  test("a connected provider may take longer to respond", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { connect: 100 } });
    one.behave({ delayMs: 500 });
    expect((await sendChat(route)).status).toBe(200);
    expect(one.requestCount).toBe(1);
  });
});

describe("first_byte", () => {
  test("without a response in time: 504 upstream_timeout, and the request is canceled", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave({ delayMs: 60_000 });
    await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("a status line alone is not enough", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave({ headerDelayMs: 60_000 });
    await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
  });

  test("slowly arriving headers do not extend it", async () => {
    const dripping = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        async data(socket) {
          socket.write("HTTP/1.1 200 OK\r\n");
          for (let serial = 0; socket.readyState > 0; serial++) {
            socket.write(`X-Drip-${serial}: still here\r\n`);
            await Bun.sleep(40);
          }
        },
      },
    });
    const target = { provider: "drip", base_url: `http://127.0.0.1:${dripping.port}`, path: "/v1" };
    const route = await seedUpstream(gatehouse, [target], { timeouts: { first_byte: 300 } });
    await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
    dripping.stop(true);
  });

  test("interim responses do not extend it", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 200 } });
    one.behave({ informational: [102, 103], headerDelayMs: 60_000 });
    await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
  });

  test("ends with the headers: the body may arrive later", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { first_byte: 150 } });
    one.behave({ chunks: 6, chunkDelayMs: 60 });
    expect(await (await sendChat(route, { stream: true })).text()).toEndWith("data: [DONE]\n\n");
  });

  test("applies to each attempt", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, { timeouts: { first_byte: 300 } });
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 200 });
    expect(await outcomeOf(await sendChat(route))).toMatchObject({ status: 200, provider: "two" });
  });
});

describe("idle", () => {
  const idle = { timeouts: { idle: 200 } };

  test("silence between chunks cuts the client's stream and cancels the request", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ stallAfterChunks: 2 });
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(route, { stream: true, requestId });
    const { received } = await inTime(() => client.ended);
    expect(received).toContain("data: {");
    expect(received).not.toContain("[DONE]");
    expect(endedCleanly(received)).toBe(false);
    await one.until(() => one.requests[0]?.aborted === true);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  test("also in a translated stream", async () => {
    const route = await seedUpstream(gatehouse, [anthropicTargetOf(one)], idle, {
      response_format: "openai",
    });
    one.behave({ stallAfterChunks: 4 });
    const { received } = await inTime(async () => (await sendRawChat(route, { stream: true })).ended);
    expect(received).toContain("data: {");
    expect(received).not.toContain("[DONE]");
    expect(endedCleanly(received)).toBe(false);
  });

  test("silence before the first chunk is not an end either", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ stallAfterChunks: 0 });
    const outcome = await inTime(async () => {
      try {
        const response = await sendChat(route, { stream: true });
        await response.text();
        return response.status;
      } catch {
        return "broken";
      }
    });
    // No byte has been sent to the client yet, so it can still get an error.
    expect(outcome).toBeOneOf([504, "broken"]);
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("silence within a whole response: 504 upstream_timeout", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ headers: [["Content-Length", "5000"]], body: ["{"], stallAfterChunks: 1 });
    await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
  });

  test("a stream that keeps arriving may take longer", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    one.behave({ chunks: 10, chunkDelayMs: 60 });
    expect(await (await sendChat(route, { stream: true })).text()).toEndWith("data: [DONE]\n\n");
  });

  test("a client that does not read is not silence of the provider, and does not extend it later", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], idle);
    const bytes = 24 << 20;
    one.behave({ bigStream: { bytes, chunkBytes: 1 << 16 }, stallAfterChunks: bytes >> 16 });
    const client = await sendRawChat(route, { stream: false });
    await client.until((received) => received.length > 0);
    client.pause();
    await Bun.sleep(700);
    client.resume();
    const { received } = await inTime(() => client.ended);
    expect(received.length).toBeGreaterThan(bytes);
    expect(endedCleanly(received)).toBe(false);
  });
});

describe("total", () => {
  test("before the response: 504 upstream_timeout", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 200 } });
    one.behave({ delayMs: 60_000 });
    await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
    await one.until(() => one.requests[0]?.aborted === true);
  });

  test("in a stream that keeps arriving: the stream is cut", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 400 } });
    one.behave({ chunks: 2000, chunkDelayMs: 20 });
    const requestId = crypto.randomUUID();
    const { received } = await inTime(
      async () => (await sendRawChat(route, { stream: true, requestId })).ended,
    );
    expect(received).toContain("data: {");
    expect(received).not.toContain("[DONE]");
    expect(endedCleanly(received)).toBe(false);
    await one.until(() => one.requests[0]?.aborted === true);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  test("applies to all attempts together", async () => {
    const targets = [targetOf(one), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, { timeouts: { first_byte: 400, total: 600 } });
    one.behave({ delayMs: 60_000 });
    two.behave({ delayMs: 60_000 });
    const startedAt = performance.now();
    const headers = await inTime(async () => expectFailure(await sendChat(route), 504, "upstream_timeout"));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(590);
    expect(headers.get("x-gw-attempts")).toBe("2");
    await two.until(() => two.requests[0]?.aborted === true);
    expect(two.requests[0]!.abortedAt! - two.requests[0]!.startedAt).toBeLessThan(395);
  });

  test("while the client uploads: 504 upstream_timeout, and no request is sent", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 200 } });
    const slowBody = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('{"messages":['));
        await Bun.sleep(600);
        controller.enqueue(new TextEncoder().encode("]}"));
        controller.close();
      },
    });
    const response = await fetch(route.url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: slowBody,
    });
    await expectFailure(response, 504, "upstream_timeout");
    expect(one.requestCount).toBe(0);
  });

  test("a response within it is complete, and no timer ends the next one", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { timeouts: { total: 2000 } });
    one.behave({ chunks: 4, chunkDelayMs: 200 });
    // Together they take longer than the timeout.
    for (let times = 0; times < 3; times++) {
      expect(await (await sendChat(route, { stream: true })).text()).toEndWith("data: [DONE]\n\n");
    }
  });
});

test("the process still runs, and printed only log records", async () => {
  await waitFor(async () => ((await fetch(`${gatehouse.proxyUrl}/healthz`)).ok ? true : null));
  expect(strayOutput(gatehouse)).toEqual([]);
});
