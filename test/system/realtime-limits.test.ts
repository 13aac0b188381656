// WebSockets of realtime endpoints under pressure: backpressure, sizes, hostile frames, limits, timeouts, usage and shutdown.
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { startGatehouseProcess, type RunningGatehouse } from "../support/gatehouse-process.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { rawCall, seedKey, seedRoute } from "../support/proxy-fixtures.ts";
import { connectRaw, type RawClient } from "../support/raw-client.ts";
import { startRawProvider, type ProviderConnection } from "../support/raw-provider.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { passTimeUntil, untilStable, waitFor, waitUntil } from "../support/waiting.ts";

const provider = useRealtimeProvider();
const raw = startRawProvider();
afterAll(() => raw.stop());
const MEBIBYTE = 1024 * 1024;
const gatehouse = await useGatehouseProcess({
  env: { MAX_BODY_BYTES: String(MEBIBYTE), MAX_IN_FLIGHT_PER_CLIENT: "2" },
});
const withLittleMemory = await useGatehouseProcess({ env: { MAX_BUFFERED_BYTES: String(4 * MEBIBYTE) } });

const HANDSHAKE =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

let count = 0;

async function seed(
  at: Pick<RunningGatehouse, "api" | "proxyUrl"> = gatehouse,
  upstream: Record<string, unknown> = {},
  baseUrl = provider.url,
) {
  const route = await seedRoute(at, {
    upstream: { targets: [{ provider: "openai", base_url: baseUrl }], max_attempts: 1, ...upstream },
    rule: { path: `/limits${++count}/realtime`, methods: ["GET"] },
  });
  return { ...route, url: at.proxyUrl + route.path };
}

/** Sends a handshake over TCP. Resolves when the WebSocket is open. */
async function openRaw(url: string): Promise<RawClient> {
  const { port, pathname } = new URL(url);
  const client = await connectRaw(Number(port));
  client.send(`GET ${pathname} HTTP/1.1\r\nHost: x\r\n${HANDSHAKE}\r\n`);
  await client.until((text) => text.startsWith("HTTP/1.1 101 ") && text.includes("\r\n\r\n"));
  return client;
}

/** Returns a frame of a client with a mask of zeros. */
function clientFrame(opcode: number, payload: string, isFinal = true): string {
  return String.fromCharCode((isFinal ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0) + payload;
}

/** Accepts the handshake of the gateway and sends frames in the same segment. */
async function acceptHandshake(connection: ProviderConnection, frames = ""): Promise<void> {
  const request = await connection.request();
  const key = /sec-websocket-key: (\S+)/i.exec(request)?.[1] ?? "";
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  await connection.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n${frames}`,
  );
}

async function metric(at: RunningGatehouse, name: string): Promise<string | null> {
  const page = await (await fetch(`${at.adminUrl}/metrics`)).text();
  return page.split("\n").find((line) => line.startsWith(name)) ?? null;
}

async function requestRecord(at: RunningGatehouse, gateway: string) {
  return waitFor(async () => {
    const { body } = await at.api("GET", `/gateways/${gateway}/requests`);
    return body.requests[0] ?? null;
  });
}

describe("backpressure", () => {
  const MESSAGE = "x".repeat(64 * 1024);
  const MESSAGES = 1000;
  /** What the gateway and the kernel may take: far less than all messages, which are 64 MB. */
  const MAX_TAKEN = 24 * MEBIBYTE;

  test("a client that does not read stops the provider, and gets everything when it reads again", async () => {
    const client = await openRaw((await seed()).url);
    client.pause();
    const socket = await provider.socket();
    for (let index = 0; index < MESSAGES; index++) socket.send(MESSAGE);
    const left = await untilStable(() => socket.getBufferedAmount());
    expect(left).toBeGreaterThan(MESSAGES * MESSAGE.length - MAX_TAKEN);
    socket.close(4000, "last");
    client.resume();
    const { received } = await client.ended;
    expect(received.length).toBeGreaterThan(MESSAGES * MESSAGE.length);
    expect(received).toEndWith("last");
  });

  test("a provider that does not read stops the client, and gets everything when it reads again", async () => {
    const client = await openRealtime((await seed()).url);
    const socket = await provider.socket();
    provider.onMessage = () => undefined;
    socket.pause();
    for (let index = 0; index < MESSAGES; index++) client.socket.send(MESSAGE);
    const left = await untilStable(() => client.socket.bufferedAmount);
    expect(left).toBeGreaterThan(MESSAGES * MESSAGE.length - MAX_TAKEN);
    socket.resume();
    client.socket.close(1000);
    await waitUntil(() => provider.closes.length > 0);
    expect(provider.messages).toHaveLength(MESSAGES);
    expect(provider.messages.every((message) => message === MESSAGE)).toBe(true);
  });
});

describe("messages that are not finished take at most MAX_BUFFERED_BYTES together, else 1013", () => {
  const REASON = "Messages and bodies in memory have reached MAX_BUFFERED_BYTES. Connect again later.";
  const CLOSED = `\x88${String.fromCharCode(REASON.length + 2)}\x03\xf5${REASON}`;
  const PART = "x".repeat(1_000_000);
  /** A fragment of this size. */
  const LENGTH = `\0\0\0\0${String.fromCharCode(0, PART.length >> 16, (PART.length >> 8) & 0xff, PART.length & 0xff)}`;

  test("of clients", async () => {
    const { url } = await seed(withLittleMemory);
    const clients = await Promise.all(Array.from({ length: 5 }, () => openRaw(url)));
    for (const client of clients) client.send(`\x02\xff${LENGTH}\0\0\0\0${PART}`);
    await Promise.any(clients.map((client) => client.until((text) => text.endsWith(CLOSED))));
    await waitFor(async () => {
      const used = await metric(withLittleMemory, "gatehouse_buffered_body_bytes");
      return Number(used?.split(" ")[1]) <= 3 * PART.length ? true : null;
    });
    for (const client of clients) client.disconnect();
    await waitFor(async () => {
      const used = await metric(withLittleMemory, "gatehouse_buffered_body_bytes");
      return used === "gatehouse_buffered_body_bytes 0" ? true : null;
    });
    expect(provider.messages).toEqual([]);
  });

  test("of providers", async () => {
    await raw.behave((opened) => acceptHandshake(opened, `\x02\x7f${LENGTH}${PART}`));
    const { url } = await seed(withLittleMemory, {}, raw.url);
    const clients = await Promise.all(Array.from({ length: 5 }, () => openRaw(url)));
    await Promise.any(clients.map((client) => client.until((text) => text.endsWith(CLOSED))));
    for (const client of clients) client.disconnect();
    await waitFor(async () => {
      const used = await metric(withLittleMemory, "gatehouse_buffered_body_bytes");
      return used === "gatehouse_buffered_body_bytes 0" ? true : null;
    });
  });
});

describe("sizes and frames", () => {
  test("a client's message above MAX_BODY_BYTES closes both sockets, the client's with 1009", async () => {
    const client = await openRealtime((await seed()).url);
    await provider.socket();
    client.socket.send("x".repeat(MEBIBYTE + 1));
    expect(await client.closed).toMatchObject({ code: 1009 });
    await waitUntil(() => provider.closes.some(({ code }) => code === 1001));
    expect(provider.messages).toEqual([]);
  });

  test("a provider's message above 32 MiB closes both sockets, the provider's with 1009", async () => {
    const client = await openRealtime((await seed()).url);
    (await provider.socket()).send("x".repeat(32 * MEBIBYTE + 1));
    expect(await client.closed).toMatchObject({ code: 1011 });
    await waitUntil(() => provider.closes.some(({ code }) => code === 1009));
    expect(client.messages).toEqual([]);
  });

  test("fragments of a client, with a ping in between, arrive as one message", async () => {
    const client = await openRaw((await seed()).url);
    const frames = [clientFrame(1, "frag", false), clientFrame(9, "p"), clientFrame(0, "ment")];
    for (const byte of frames.join("")) client.send(byte);
    await client.until((text) => text.endsWith("\x81\x08fragment"));
    expect(provider.messages).toEqual(["fragment"]);
    client.disconnect();
  });

  test("fragments of a provider, with a ping in between, arrive as one message", async () => {
    let connection: ProviderConnection | null = null;
    await raw.behave(async (opened) => {
      connection = opened;
      await acceptHandshake(opened);
      await opened.write("\x01\x04frag\x89\x01p\x80\x04ment");
      await opened.write("\x88\x02\x0f\xa0");
    });
    const client = await openRealtime((await seed(gatehouse, {}, raw.url)).url);
    expect(await client.closed).toMatchObject({ code: 4000 });
    expect(client.messages).toEqual(["fragment"]);
    expect(connection).not.toBeNull();
  });

  test("frames that arrive together with the provider's handshake are relayed", async () => {
    await raw.behave(async (connection) => {
      await acceptHandshake(connection, "\x81\x05hello\x88\x02\x0f\xa0");
    });
    const client = await openRealtime((await seed(gatehouse, {}, raw.url)).url);
    expect(await client.closed).toMatchObject({ code: 4000 });
    expect(client.messages).toEqual(["hello"]);
  });

  test("a close frame without a code is passed on as 1000 to a client, and without a code to a provider", async () => {
    await raw.behave(async (connection) => {
      await acceptHandshake(connection);
      await connection.write("\x88\x00");
    });
    const client = await openRealtime((await seed(gatehouse, {}, raw.url)).url);
    expect(await client.closed).toMatchObject({ code: 1000 });
    const other = await openRaw((await seed()).url);
    other.send(clientFrame(8, ""));
    await other.ended;
    await waitUntil(() => provider.closes.some(({ code }) => code === 1005));
  });

  test.each([
    ["a masked frame", "\x81\x81\0\0\0\0x"],
    ["reserved bits", "\xf1\x01x"],
    ["a continuation without a message", "\x80\x01x"],
    ["a close code that must not be sent", "\x88\x02\x03\xee"],
    ["a text that is not UTF-8", "\x81\x01\xff"],
    ["a message of 2^63 bytes", "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"],
    ["bytes that are no frames", "HTTP/1.1 200 OK\r\n\r\n"],
  ])("%s of a provider closes the client's socket with 1011", async (_name, bytes) => {
    await raw.behave(async (connection) => {
      await acceptHandshake(connection);
      await connection.write(bytes);
    });
    const client = await openRealtime((await seed(gatehouse, {}, raw.url)).url);
    expect(await client.closed).toMatchObject({ code: 1011 });
  });

  test.each([
    ["no Sec-WebSocket-Accept", "Connection: Upgrade\r\nUpgrade: websocket\r\n"],
    [
      "a wrong Sec-WebSocket-Accept",
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: AAAA\r\n",
    ],
    ["no Upgrade", "Connection: Upgrade\r\n"],
  ])("a 101 with %s is 502 for the client", async (_name, headers) => {
    await raw.behave(async (connection) => {
      await connection.request();
      await connection.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`);
    });
    const { path } = await seed(gatehouse, {}, raw.url);
    const headersOf = HANDSHAKE.trim()
      .split("\r\n")
      .map((line) => line.split(": ") as [string, string]);
    const response = await rawCall(gatehouse.proxyUrl, { method: "GET", target: path, headers: headersOf });
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject({ code: "upstream_bad_answer" });
  });
});

describe("limits of requests in flight", () => {
  test("an open socket counts, and is counted in the metrics, until it ends", async () => {
    const { url, path } = await seed();
    const before = await metric(gatehouse, "gatehouse_open_websockets");
    const [one, two] = await Promise.all([openRealtime(url), openRealtime(url)]);
    expect(await metric(gatehouse, "gatehouse_open_websockets")).toBe("gatehouse_open_websockets 2");
    expect(before).toBe("gatehouse_open_websockets 0");
    const third = await rawCall(gatehouse.proxyUrl, { method: "GET", target: path });
    expect(third.status).toBe(429);
    expect(third.json()).toMatchObject({ code: "concurrency_limit_exceeded" });
    one.socket.close();
    two.socket.terminate();
    await waitUntil(async () => (await metric(gatehouse, "gatehouse_open_websockets")) === before);
    (await openRealtime(url)).socket.close();
  });

  test("a socket that has ended is not counted for its client any more", async () => {
    const { url, gateway } = await seed();
    const first = await openRealtime(url);
    for (let ended = 1; ended <= 4; ended++) {
      (await openRealtime(url)).socket.close();
      await waitUntil(async () => {
        const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
        return body.requests.length === ended;
      });
    }
    first.socket.close();
  });
});

describe("usage", () => {
  /** The input tokens of the gateway in the metrics. */
  const inputTokens = async (gateway: string) => {
    const { name } = (await gatehouse.api("GET", `/gateways/${gateway}`)).body;
    return metric(gatehouse, `gatehouse_tokens_total{gateway="${name}"`);
  };

  const done = (usage: unknown) =>
    JSON.stringify({ type: "response.done", response: { status: "completed", usage } });

  test("is settled for each response while the socket is open, and the request log has the sum", async () => {
    const route = await seed();
    const { key, id } = await seedKey(gatehouse, route.gateway);
    await gatehouse.api("PUT", "/prices", {
      prices: [
        {
          model: "gpt-rt",
          input: "1",
          output: "10",
          cached_input: "0.5",
          audio_input: "4",
          audio_output: "20",
        },
      ],
    });
    const client = await openRealtime(`${route.url}?model=gpt-rt`, { headers: { "X-GW-API-Key": key } });
    const socket = await provider.socket();
    socket.send('{"type":"response.created"}');
    socket.send(
      done({
        total_tokens: 150,
        input_tokens: 100,
        output_tokens: 50,
        input_token_details: {
          cached_tokens: 40,
          audio_tokens: 30,
          cached_tokens_details: { audio_tokens: 10 },
        },
        output_token_details: { text_tokens: 10, audio_tokens: 40 },
      }),
    );
    // 40 cached, 20 audio that is not cached, 40 text; 10 text and 40 audio of output.
    // In millionths: 40 * 0.5 + 20 * 4 + 40 * 1 + 10 * 10 + 40 * 20 = 1040.
    expect(await totalAfter(gatehouse, route, 1)).toMatchObject({
      requests: 1,
      partial_requests: 0,
      input_tokens: 100,
      output_tokens: 50,
      cost: 0.00104,
    });
    expect(await inputTokens(route.gateway)).toEndWith(" 100");
    socket.send(done({ input_tokens: 5, output_tokens: 7 }));
    socket.send(JSON.stringify({ type: "conversation.item.created", text: done({ input_tokens: 1e9 }) }));
    expect(await totalAfter(gatehouse, route, 2)).toMatchObject({ input_tokens: 105, output_tokens: 57 });
    client.socket.close();
    expect(await requestRecord(gatehouse, route.gateway)).toMatchObject({
      status: 101,
      api_key: { id },
      tokens: { input: 105, output: 57, cached_input: 40, partial: false },
      cost: 0.001115,
    });
    // Nothing is counted a second time at the end.
    expect(await totalAfter(gatehouse, route, 2)).toMatchObject({ requests: 2, input_tokens: 105 });
    expect(await inputTokens(route.gateway)).toEndWith(" 105");
  });

  test("a response that is cut off is counted as partial", async () => {
    const route = await seed();
    const client = await openRealtime(`${route.url}?model=gpt-rt`);
    const socket = await provider.socket();
    socket.send('{"type":"response.created","response":{}}');
    await client.next();
    socket.terminate();
    await client.closed;
    expect(await totalAfter(gatehouse, route, 1)).toMatchObject({ requests: 1, partial_requests: 1 });
    expect(await requestRecord(gatehouse, route.gateway)).toMatchObject({ tokens: { partial: true } });
  });
});

describe("timeouts", () => {
  test("a socket without messages and pings of the client is closed after timeouts.idle", async () => {
    const inProcess = await startGatehouseInProcess();
    const { clock } = inProcess;
    const route = await seed(inProcess, { timeouts: { idle: 1000 } });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    const stillOpen = async () => {
      client.socket.send("still open");
      expect(await client.next()).toBe("still open");
    };
    clock.advance(900);
    await stillOpen();
    clock.advance(900);
    let pongs = 0;
    client.socket.addEventListener("pong", () => {
      pongs++;
    });
    client.socket.ping();
    await waitUntil(() => pongs === 1);
    clock.advance(900);
    socket.send("from the provider");
    expect(await client.next()).toBe("from the provider");
    clock.advance(900);
    await stillOpen();
    clock.advance(900);
    // The gateway replies to the ping, which is no message.
    let replies = 0;
    provider.onPong = () => {
      replies++;
    };
    socket.ping();
    await waitUntil(() => replies === 1);
    clock.advance(400);
    expect(await client.closed).toMatchObject({
      code: 1001,
      reason: expect.stringContaining("timeouts.idle"),
    });
    await waitUntil(() => provider.closes.some(({ code }) => code === 1001));
    expect(await requestRecord(inProcess, route.gateway)).toMatchObject({
      status: 101,
      outcome: "incomplete",
      error_code: "upstream_timeout",
    });
    await inProcess.stop();
  });

  test("timeouts.total limits how long a socket is open, and timeouts.first_byte the handshake", async () => {
    const inProcess = await startGatehouseInProcess();
    const { clock } = inProcess;
    const route = await seed(inProcess, { timeouts: { total: 5000 } });
    const client = await openRealtime(route.url);
    expect(await passTimeUntil(clock, client.closed)).toMatchObject({
      code: 1001,
      reason: expect.stringContaining("timeouts.total"),
    });
    await raw.behave(async (connection) => {
      await connection.request();
    });
    const slow = await seed(inProcess, { timeouts: { first_byte: 2000 } }, raw.url);
    const failed = openRealtime(slow.url).catch((error: unknown) => String(error));
    expect(await passTimeUntil(clock, failed)).toContain("504");
    await inProcess.stop();
  });

  test("a client that reads nothing is disconnected after timeouts.idle", async () => {
    const inProcess = await startGatehouseInProcess();
    const route = await seed(inProcess, { timeouts: { idle: 1000 } });
    const client = await openRaw(route.url);
    client.pause();
    const socket = await provider.socket();
    for (let index = 0; index < 300; index++) socket.send("x".repeat(64 * 1024));
    await untilStable(() => socket.getBufferedAmount());
    const closed = waitUntil(() => provider.closes.length > 0);
    await passTimeUntil(inProcess.clock, closed);
    await passTimeUntil(inProcess.clock, requestRecord(inProcess, route.gateway));
    client.resume();
    await client.ended;
    await inProcess.stop();
  });
});

describe("shutdown", () => {
  const env = { DRAIN_SECONDS: "20" };

  test("closes idle sockets with 1001 at once, and others when their response is done", async () => {
    const own = await startGatehouseProcess({ env });
    const { url } = await seed(own);
    const idle = await openRealtime(url);
    const busy = await openRealtime(url);
    await waitUntil(() => provider.sockets.length === 2);
    const socket = provider.sockets[1];
    socket?.send('{"type":"response.created"}');
    await busy.next();
    own.signal("SIGTERM");
    expect(await idle.closed).toMatchObject({ code: 1001 });
    expect(busy.socket.readyState).toBe(WebSocket.OPEN);
    socket?.send("delta");
    expect(await busy.next()).toBe("delta");
    socket?.send('{"type":"response.done","response":{"usage":{"input_tokens":3,"output_tokens":4}}}');
    expect(await busy.closed).toMatchObject({ code: 1001 });
    expect(busy.messages.at(-1)).toContain("response.done");
    expect(await own.exited).toBe(0);
    await own.stop();
  });

  test("closes all sockets with 1001 after DRAIN_SECONDS", async () => {
    const own = await startGatehouseProcess({ env: { DRAIN_SECONDS: "1" } });
    const client = await openRealtime((await seed(own)).url);
    (await provider.socket()).send('{"type":"response.created"}');
    await client.next();
    own.signal("SIGTERM");
    expect(await client.closed).toMatchObject({ code: 1001, reason: "The gateway is shutting down." });
    await waitUntil(() => provider.closes.some(({ code }) => code === 1001));
    expect(await own.exited).toBe(0);
    await own.stop();
  });

  test("with several workers, sockets are served and closed by all of them", async () => {
    const own = await startGatehouseProcess({ env: { ...env, WORKERS: "2" } });
    const { url, gateway } = await seed(own);
    // The other worker may not have the route yet.
    const open = () => waitFor(() => openRealtime(url).catch(() => null));
    const clients = await Promise.all(Array.from({ length: 8 }, open));
    for (const client of clients) {
      client.socket.send("hi");
      expect(await client.next()).toBe("hi");
    }
    expect(await metric(own, "gatehouse_open_websockets")).toBe("gatehouse_open_websockets 8");
    clients[0]?.socket.close();
    expect(await requestRecord(own, gateway)).toMatchObject({ status: 101, outcome: "complete" });
    own.signal("SIGTERM");
    for (const client of clients.slice(1)) expect(await client.closed).toMatchObject({ code: 1001 });
    expect(await own.exited).toBe(0);
    await own.stop();
  });
});
