// The fault proxy does what it is told, and nothing when it is told nothing.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connectRaw, type RawClient } from "./raw-client.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { waitFor } from "./gatehouse-process.ts";

/** Sends back what it gets. */
let echo: Bun.TCPSocketListener;
let proxy: FaultProxy;
beforeEach(() => {
  echo = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket, bytes) => void socket.write(bytes) },
  });
  proxy = startFaultProxy({ port: echo.port });
});
afterEach(() => {
  proxy.stop();
  echo.stop(true);
});

const echoed = (client: RawClient, text: string) => client.until((received) => received.endsWith(text));

test("passes everything both ways when it is told nothing, and ends when the client does", async () => {
  const client = await connectRaw(proxy.port);
  for (const text of ["one", "two", "x".repeat(100_000)]) {
    client.send(text);
    await echoed(client, text);
  }
  expect(client.received()).toBe(`onetwo${"x".repeat(100_000)}`);
  expect(proxy.openConnections()).toBe(1);
  client.leave();
  await waitFor(() => (proxy.openConnections() === 0 ? true : null));
});

test("through() gives an address the proxy's port and leaves the rest", () => {
  const given = proxy.through("postgres://postgres@127.0.0.1:5432/gatehouse");
  expect(given).toBe(`postgres://postgres@127.0.0.1:${proxy.port}/gatehouse`);
});

test("delay: later, in order, and no longer once healed", async () => {
  const client = await connectRaw(proxy.port);
  proxy.set({ toServer: { delayMs: 50 }, toClient: { delayMs: 50 } });
  const startedAt = performance.now();
  client.send("a");
  await Bun.sleep(5);
  client.send("b");
  expect(await echoed(client, "ab")).toBe("ab");
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
});

describe.each(["toServer", "toClient"] as const)("%s", (direction) => {
  test("cut and reset at a byte", async () => {
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
    await waitFor(() => (proxy.openConnections() === 0 ? true : null));
  });

  test("stalled at a byte, and goes on when healed", async () => {
    proxy.set({ [direction]: { stallAfterBytes: 3 } });
    const client = await connectRaw(proxy.port);
    client.send("12345");
    await echoed(client, "123");
    await Bun.sleep(50);
    expect(client.received()).toBe("123");
    proxy.heal();
    await echoed(client, "12345");
  });

  test("throttled", async () => {
    proxy.set({ [direction]: { bytesPerSecond: 20_000 } });
    const client = await connectRaw(proxy.port);
    const startedAt = performance.now();
    client.send("x".repeat(4000));
    await client.until((received) => received.length === 4000);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(180);
  });
});

test("refuse: nobody gets in, open ones are reset; healed, they get in again", async () => {
  const client = await connectRaw(proxy.port);
  client.send("hello");
  await echoed(client, "hello");
  proxy.refuse();
  await client.ended;
  const refused = await connectRaw(proxy.port).then(
    () => false,
    () => true,
  );
  expect(refused).toBe(true);
  proxy.heal();
  const later = await connectRaw(proxy.port);
  later.send("again");
  await echoed(later, "again");
  proxy.dropAll("cut");
  expect((await later.ended).reset).toBe(false);
  expect(proxy.accepted).toBe(2);
});

test("a reader that does not read holds back the writer behind the proxy", async () => {
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
  let last = -1;
  await waitFor(async () => {
    if (written > 0 && written === last) return true;
    last = written;
    await Bun.sleep(100);
    return null;
  });
  expect(written).toBeLessThan(64 << 20);
  client.leave(true);
  flooded.stop();
  flood.stop(true);
});
