// Every behavior at the byte level, and what is recorded when a client disconnects, observed through a raw socket.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { untilStable } from "../../test/support/waiting.ts";
import { connectRaw, type RawClient, rawRequest } from "../../test/support/raw-client.ts";
import { type Behavior, startFakeProvider } from "./server.ts";

const provider = await startFakeProvider();
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

const PATH = "/v1/chat/completions";
const CHAT = { model: "m", messages: [{ role: "user", content: "Hi" }] };
const STREAMED = { ...CHAT, stream: true };

async function request(body: unknown, behavior: Behavior, target = PATH): Promise<RawClient> {
  const client = await connectRaw(provider.port);
  client.send(rawRequest(target, body, behavior));
  return client;
}

/** Resolves once the first bytes of the response have arrived. */
async function begun(body: unknown, behavior: Behavior): Promise<RawClient> {
  const client = await request(body, behavior);
  await client.until((received) => received !== "");
  return client;
}

async function untilClosed(body: unknown, behavior: Behavior): Promise<{ received: string; reset: boolean }> {
  return (await request(body, behavior)).ended;
}

function bodyOf(received: string): string {
  return received.slice(received.indexOf("\r\n\r\n") + 4);
}

function headersOf(received: string, name: string): string[] {
  const lines = received.slice(0, received.indexOf("\r\n\r\n")).split("\r\n").slice(1);
  return lines
    .filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trim());
}

function eventsIn(received: string): number {
  return received.split("data: ").length - 1;
}

describe("closing", () => {
  test("before the response, with FIN and with RST", async () => {
    expect(await untilClosed(CHAT, { closeBeforeAnswer: true })).toEqual({ received: "", reset: false });
    expect(await untilClosed(CHAT, { closeBeforeAnswer: true, reset: true })).toEqual({
      received: "",
      reset: true,
    });
    expect(provider.requests.every((one) => !one.finished && !one.aborted)).toBe(true);
  });

  test("on accept", async () => {
    provider.behave({ refuse: true });
    const client = await connectRaw(provider.port);
    expect((await client.ended).received).toBe("");
    expect(provider.requestCount).toBe(0);
    expect(provider.connectionsOpened).toBe(1);
    expect(provider.openConnections()).toBe(0);
  });

  test("inside the headers, inside the body, between chunks", async () => {
    const inHead = await untilClosed(CHAT, { cutHeadAfterBytes: 20 });
    expect(inHead.received).toBe("HTTP/1.1 200 OK\r\nCon");
    const inBody = await untilClosed(CHAT, { cutAfterBytes: 10 });
    expect(bodyOf(inBody.received)).toHaveLength(10);
    const afterHead = await untilClosed(CHAT, { cutAfterBytes: 0 });
    expect(afterHead.received.endsWith("\r\n\r\n")).toBe(true);
    const inStream = await untilClosed(STREAMED, { cutAfterChunks: 3 });
    expect(eventsIn(inStream.received)).toBe(3);
    expect(inStream.received).not.toContain("[DONE]");
  });

  test("with a reset, after the preceding bytes have arrived", async () => {
    const { received, reset } = await untilClosed(STREAMED, { cutAfterChunks: 3, reset: true });
    expect(eventsIn(received)).toBe(3);
    expect(reset).toBe(true);
  });

  test("in an orderly way, if requested or if the body is close-delimited", async () => {
    const orderly = await untilClosed(CHAT, { closeConnection: true });
    expect(headersOf(orderly.received, "connection")).toEqual(["close"]);
    const closeDelimited = await untilClosed(STREAMED, { closeDelimited: true });
    expect(headersOf(closeDelimited.received, "transfer-encoding")).toEqual([]);
    expect(closeDelimited.received.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(provider.requests.every((one) => one.finished)).toBe(true);
  });
});

describe("framing", () => {
  test("a normal stream is chunked correctly and the connection stays usable", async () => {
    const client = await request(STREAMED, {});
    await client.until((received) => received.endsWith("0\r\n\r\n"));
    client.send(rawRequest("/again", {}));
    const both = await client.until((received) => received.includes('"target":"/again"'));
    expect(both).toContain("data: [DONE]\n\n\r\n0\r\n\r\nHTTP/1.1 200 OK");
    expect(provider.requests.map((one) => one.connection)).toEqual([
      provider.requests[0]!.connection,
      provider.requests[0]!.connection,
    ]);
    client.disconnect();
  });

  test("malformed chunks", async () => {
    const size = await request(STREAMED, { malformedChunk: true });
    expect(await size.until((received) => received.endsWith("0\r\n\r\n"))).toContain("\r\nzz\r\ndata: ");
    size.disconnect();
    const whole = await request(CHAT, { malformedChunk: "overrun" });
    const overrun = bodyOf(await whole.until((received) => received.endsWith("0\r\n\r\n"))).split("\r\n");
    expect(overrun[3]!.length).toBe(Number.parseInt(overrun[2]!, 16) + 3);
    whole.disconnect();
    const unfinished = await untilClosed(STREAMED, { malformedChunk: "unfinished" });
    expect(unfinished.received.endsWith("data: [DONE]\n\n\r\n")).toBe(true);
  });

  test("a wrong Content-Length", async () => {
    const longer = (await untilClosed(CHAT, { wrongContentLength: "longer" })).received;
    expect(Number(headersOf(longer, "content-length")[0])).toBe(bodyOf(longer).length + 10);
    const client = await request(CHAT, { wrongContentLength: "shorter" });
    const shorter = await client.until((received) => received.endsWith('"system_fingerprint":"fp_fake"}'));
    expect(Number(headersOf(shorter, "content-length")[0])).toBe(bodyOf(shorter).length - 10);
    client.disconnect();
  });

  test("headers are sent verbatim, duplicated, malformed, and endless", async () => {
    const headers: [string, string][] = [
      ["Set-Cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["Content-Type", "text/odd"],
    ];
    const client = await request(CHAT, { headers, crlfInHeader: "cr", status: 201, body: "as is" });
    const received = await client.until((text) => text.endsWith("as is"));
    expect(received).toStartWith("HTTP/1.1 201 Created\r\n");
    expect(received).toContain("Set-Cookie: a=1\r\nset-cookie: b=2\r\n");
    expect(received).toContain("X-Odd: before\rafter\r\n");
    expect(headersOf(received, "content-type")).toEqual(["text/odd"]);
    client.disconnect();
    const endless = await request(CHAT, { endlessHeaders: true });
    await endless.until((text) => text.includes("X-Endless-200:"));
    expect(endless.received()).not.toContain("\r\n\r\n");
    endless.disconnect();
    await provider.until(() => provider.requests.at(-1)!.aborted);
  });

  test("interim responses precede the final one; 204 has neither body nor Content-Length", async () => {
    const client = await request(CHAT, { informational: [100, 103], status: 204 });
    const received = await client.until((text) => text.includes("204") && text.endsWith("\r\n\r\n"));
    expect(received).toStartWith(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content",
    );
    expect(received.toLowerCase()).not.toContain("content-length");
    client.disconnect();
  });

  test("invalid HTTP and an invalid x-fake header are rejected with 400", async () => {
    const client = await connectRaw(provider.port);
    client.send("nonsense\r\n\r\n");
    expect((await client.ended).received).toStartWith("HTTP/1.1 400 Bad Request\r\n");
    const response = await fetch(provider.url, { headers: { "x-fake": "{oops", connection: "close" } });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("x-fake");
  });

  test("pipelined requests get responses in order, HTTP/1.0 without chunked encoding", async () => {
    const client = await connectRaw(provider.port);
    client.send(rawRequest("/first", {}) + rawRequest(PATH, STREAMED, { chunkDelayMs: 0 }));
    client.send(rawRequest(PATH, STREAMED).replace("HTTP/1.1", "HTTP/1.0"));
    const { received } = await client.ended;
    expect(received.split("HTTP/1.1 200 OK")).toHaveLength(4);
    expect(received.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
    expect(provider.requests.every((one) => one.finished)).toBe(true);
  });

  test("an early response does not wait for the request body", async () => {
    const client = await connectRaw(provider.port);
    client.send(
      `POST /up HTTP/1.1\r\nContent-Length: 1000\r\nx-fake: {"answerEarly":true,"status":413}\r\n\r\nsome`,
    );
    const received = await client.until((text) => text.endsWith("}}"));
    expect(received).toStartWith("HTTP/1.1 413 Payload Too Large\r\n");
    expect(headersOf(received, "connection")).toEqual(["close"]);
    client.send("and more");
    client.disconnect();
    await provider.until(() => provider.openConnections() === 0);
    expect(provider.requests).toHaveLength(1);
    expect(provider.requests[0]).toMatchObject({ finished: true, aborted: false });
  });

  test("Expect: 100-continue gets a 100 response before the body is sent", async () => {
    const client = await connectRaw(provider.port);
    client.send("POST /e HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    await client.until((received) => received === "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("ok");
    await client.until((received) => received.includes('"body":"ok"'));
    client.disconnect();
  });
});

describe("pace", () => {
  test("chunks are counted and delayed chunks all arrive", async () => {
    const client = await request(STREAMED, { chunks: 20, chunkDelayMs: 0, delayMs: 1, headerDelayMs: 1 });
    const received = await client.until((text) => text.endsWith("0\r\n\r\n"));
    // Role, twenty words, finish, [DONE].
    expect(eventsIn(received)).toBe(23);
    client.disconnect();
  });

  test("a big stream waits for a slow reader and arrives completely", async () => {
    const bytes = 48 << 20;
    const client = await connectRaw(provider.port);
    client.pause();
    client.send(rawRequest("/big", {}, { bigStream: { bytes, chunkBytes: 1 << 16 }, closeDelimited: true }));
    await provider.until(() => (provider.requests[0]?.bytesSent ?? 0) > 0);
    // The kernel buffers a few megabytes; the rest must not be buffered anywhere.
    expect(await untilStable(() => provider.requests[0]!.bytesSent)).toBeLessThan(bytes / 2);
    expect(provider.requests[0]!.finished).toBe(false);
    client.resume();
    const { received } = await client.ended;
    expect(bodyOf(received)).toHaveLength(bytes);
    expect(provider.requests[0]!.finished).toBe(true);
  });

  test("hundreds of concurrent streams", async () => {
    const clients = await Promise.all(
      Array.from({ length: 300 }, () =>
        request(STREAMED, { chunks: 5, chunkDelayMs: 5, closeConnection: true }),
      ),
    );
    const endings = await Promise.all(clients.map((client) => client.ended));
    expect(endings.every(({ received }) => received.endsWith("data: [DONE]\n\n\r\n0\r\n\r\n"))).toBe(true);
    await provider.until(() => provider.openConnections() === 0);
    expect(provider.connectionsOpened).toBe(300);
  });
});

describe("a client that disconnects", () => {
  const phases: [name: string, arrange: () => Promise<RawClient>][] = [
    [
      "while uploading",
      async () => {
        const client = await connectRaw(provider.port);
        client.send("POST /up HTTP/1.1\r\nContent-Length: 1000\r\n\r\nonly a little");
        return client;
      },
    ],
    ["while waiting", () => request(CHAT, { delayMs: 60_000 })],
    ["between status line and headers", () => begun(CHAT, { headerDelayMs: 60_000 })],
    ["in mid-stream", () => begun(STREAMED, { chunkDelayMs: 60_000 })],
    ["when the stream has stalled", () => begun(STREAMED, { stallAfterChunks: 2 })],
    [
      "while a big response is being sent",
      () => begun(CHAT, { bigStream: { bytes: 1e12, chunkBytes: 1 << 16 } }),
    ],
    [
      "while a big response waits for a slow reader",
      async () => {
        const client = await connectRaw(provider.port);
        client.pause();
        client.send(rawRequest("/big", {}, { bigStream: { bytes: 1e12, chunkBytes: 1 << 16 } }));
        await provider.until(() => (provider.requests[0]?.bytesSent ?? 0) > 0);
        return client;
      },
    ],
  ];
  for (const reset of [false, true]) {
    test.each(phases)(`%s is recorded as aborted (reset: ${reset})`, async (_name, arrange) => {
      const client = await arrange();
      await provider.until(() => provider.requests.length === 1);
      expect(provider.requests[0]).toMatchObject({ aborted: false, abortedAt: null });
      client.disconnect(reset);
      await provider.until(() => provider.openConnections() === 0);
      const [recorded] = provider.requests;
      expect(recorded).toMatchObject({ aborted: true, finished: false });
      expect(recorded!.abortedAt).toBeGreaterThanOrEqual(recorded!.startedAt);
    });
  }

  test("after the complete response is not recorded as aborted", async () => {
    const client = await request(CHAT, {});
    await client.until((received) => received.includes("fp_fake"));
    client.disconnect();
    await provider.until(() => provider.openConnections() === 0);
    expect(provider.requests[0]).toMatchObject({ aborted: false, finished: true });
  });

  test("stopping the provider does not record a client abort", async () => {
    const other = await startFakeProvider();
    const client = await connectRaw(other.port);
    client.send(rawRequest(PATH, STREAMED, { stallAfterChunks: 1 }));
    await client.until((received) => eventsIn(received) === 1);
    await other.stop();
    await client.ended;
    expect(other.requests[0]).toMatchObject({ aborted: false, finished: false });
  });
});
