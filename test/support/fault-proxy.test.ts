// The fault proxy: every fault in both directions, and transparent forwarding without faults.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { connectRaw, type RawClient } from "./raw-client.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { eventLoopTurns, passTimeUntil, untilStable, waitUntil } from "./waiting.ts";

/** A server that sends back every byte. */
let echo: Bun.TCPSocketListener;
let proxy: FaultProxy;
let clock: ManualClock;
beforeEach(() => {
  echo = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket, bytes) => void socket.write(bytes) },
  });
  clock = new ManualClock();
  proxy = startFaultProxy({ port: echo.port, clock });
});
afterEach(() => {
  proxy.stop();
  echo.stop(true);
});

const echoed = (client: RawClient, text: string) => client.until((received) => received.endsWith(text));

test("without faults, forwards everything in both directions and closes when the client closes", async () => {
  const client = await connectRaw(proxy.port);
  for (const text of ["one", "two", "x".repeat(100_000)]) {
    client.send(text);
    await echoed(client, text);
  }
  expect(client.received()).toBe(`onetwo${"x".repeat(100_000)}`);
  expect(proxy.openConnections()).toBe(1);
  client.disconnect();
  await waitUntil(() => proxy.openConnections() === 0);
});

test("through() replaces only the port of a URL", () => {
  const given = proxy.through("postgres://postgres@127.0.0.1:5432/gatehouse");
  expect(given).toBe(`postgres://postgres@127.0.0.1:${proxy.port}/gatehouse`);
});

test("a delay keeps the order of the bytes", async () => {
  const client = await connectRaw(proxy.port);
  proxy.set({ toServer: { delayMs: 50 }, toClient: { delayMs: 50 } });
  client.send("a");
  // A timer shows that the byte has arrived.
  await waitUntil(() => clock.timerCount > 0);
  client.send("b");
  clock.advance(50);
  await waitUntil(() => clock.timerCount > 0);
  expect(client.received()).toBe("");
  expect(await passTimeUntil(clock, echoed(client, "ab"))).toBe("ab");
});

describe.each(["toServer", "toClient"] as const)("%s", (direction) => {
  test("is closed and reset after a number of bytes", async () => {
    proxy.set({ [direction]: { cutAfterBytes: 3 } });
    const cut = await connectRaw(proxy.port);
    cut.send("12345");
    const { received, reset } = await cut.ended;
    expect(received).toBe(direction === "toClient" ? "123" : "");
    expect(reset).toBe(false);
    proxy.set({ [direction]: { resetAfterBytes: 3 } });
    const broken = await connectRaw(proxy.port);
    broken.send("12345");
    expect((await broken.ended).reset).toBe(true);
    await waitUntil(() => proxy.openConnections() === 0);
  });

  test("stalls after a number of bytes, and continues when healed", async () => {
    proxy.set({ [direction]: { stallAfterBytes: 3 } });
    const client = await connectRaw(proxy.port);
    client.send("12345");
    await echoed(client, "123");
    await eventLoopTurns();
    expect(client.received()).toBe("123");
    proxy.heal();
    await echoed(client, "12345");
  });

  test("is throttled", async () => {
    proxy.set({ [direction]: { bytesPerSecond: 20_000 } });
    const client = await connectRaw(proxy.port);
    const startedAt = clock.now();
    client.send("x".repeat(4000));
    await passTimeUntil(
      clock,
      client.until((received) => received.length === 4000),
    );
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(180);
  });
});

test("refuse() rejects connections and resets open ones; heal() accepts them again", async () => {
  const client = await connectRaw(proxy.port);
  client.send("hello");
  await echoed(client, "hello");
  proxy.refuse();
  await client.ended;
  const isRejected = await connectRaw(proxy.port).then(
    () => false,
    () => true,
  );
  expect(isRejected).toBe(true);
  proxy.heal();
  const later = await connectRaw(proxy.port);
  later.send("again");
  await echoed(later, "again");
  proxy.dropAll("cut");
  expect((await later.ended).reset).toBe(false);
  expect(proxy.accepted).toBe(2);
});

test("backpressure of a client that does not read reaches the server", async () => {
  let written = 0;
  const big = Buffer.alloc(1 << 20);
  const flood = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => void (written += socket.write(big)),
      drain: (socket) => void (written += socket.write(big)),
      data: () => undefined,
    },
  });
  const flooded = startFaultProxy({ port: flood.port });
  flooded.set({ toClient: { stallAfterBytes: 0 } });
  const client = await connectRaw(flooded.port);
  await waitUntil(() => written > 0);
  expect(await untilStable(() => written)).toBeLessThan(64 << 20);
  client.disconnect(true);
  flooded.stop();
  flood.stop(true);
});
