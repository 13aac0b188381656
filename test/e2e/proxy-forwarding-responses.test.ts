// Section 5 of the contract, the answer: byte for byte as it came, less hop-by-hop headers, plus what is added.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Behavior, HeaderPair } from "../../src/fake-provider/behavior.ts";
import { connectRaw } from "../support/raw-client.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
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

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

let provider: FakeProvider;
let gatehouse: GatehouseProcess;
let chatPath: string;

beforeAll(async () => {
  provider = await startFakeProvider();
  gatehouse = await startGatehouseProcess();
  await seedRoute(gatehouse, {
    // One attempt: an answer that another target would be asked for is the client's to see.
    upstream: { targets: [targetAt(provider, { path: "/echo" })], max_attempts: 1 },
    rule: { path: "/echo", methods: METHODS },
  });
  const chat = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  chatPath = chat.path;
});
afterAll(async () => {
  await Promise.all([gatehouse.stop(), provider.stop()]);
});
beforeEach(() => provider.reset());

/** The answer of a provider that behaves so. */
function answerTo(behaviour: Behavior, call: RawCall = {}): Promise<RawResponse> {
  provider.behave(behaviour);
  return rawCall(gatehouse.proxyUrl, { target: "/echo", ...call });
}

const chat = (behaviour: Behavior = {}, headers: readonly HeaderPair[] = [], body: object = CHAT) => {
  provider.behave(behaviour);
  return rawJson(gatehouse.proxyUrl, chatPath, body, headers);
};

function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

/** Bun.hash of two big bodies says as much as comparing them, and prints less. */
const sameBytes = (a: Uint8Array, b: Uint8Array) => a.length === b.length && Bun.hash(a) === Bun.hash(b);

describe("status", () => {
  test.each([
    200, 201, 202, 203, 206, 207, 226, 299, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 409, 413,
    418, 422, 429, 451, 500, 501, 502, 503, 504, 520, 529, 599,
  ])("%d is the provider's", async (status) => {
    const answer = await answerTo({ status, body: `body of ${status}` });
    expect(answer.status).toBe(status);
    expect(answer.body.toString()).toBe(`body of ${status}`);
    expect(answer.header("x-gw-provider")).toBe("openai");
  });

  test.each([204, 304])("%d has no body and keeps its headers", async (status) => {
    const answer = await answerTo({ status, headers: [["ETag", '"v1"']] }, { method: "GET" });
    expect(answer.status).toBe(status);
    expect(answer.body.length).toBe(0);
    expect(answer.header("etag")).toBe('"v1"');
    expect(answer.header("transfer-encoding")).toBeUndefined();
  });

  test.each([301, 302, 303, 307, 308])("redirects are not followed: %d", async (status) => {
    const elsewhere = `${provider.url}/elsewhere?x=1`;
    const answer = await answerTo({ status, headers: [["Location", elsewhere]], body: "moved" });
    expect(answer.status).toBe(status);
    expect(answer.header("location")).toBe(elsewhere);
    expect(onlyRequest(provider).target).toBe("/echo");
  });

  test.each([600, 999])("%d, which no client knows, is the provider's fault and not ours", async (status) => {
    const answer = await answerTo({ status, body: "odd" });
    expect({ status: answer.status, code: answer.json().code }).toEqual({
      status: 502,
      code: "upstream_bad_answer",
    });
  });

  test("interim answers are not mistaken for the answer", async () => {
    const answer = await answerTo({ informational: [100, 103], body: "the real one" });
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe("the real one");
  });
});

describe("headers", () => {
  test("come as they came", async () => {
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
    const answer = await answerTo({ headers: given, body: "{}" });
    for (const [name, value] of given) expect([name, answer.all(name)]).toEqual([name, [value]]);
  });

  test("Set-Cookie given twice stays two headers, in order", async () => {
    const cookies = ["a=1; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2; HttpOnly"];
    const answer = await answerTo({ headers: cookies.map((cookie): HeaderPair => ["Set-Cookie", cookie]) });
    expect(answer.all("set-cookie")).toEqual(cookies);
  });

  test("other duplicates keep all their values", async () => {
    const answer = await answerTo({
      headers: [
        ["X-Many", "one"],
        ["X-Many", "two"],
      ],
    });
    expect(answer.all("x-many").join(", ")).toBe("one, two");
  });

  test("less hop-by-hop, and all that Connection names", async () => {
    const answer = await answerTo({
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
    expect(gone.flatMap((name) => answer.all(name))).toEqual([]);
    expect(answer.all("connection").join()).not.toContain("X-Hop");
    expect(answer.header("x-stays")).toBe("3");
  });

  test("no Content-Type is invented", async () => {
    // Written at once, without the fake's own type.
    const raw = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") },
    });
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { base_url: `http://127.0.0.1:${raw.port}` })] },
    });
    const answer = await rawCall(gatehouse.proxyUrl, { target: path });
    raw.stop(true);
    expect(answer.body.toString()).toBe("hi");
    expect(answer.all("content-type")).toEqual([]);
  });

  test("one framing only: a length or chunks, never both", async () => {
    for (const behaviour of [
      { body: "whole" },
      { body: ["in ", "pieces"] },
      { body: "" },
    ] satisfies Behavior[]) {
      const answer = await answerTo(behaviour);
      expect([...answer.all("content-length"), ...answer.all("transfer-encoding")]).toHaveLength(1);
    }
  });
});

describe("body, byte for byte", () => {
  test.each([
    ["text", "<html>not JSON</html>"],
    ["JSON with odd spacing and large numbers", '{ "a" : 12345678901234567890 ,\n "b":1.0 }'],
    ["what claims to be JSON and is not", '{"broken": '],
    ["nothing", ""],
    ["a byte order mark", "\ufeff{}"],
  ])("%s", async (_, body) => {
    const answer = await answerTo({ body, headers: [["Content-Type", "application/json"]] });
    expect(answer.body.equals(Buffer.from(body))).toBe(true);
    expect(answer.header("content-length")).toBe(String(Buffer.byteLength(body)));
  });

  test("every byte there is", async () => {
    const bytes = Uint8Array.from({ length: 1024 }, (_, index) => index % 256);
    const answer = await answerTo({ body: bytes, headers: [["Content-Type", "application/octet-stream"]] });
    expect(answer.body.equals(bytes)).toBe(true);
  });

  test("compressed bodies are still compressed", async () => {
    const packed = Bun.gzipSync("plain ".repeat(1000));
    for (const encoding of ["gzip", "br", "deflate", "zstd", "x-unknown"]) {
      const answer = await answerTo(
        // Bytes that are of none of the others' encodings: whoever tries to undo one of them fails.
        { body: packed, headers: [["Content-Encoding", encoding]] },
        { headers: [["Accept-Encoding", "gzip, br, deflate, zstd"]] },
      );
      expect([encoding, answer.header("content-encoding")]).toEqual([encoding, encoding]);
      expect([encoding, answer.body.equals(packed)]).toEqual([encoding, true]);
    }
  });

  test("no encoding is asked for that the client does not read", async () => {
    await answerTo({});
    expect(onlyRequest(provider).header("accept-encoding") ?? "identity").toBe("identity");
  });

  test("a compressed stream passes as it is", async () => {
    const answer = await chat({ gzip: true }, [["Accept-Encoding", "gzip"]], { ...CHAT, stream: true });
    expect(answer.header("content-encoding")).toBe("gzip");
    expect(Buffer.from(Bun.gunzipSync(new Uint8Array(answer.body))).toString()).toEndWith("data: [DONE]\n\n");
  });

  test.each([300_000, 5_000_000])("a big body of %d bytes", async (length) => {
    const bytes = randomBytes(length);
    provider.behave({ body: bytes, headers: [["Content-Type", "application/octet-stream"]] });
    const response = await fetch(`${gatehouse.proxyUrl}/echo`);
    expect(sameBytes(await response.bytes(), bytes)).toBe(true);
  });

  test("a big body without a length", async () => {
    provider.behave({ bigStream: { bytes: 8_000_000, chunkBytes: 50_000 } });
    const bytes = await (await fetch(`${gatehouse.proxyUrl}/echo`)).bytes();
    expect(bytes.length).toBe(8_000_000);
    expect(bytes.every((byte) => byte === 120)).toBe(true);
  });

  test("a body that only the end of the connection ends", async () => {
    const answer = await answerTo({ body: "until the end", closeDelimited: true });
    expect(answer.body.toString()).toBe("until the end");
  });

  test("the request's body too, of any type, and big", async () => {
    const bytes = randomBytes(3_000_000);
    const headers = { "Content-Type": "audio/wav" };
    const response = await fetch(`${gatehouse.proxyUrl}/echo`, { method: "PUT", headers, body: bytes });
    expect(response.status).toBe(200);
    expect(sameBytes(onlyRequest(provider).body, bytes)).toBe(true);
    expect(onlyRequest(provider).header("content-type")).toBe("audio/wav");
  });
});

describe("every method", () => {
  test.each(METHODS)("%s arrives as it was sent", async (method) => {
    const body = ["GET", "HEAD"].includes(method) ? undefined : `sent with ${method}`;
    const headers: HeaderPair[] = body === undefined ? [] : [["Content-Type", "text/plain"]];
    const call: RawCall = { method, headers, ...(body !== undefined && { body }) };
    const answer = await answerTo({ headers: [["X-Answered", "yes"]] }, call);
    expect(answer.status).toBe(200);
    expect(answer.header("x-answered")).toBe("yes");
    const request = onlyRequest(provider);
    expect(request.method).toBe(method);
    expect(Buffer.from(request.body).toString()).toBe(body ?? "");
    if (method !== "HEAD") expect(answer.json()).toMatchObject({ method, body: body ?? "" });
  });

  test.each(["GET", "HEAD"])("%s with a body is refused, not forwarded without it", async (method) => {
    const headers: HeaderPair[] = [["Content-Type", "text/plain"]];
    const answer = await answerTo({}, { method, headers, body: "unexpected" });
    expect(answer.status).toBe(400);
    expect(provider.requestCount).toBe(0);
  });

  test("HEAD has the headers of an answer, its length included, and no body", async () => {
    const answer = await answerTo({ body: "0123456789" }, { method: "HEAD" });
    expect(answer.status).toBe(200);
    expect(answer.header("content-length")).toBe("10");
    expect(answer.body.length).toBe(0);
    expect(answer.header("x-gw-attempts")).toBe("1");
  });

  test("a body without a declared length arrives whole", async () => {
    const answer = await rawCall(gatehouse.proxyUrl, {
      target: "/echo",
      headers: [
        ["Content-Type", "text/plain"],
        ["Transfer-Encoding", "chunked"],
      ],
      body: "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    });
    expect(answer.status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe("hello world");
  });
});

describe("streams", () => {
  test("are byte for byte, and end with their end", async () => {
    const events = [
      'data: {"a":1}\n\n',
      ": a comment\n\n",
      "event: odd\ndata: x\ndata: y\n\n",
      "data: [DONE]\n\n",
    ];
    const answer = await answerTo({ body: events, headers: [["Content-Type", "text/event-stream"]] });
    expect(answer.body.toString()).toBe(events.join(""));
    expect(answer.header("content-type")).toBe("text/event-stream");
  });

  test("are unbuffered: an event is with the client while the provider is silent", async () => {
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

  test("so is a chunked answer that is no event stream", async () => {
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

  test("X-Accel-Buffering: no is on streams, and on nothing else", async () => {
    const stream = await chat({}, [], { ...CHAT, stream: true });
    expect(stream.header("x-accel-buffering")).toBe("no");
    expect((await chat()).all("x-accel-buffering")).toEqual([]);
  });
});

describe("added headers", () => {
  test("X-Request-Id is the client's own if sane", async () => {
    for (const id of ["abc", "req_01HZX.y:z/1+2=@-", "a".repeat(128), crypto.randomUUID()]) {
      expect((await chat({}, [["X-Request-Id", id]])).all("x-request-id")).toEqual([id]);
    }
  });

  test.each(["", "a b", "a".repeat(129), "<script>", "a\tb", "caf\xe9", 'quo"te', "a,b", "{}"])(
    "X-Request-Id is a new one if the client's is not sane: %p",
    async (id) => {
      const answer = await chat({}, [["X-Request-Id", id]]);
      expect(answer.header("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test("X-Request-Id is a new one for every request without one", async () => {
    const first = (await chat()).header("x-request-id");
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect((await chat()).header("x-request-id")).not.toBe(first);
  });

  test("the provider's request id moves to X-GW-Provider-Request-Id", async () => {
    const answer = await answerTo({ headers: [["X-Request-Id", "req_of_the_provider"]] });
    expect(answer.header("x-gw-provider-request-id")).toBe("req_of_the_provider");
    expect(answer.header("x-request-id")).not.toBe("req_of_the_provider");
    const without = await answerTo({});
    expect(without.all("x-gw-provider-request-id")).toEqual([]);
  });

  test("X-Request-Id is on the gateway's own errors, and in their body", async () => {
    const answer = await rawCall(gatehouse.proxyUrl, {
      target: "/nowhere",
      headers: [["X-Request-Id", "mine"]],
    });
    expect(answer.header("x-request-id")).toBe("mine");
    expect(answer.json().request_id).toBe("mine");
  });

  test("X-GW-Provider, X-GW-Model, X-GW-Attempts, Server-Timing: on answers, errors and streams", async () => {
    for (const answer of [
      await chat(),
      await chat({ status: 400 }),
      await chat({}, [], { ...CHAT, stream: true }),
    ]) {
      expect(answer.header("x-gw-provider")).toBe("openai");
      expect(answer.header("x-gw-model")).toBe("gpt-fake");
      expect(answer.header("x-gw-attempts")).toBe("1");
      expect(answer.header("server-timing")).toMatch(/^total;dur=\d+\.\d, upstream;dur=\d+\.\d$/);
    }
  });

  test("the provider's own Server-Timing stays beside ours", async () => {
    const answer = await answerTo({ headers: [["Server-Timing", "inference;dur=3"]] });
    expect(answer.all("server-timing").join(", ")).toMatch(/inference;dur=3.*total;dur=/);
  });

  test("X-GW-Model is the model that was sent; absent when there was none", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "acme", default_model: "the default" })] },
    });
    const answer = await rawJson(gatehouse.proxyUrl, path, { messages: CHAT.messages });
    expect(answer.header("x-gw-model")).toBe("the default");
    expect(answer.header("x-gw-provider")).toBe("acme");
    expect((await answerTo({})).all("x-gw-model")).toEqual([]);
  });

  test("X-GW-Model cannot be used to write headers", async () => {
    const answer = await chat({}, [], { ...CHAT, model: "evil\r\nX-Evil: 1\u0000é" });
    expect(answer.status).toBe(200);
    expect(answer.all("x-evil")).toEqual([]);
  });

  test("X-GW-Attempts counts every try", async () => {
    const failing = await startFakeProvider();
    failing.behave({ status: 503 });
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(failing), targetAt(provider, { provider: "second", priority: 2 })] },
    });
    const answer = await rawJson(gatehouse.proxyUrl, path, CHAT);
    expect(answer.status).toBe(200);
    expect(answer.header("x-gw-attempts")).toBe("2");
    expect(answer.header("x-gw-provider")).toBe("second");
    await failing.stop();
  });

  test("what the provider says under these names is not believed", async () => {
    const lies: HeaderPair[] = [
      "X-GW-Provider",
      "X-GW-Attempts",
      "X-GW-Model",
      "X-GW-Provider-Request-Id",
    ].map((name) => [name, "a lie"]);
    const answer = await answerTo({ headers: lies });
    expect(answer.headers.filter(([, value]) => value.includes("a lie"))).toEqual([]);
  });
});
