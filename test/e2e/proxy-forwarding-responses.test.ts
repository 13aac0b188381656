// The response to the client: byte for byte the provider's, without hop-by-hop headers, with the added headers.
import { describe, expect, test } from "bun:test";
import type { Behavior, HeaderPair } from "../../src/fake-provider/behavior.ts";
import { connectRaw } from "../support/raw-client.ts";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import {
  CHAT,
  onlyRequest,
  rawCall,
  rawJson,
  seedRoute,
  targetAt,
  type RawResponse,
  type RawCall,
} from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();
await seedRoute(gatehouse, {
  // One attempt, so that the client gets a response that would otherwise be retried.
  upstream: { targets: [targetAt(provider, { path: "/echo" })], max_attempts: 1 },
  rule: { path: "/echo", methods: METHODS },
});
const { path: chatPath } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });

/** Resolves to the response to a request whose provider has this behavior. */
function responseTo(behavior: Behavior, call: RawCall = {}): Promise<RawResponse> {
  provider.behave(behavior);
  return rawCall(gatehouse.proxyUrl, { target: "/echo", ...call });
}

const chat = (behavior: Behavior = {}, headers: readonly HeaderPair[] = [], body: object = CHAT) => {
  provider.behave(behavior);
  return rawJson(gatehouse.proxyUrl, chatPath, body, headers);
};

function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

/** Comparing hashes of two large bodies prints less on failure than comparing the bodies. */
const sameBytes = (a: Uint8Array, b: Uint8Array) => a.length === b.length && Bun.hash(a) === Bun.hash(b);

describe("status", () => {
  test.each([
    200, 201, 202, 203, 206, 207, 226, 299, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 409, 413,
    418, 422, 429, 451, 500, 501, 502, 503, 504, 520, 529, 599,
  ])("%d is relayed", async (status) => {
    const response = await responseTo({ status, body: `body of ${status}` });
    expect(response.status).toBe(status);
    expect(response.body.toString()).toBe(`body of ${status}`);
    expect(response.header("x-gw-provider")).toBe("openai");
  });

  test.each([204, 304])("%d has no body and keeps its headers", async (status) => {
    const response = await responseTo({ status, headers: [["ETag", '"v1"']] }, { method: "GET" });
    expect(response.status).toBe(status);
    expect(response.body.length).toBe(0);
    expect(response.header("etag")).toBe('"v1"');
    expect(response.header("transfer-encoding")).toBeUndefined();
  });

  test.each([301, 302, 303, 307, 308])("redirects are not followed: %d", async (status) => {
    const elsewhere = `${provider.url}/elsewhere?x=1`;
    const response = await responseTo({ status, headers: [["Location", elsewhere]], body: "moved" });
    expect(response.status).toBe(status);
    expect(response.header("location")).toBe(elsewhere);
    expect(onlyRequest(provider).target).toBe("/echo");
  });

  test.each([600, 999])("%d, which HTTP does not define, is 502 upstream_bad_answer", async (status) => {
    const response = await responseTo({ status, body: "odd" });
    expect({ status: response.status, code: response.json().code }).toEqual({
      status: 502,
      code: "upstream_bad_answer",
    });
  });

  test("interim responses are not taken for the response", async () => {
    const response = await responseTo({ informational: [100, 103], body: "the real one" });
    expect(response.status).toBe(200);
    expect(response.body.toString()).toBe("the real one");
  });
});

describe("headers", () => {
  test("are relayed unchanged", async () => {
    const given: HeaderPair[] = [
      ["Content-Type", "application/vnd.acme+json; charset=UTF-8"],
      ["Cache-Control", "no-store, max-age=0"],
      ["ETag", 'W/"abc"'],
      ["X-RateLimit-Remaining-Tokens", "149984"],
      ["OpenAI-Processing-Ms", "12"],
      ["X-Latin", "caf\xe9"],
      ["X-Empty", ""],
      ["Vary", "Accept, Origin"],
      ["Access-Control-Allow-Origin", "*"],
      ["Date", "Tue, 15 Nov 1994 08:12:31 GMT"],
      ["Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT"],
      ["Retry-After", "7"],
      ["Server", "the provider"],
    ];
    const response = await responseTo({ headers: given, body: "{}" });
    for (const [name, value] of given) expect([name, response.all(name)]).toEqual([name, [value]]);
  });

  test("two Set-Cookie headers stay two headers, in order", async () => {
    const cookies = ["a=1; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2; HttpOnly"];
    const response = await responseTo({
      headers: cookies.map((cookie): HeaderPair => ["Set-Cookie", cookie]),
    });
    expect(response.all("set-cookie")).toEqual(cookies);
  });

  test("other repeated headers keep all their values", async () => {
    const response = await responseTo({
      headers: [
        ["X-Many", "one"],
        ["X-Many", "two"],
      ],
    });
    expect(response.all("x-many").join(", ")).toBe("one, two");
  });

  test("without hop-by-hop headers and all that Connection names", async () => {
    const response = await responseTo({
      headers: [
        ["Connection", "keep-alive, X-Hop, x-other"],
        ["Keep-Alive", "timeout=99"],
        ["Proxy-Authenticate", "Basic"],
        ["Proxy-Connection", "keep-alive"],
        ["Trailer", "X-Sum"],
        ["Upgrade", "h2c"],
        ["X-Hop", "1"],
        ["X-Other", "2"],
        ["X-Stays", "3"],
      ],
    });
    const gone = [
      "keep-alive",
      "proxy-authenticate",
      "proxy-connection",
      "trailer",
      "upgrade",
      "x-hop",
      "x-other",
    ];
    expect(gone.flatMap((name) => response.all(name))).toEqual([]);
    expect(response.all("connection").join()).not.toContain("X-Hop");
    expect(response.header("x-stays")).toBe("3");
  });

  test("no Content-Type is added", async () => {
    // Written directly, without the type that the fake provider adds.
    const raw = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") },
    });
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { base_url: `http://127.0.0.1:${raw.port}` })] },
    });
    const response = await rawCall(gatehouse.proxyUrl, { target: path });
    raw.stop(true);
    expect(response.body.toString()).toBe("hi");
    expect(response.all("content-type")).toEqual([]);
  });

  test("have one framing: a length or chunks, never both", async () => {
    for (const behavior of [
      { body: "whole" },
      { body: ["in ", "pieces"] },
      { body: "" },
    ] satisfies Behavior[]) {
      const response = await responseTo(behavior);
      expect([...response.all("content-length"), ...response.all("transfer-encoding")]).toHaveLength(1);
    }
  });
});

describe("the body is relayed byte for byte", () => {
  test.each([
    ["text", "<html>not JSON</html>"],
    ["JSON with odd spacing and large numbers", '{ "a" : 12345678901234567890 ,\n "b":1.0 }'],
    ["what claims to be JSON and is not", '{"broken": '],
    ["nothing", ""],
    ["a byte order mark", "\ufeff{}"],
  ])("%s", async (_, body) => {
    const response = await responseTo({ body, headers: [["Content-Type", "application/json"]] });
    expect(response.body.equals(Buffer.from(body))).toBe(true);
    expect(response.header("content-length")).toBe(String(Buffer.byteLength(body)));
  });

  test("every byte value", async () => {
    const bytes = Uint8Array.from({ length: 1024 }, (_, index) => index % 256);
    const response = await responseTo({
      body: bytes,
      headers: [["Content-Type", "application/octet-stream"]],
    });
    expect(response.body.equals(bytes)).toBe(true);
  });

  test("compressed bodies stay compressed", async () => {
    const packed = Bun.gzipSync("plain ".repeat(1000));
    for (const encoding of ["gzip", "br", "deflate", "zstd", "x-unknown"]) {
      const response = await responseTo(
        // Invalid in every encoding, so that an attempt to decode them would fail.
        { body: packed, headers: [["Content-Encoding", encoding]] },
        { headers: [["Accept-Encoding", "gzip, br, deflate, zstd"]] },
      );
      expect([encoding, response.header("content-encoding")]).toEqual([encoding, encoding]);
      expect([encoding, response.body.equals(packed)]).toEqual([encoding, true]);
    }
  });

  test("requests no encoding that the client does not accept", async () => {
    await responseTo({});
    expect(onlyRequest(provider).header("accept-encoding") ?? "identity").toBe("identity");
  });

  test("a compressed stream", async () => {
    const response = await chat({ gzip: true }, [["Accept-Encoding", "gzip"]], { ...CHAT, stream: true });
    expect(response.header("content-encoding")).toBe("gzip");
    expect(Buffer.from(Bun.gunzipSync(new Uint8Array(response.body))).toString()).toEndWith(
      "data: [DONE]\n\n",
    );
  });

  test.each([300_000, 5_000_000])("a large body of %d bytes", async (length) => {
    const bytes = randomBytes(length);
    provider.behave({ body: bytes, headers: [["Content-Type", "application/octet-stream"]] });
    const response = await fetch(`${gatehouse.proxyUrl}/echo`);
    expect(sameBytes(await response.bytes(), bytes)).toBe(true);
  });

  test("a large body without a length", async () => {
    provider.behave({ bigStream: { bytes: 8_000_000, chunkBytes: 50_000 } });
    const bytes = await (await fetch(`${gatehouse.proxyUrl}/echo`)).bytes();
    expect(bytes.length).toBe(8_000_000);
    expect(bytes.every((byte) => byte === 120)).toBe(true);
  });

  test("a body that ends with the connection", async () => {
    const response = await responseTo({ body: "until the end", closeDelimited: true });
    expect(response.body.toString()).toBe("until the end");
  });

  test("the request body, of any type and size", async () => {
    const bytes = randomBytes(3_000_000);
    const headers = { "Content-Type": "audio/wav" };
    const response = await fetch(`${gatehouse.proxyUrl}/echo`, { method: "PUT", headers, body: bytes });
    expect(response.status).toBe(200);
    expect(sameBytes(onlyRequest(provider).body, bytes)).toBe(true);
    expect(onlyRequest(provider).header("content-type")).toBe("audio/wav");
  });
});

describe("every method", () => {
  test.each(METHODS)("%s is forwarded unchanged", async (method) => {
    const body = ["GET", "HEAD"].includes(method) ? undefined : `sent with ${method}`;
    const headers: HeaderPair[] = body === undefined ? [] : [["Content-Type", "text/plain"]];
    const call: RawCall = { method, headers, ...(body !== undefined && { body }) };
    const response = await responseTo({ headers: [["X-From-Provider", "yes"]] }, call);
    expect(response.status).toBe(200);
    expect(response.header("x-from-provider")).toBe("yes");
    const request = onlyRequest(provider);
    expect(request.method).toBe(method);
    expect(Buffer.from(request.body).toString()).toBe(body ?? "");
    if (method !== "HEAD") expect(response.json()).toMatchObject({ method, body: body ?? "" });
  });

  test.each(["GET", "HEAD"])("%s with a body is rejected, not forwarded without it", async (method) => {
    const headers: HeaderPair[] = [["Content-Type", "text/plain"]];
    const response = await responseTo({}, { method, headers, body: "unexpected" });
    expect(response.status).toBe(400);
    expect(provider.requestCount).toBe(0);
  });

  test("HEAD gets the headers of a response, including its length, and no body", async () => {
    const response = await responseTo({ body: "0123456789" }, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(response.header("content-length")).toBe("10");
    expect(response.body.length).toBe(0);
    expect(response.header("x-gw-attempts")).toBe("1");
  });

  test("a body without a length is forwarded completely", async () => {
    const response = await rawCall(gatehouse.proxyUrl, {
      target: "/echo",
      headers: [
        ["Content-Type", "text/plain"],
        ["Transfer-Encoding", "chunked"],
      ],
      body: "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    });
    expect(response.status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe("hello world");
  });
});

describe("streams", () => {
  test("are relayed byte for byte, to their end", async () => {
    const events = [
      'data: {"a":1}\n\n',
      ": a comment\n\n",
      "event: odd\ndata: x\ndata: y\n\n",
      "data: [DONE]\n\n",
    ];
    const response = await responseTo({ body: events, headers: [["Content-Type", "text/event-stream"]] });
    expect(response.body.toString()).toBe(events.join(""));
    expect(response.header("content-type")).toBe("text/event-stream");
  });

  test("are unbuffered: the client has an event while the provider is silent", async () => {
    provider.behave({ stallAfterChunks: 2 });
    const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
    const body = JSON.stringify({ ...CHAT, stream: true });
    client.send(
      `POST ${chatPath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const received = await client.until((text) => text.split("chat.completion.chunk").length === 3);
    expect(received).not.toContain("[DONE]");
    client.disconnect();
    await provider.until(() => onlyRequest(provider).aborted);
  });

  test("are unbuffered also if they are not event streams", async () => {
    provider.behave({
      body: ['{"line":1}\n', '{"line":2}\n'],
      headers: [["Content-Type", "application/x-ndjson"]],
      stallAfterChunks: 1,
    });
    const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
    client.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    await client.until((text) => text.includes('{"line":1}'));
    client.disconnect();
  });

  test("have X-Accel-Buffering: no, and nothing else has it", async () => {
    const stream = await chat({}, [], { ...CHAT, stream: true });
    expect(stream.header("x-accel-buffering")).toBe("no");
    expect((await chat()).all("x-accel-buffering")).toEqual([]);
  });
});

describe("added headers", () => {
  test("X-Request-Id is the client's if valid", async () => {
    for (const id of ["abc", "req_01HZX.y:z/1+2=@-", "a".repeat(128), crypto.randomUUID()]) {
      expect((await chat({}, [["X-Request-Id", id]])).all("x-request-id")).toEqual([id]);
    }
  });

  test.each(["", "a b", "a".repeat(129), "<script>", "a\tb", "caf\xe9", 'quo"te', "a,b", "{}"])(
    "X-Request-Id is a new one if the client's is invalid: %p",
    async (id) => {
      const response = await chat({}, [["X-Request-Id", id]]);
      expect(response.header("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test("X-Request-Id is a new one for every request without one", async () => {
    const first = (await chat()).header("x-request-id");
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect((await chat()).header("x-request-id")).not.toBe(first);
  });

  test("the provider's request id is relayed in X-GW-Provider-Request-Id", async () => {
    const response = await responseTo({ headers: [["X-Request-Id", "req_of_the_provider"]] });
    expect(response.header("x-gw-provider-request-id")).toBe("req_of_the_provider");
    expect(response.header("x-request-id")).not.toBe("req_of_the_provider");
    const without = await responseTo({});
    expect(without.all("x-gw-provider-request-id")).toEqual([]);
  });

  test("X-Request-Id is on errors of the gateway, and in their body", async () => {
    const response = await rawCall(gatehouse.proxyUrl, {
      target: "/nowhere",
      headers: [["X-Request-Id", "mine"]],
    });
    expect(response.header("x-request-id")).toBe("mine");
    expect(response.json().request_id).toBe("mine");
  });

  test("X-GW-Provider, X-GW-Model, X-GW-Attempts, Server-Timing: on responses, errors and streams", async () => {
    for (const response of [
      await chat(),
      await chat({ status: 400 }),
      await chat({}, [], { ...CHAT, stream: true }),
    ]) {
      expect(response.header("x-gw-provider")).toBe("openai");
      expect(response.header("x-gw-model")).toBe("gpt-fake");
      expect(response.header("x-gw-attempts")).toBe("1");
      expect(response.header("server-timing")).toMatch(/^total;dur=\d+\.\d, .*upstream;dur=\d+\.\d$/);
    }
  });

  test("the provider's Server-Timing stays next to the gateway's", async () => {
    const response = await responseTo({ headers: [["Server-Timing", "inference;dur=3"]] });
    expect(response.all("server-timing").join(", ")).toMatch(/inference;dur=3.*total;dur=/);
  });

  test("X-GW-Model is the model that was sent; absent if there was none", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "acme", default_model: "the default" })] },
    });
    const response = await rawJson(gatehouse.proxyUrl, path, { messages: CHAT.messages });
    expect(response.header("x-gw-model")).toBe("the default");
    expect(response.header("x-gw-provider")).toBe("acme");
    expect((await responseTo({})).all("x-gw-model")).toEqual([]);
  });

  test("X-GW-Model cannot inject headers", async () => {
    const response = await chat({}, [], { ...CHAT, model: "evil\r\nX-Evil: 1\u0000é" });
    expect(response.status).toBe(200);
    expect(response.all("x-evil")).toEqual([]);
  });

  test("X-GW-Attempts counts every attempt", async () => {
    const failing = await startFakeProvider();
    failing.behave({ status: 503 });
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(failing), targetAt(provider, { provider: "second", priority: 2 })] },
    });
    const response = await rawJson(gatehouse.proxyUrl, path, CHAT);
    expect(response.status).toBe(200);
    expect(response.header("x-gw-attempts")).toBe("2");
    expect(response.header("x-gw-provider")).toBe("second");
    await failing.stop();
  });

  test("headers of the provider with these names are not relayed", async () => {
    const forged: HeaderPair[] = [
      "X-GW-Provider",
      "X-GW-Attempts",
      "X-GW-Model",
      "X-GW-Provider-Request-Id",
    ].map((name) => [name, "forged"]);
    const response = await responseTo({ headers: forged });
    expect(response.headers.filter(([, value]) => value.includes("forged"))).toEqual([]);
  });
});
