// Realtime endpoints: WebSockets of clients that are proxied to a target.
import { describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { mintToken, TEST_SECRET } from "../support/gatehouse-process.ts";
import { connectRaw } from "../support/raw-client.ts";
import { rawCall, seedKey, seedRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const provider = useRealtimeProvider();
const gatehouse = await useGatehouse();

const CREDENTIALS = { header_name: "Authorization", header_value: "Bearer sk-target" };
const HANDSHAKE: readonly HeaderPair[] = [
  ["Connection", "Upgrade"],
  ["Upgrade", "websocket"],
  ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
  ["Sec-WebSocket-Version", "13"],
];

let count = 0;

interface Seed {
  readonly gateway?: Record<string, unknown>;
  readonly rule?: Record<string, unknown>;
  readonly upstream?: Record<string, unknown>;
  readonly targets?: readonly Record<string, unknown>[];
}

/** Creates a route for a realtime path of its own. Resolves to its ids and URL. */
async function seed({ gateway = {}, rule = {}, upstream = {}, targets = [{}] }: Seed = {}) {
  const route = await seedRoute(gatehouse, {
    gateway,
    upstream: {
      ...upstream,
      targets: targets.map((fields) => ({
        provider: "openai",
        base_url: provider.url,
        path: "/v1/realtime",
        credentials: CREDENTIALS,
        ...fields,
      })),
    },
    rule: { path: `/r${++count}/realtime`, methods: ["GET"], ...rule },
  });
  return { ...route, url: gatehouse.proxyUrl + route.path };
}

/** Sends a handshake and resolves to the response, if it is not 101. */
const handshake = (target: string, headers: readonly HeaderPair[] = []) =>
  rawCall(gatehouse.proxyUrl, { method: "GET", target, headers: [...HANDSHAKE, ...headers] });

/** Sends a handshake and resolves to the header section of the response, which must be 101. */
async function switchedResponse(url: string, headers: readonly HeaderPair[] = []): Promise<string> {
  const { port, pathname, search } = new URL(url);
  const client = await connectRaw(Number(port));
  const lines = [["Host", "x"], ...HANDSHAKE, ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(`GET ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const head = await client.until((text) => text.includes("\r\n\r\n"));
  client.disconnect();
  expect(head).toStartWith("HTTP/1.1 101 ");
  return head;
}

/** Resolves to the only handshake that the provider received. */
async function received() {
  await waitUntil(() => provider.handshakes.length > 0);
  expect(provider.handshakes).toHaveLength(1);
  const [{ target, headers } = { target: "", headers: new Headers() }] = provider.handshakes;
  return { target, headers, text: JSON.stringify([target, ...headers]) };
}

/** Resolves when the provider has received a close frame with this code and reason. Sockets of earlier tests may close, too. */
async function closeAtProvider(code: number, reason: string): Promise<void> {
  await waitUntil(() => provider.closes.some((close) => close.code === code && close.reason === reason));
}

async function requestRecord(gateway: string) {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    return body.requests[0] ?? null;
  });
}

describe("messages", () => {
  test("text and binary messages, and empty ones, pass in both directions", async () => {
    const client = await openRealtime((await seed()).url);
    for (const message of ["hello", "", "ünïcödé 🎤", "x".repeat(70_000), "y".repeat(126)]) {
      client.socket.send(message);
      expect(await client.next()).toBe(message);
    }
    for (const size of [0, 1, 125, 126, 65_535, 65_536, 300_001]) {
      const bytes = Buffer.alloc(size, size % 251);
      client.socket.send(bytes);
      const reply = await client.next();
      expect(reply).toBeInstanceOf(Buffer);
      expect(Buffer.compare(Buffer.from(reply), bytes)).toBe(0);
    }
    client.socket.close();
  });

  test("the provider may send first, before the client sends anything", async () => {
    const client = await openRealtime((await seed()).url);
    (await provider.socket()).send('{"type":"session.created"}');
    expect(await client.next()).toBe('{"type":"session.created"}');
    client.socket.close();
  });

  test("pings of both sides get a pong from the gateway and are not forwarded", async () => {
    const client = await openRealtime((await seed()).url);
    const pongs: string[] = [];
    client.socket.addEventListener(
      "pong",
      ({ data }: MessageEvent<Buffer>) => void pongs.push(data.toString()),
    );
    client.socket.ping("are you there");
    await waitUntil(() => pongs.length === 1);
    expect(pongs).toEqual(["are you there"]);
    expect(provider.pings).toEqual([]);
    (await provider.socket()).ping("and you");
    client.socket.send("after the ping");
    expect(await client.next()).toBe("after the ping");
    client.socket.close();
  });
});

describe("closing", () => {
  test.each([
    [1000, "done"],
    [1001, ""],
    [3000, "library"],
    [4321, "grund: ümlaut"],
  ])("the client's code %i and reason reach the provider", async (code, reason) => {
    const client = await openRealtime((await seed()).url);
    client.socket.close(code, reason);
    await closeAtProvider(code, reason);
    expect(await client.closed).toMatchObject({ code, reason });
  });

  test.each([
    [1000, "done"],
    [1011, "server error"],
    [4008, "session expired"],
  ])("the provider's code %i and reason reach the client", async (code, reason) => {
    const client = await openRealtime((await seed()).url);
    (await provider.socket()).close(code, reason);
    expect(await client.closed).toMatchObject({ code, reason });
  });

  test("messages before the close frame arrive before it", async () => {
    const client = await openRealtime((await seed()).url);
    const socket = await provider.socket();
    for (let index = 0; index < 100; index++) socket.send(`${index} ${"x".repeat(10_000)}`);
    socket.close(4000, "end");
    expect(await client.closed).toMatchObject({ code: 4000 });
    expect(client.messages).toHaveLength(100);
  });

  test("a provider that vanishes closes the client's socket with 1011, not with 1006", async () => {
    const route = await seed();
    const client = await openRealtime(route.url);
    (await provider.socket()).terminate();
    expect(await client.closed).toMatchObject({ code: 1011, wasClean: true });
    expect(await requestRecord(route.gateway)).toMatchObject({
      status: 101,
      outcome: "incomplete",
      attempts: [{ status: 101, fault: "cut" }],
    });
  });

  test("a client that vanishes closes the provider's socket with 1001", async () => {
    const route = await seed();
    const client = await openRealtime(route.url);
    await provider.socket();
    client.socket.terminate();
    await closeAtProvider(1001, "");
    expect(await requestRecord(route.gateway)).toMatchObject({ status: 101, outcome: "client_left" });
  });

  test("the request log has the socket when it has ended", async () => {
    const { gateway, url } = await seed({ targets: [{ path: "/v1/chat/completions" }] });
    const { key, id } = await seedKey(gatehouse, gateway);
    const client = await openRealtime(`${url}?model=gpt-realtime`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    client.socket.send("hi");
    await client.next();
    expect((await gatehouse.api("GET", `/gateways/${gateway}/requests`)).body.requests).toEqual([]);
    client.socket.close(1000);
    expect(await requestRecord(gateway)).toMatchObject({
      status: 101,
      outcome: "complete",
      error_code: null,
      method: "GET",
      operation: null,
      model: "gpt-realtime",
      requested_model: "gpt-realtime",
      api_key: { id },
      provider: "openai",
      tokens: null,
    });
  });
});

describe("API keys", () => {
  test("a rule that requires a key rejects a handshake without one, and accepts it in a header, the query and a protocol", async () => {
    const { gateway, url, path } = await seed({ rule: { require_api_key: true } });
    const { key } = await seedKey(gatehouse, gateway);
    const rejected = await handshake(path);
    expect(rejected.status).toBe(401);
    expect(rejected.json()).toMatchObject({ code: "api_key_required" });
    expect(
      (await handshake(path, [["Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.sk-other"]]))
        .status,
    ).toBe(401);
    expect(
      (await handshake(path, [["Sec-WebSocket-Protocol", `openai-insecure-api-key.${key}x`]])).status,
    ).toBe(401);
    expect(provider.handshakes).toEqual([]);
    (await openRealtime(url, { headers: { Authorization: `Bearer ${key}` } })).socket.close();
    (await openRealtime(url, { headers: { "api-key": key } })).socket.close();
    (await openRealtime(`${url}?key=${key}`)).socket.close();
    provider.protocol = "realtime";
    const protocols = ["realtime", `openai-insecure-api-key.${key}`];
    (await openRealtime(url, { protocols })).socket.close();
  });

  test("a socket is closed with the next message after its key was revoked or restricted", async () => {
    const { gateway, url } = await seed();
    const changes: ((id: string) => Promise<{ readonly status: number }>)[] = [
      (id) => gatehouse.api("DELETE", `/iam/api-keys/${id}`),
      (id) => gatehouse.api("PATCH", `/iam/api-keys/${id}`, { models: ["only-this"] }),
    ];
    for (const change of changes) {
      const { key, id } = await seedKey(gatehouse, gateway);
      const client = await openRealtime(url, { headers: { "X-GW-API-Key": key } });
      client.socket.send('{"session":{"model":"before"}}');
      await client.next();
      expect((await change(id)).status).toBeLessThan(300);
      client.socket.send('{"session":{"model":"after"}}');
      expect(await client.closed).toMatchObject({ code: 1008 });
      expect(provider.messages).not.toContain('{"session":{"model":"after"}}');
    }
  });

  test("a socket is closed with the next message after its gateway was deleted", async () => {
    const { gateway, url } = await seed();
    const client = await openRealtime(url);
    expect((await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`)).status).toBe(204);
    client.socket.send("hi");
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(provider.messages).toEqual([]);
  });

  test("two different keys, one of them in a protocol, are rejected", async () => {
    const { gateway, path } = await seed();
    const [one, two] = [
      await seedKey(gatehouse, gateway),
      await seedKey(gatehouse, gateway, { name: "two" }),
    ];
    const response = await handshake(path, [
      ["Authorization", `Bearer ${one.key}`],
      ["Sec-WebSocket-Protocol", `openai-insecure-api-key.${two.key}`],
    ]);
    expect(response.status).toBe(401);
    expect(response.json()).toMatchObject({ code: "invalid_api_key" });
  });

  test("no credential of the gateway reaches the provider, and that of the target does", async () => {
    const { gateway, url } = await seed();
    const { key } = await seedKey(gatehouse, gateway);
    const token = mintToken({ SERVER_SECRET_KEY: TEST_SECRET });
    provider.protocol = "realtime";
    const client = await openRealtime(`${url}?model=m&key=${key}&other=${key}`, {
      headers: { Authorization: `Bearer ${key}`, "X-GW-API-Key": key, "X-Other": token },
      protocols: [
        `openai-insecure-api-key.${key}`,
        "realtime",
        key,
        `openai-insecure-api-key.${token}`,
        "openai-beta.realtime-v1",
      ],
    });
    const { text, headers, target } = await received();
    expect(text).not.toContain(key);
    expect(text).not.toContain(token);
    expect(target).toBe("/v1/realtime?model=m");
    expect(headers.get("authorization")).toBe("Bearer sk-target");
    expect(headers.get("sec-websocket-protocol")).toBe("realtime, openai-beta.realtime-v1");
    expect(client.socket.protocol).toBe("realtime");
    client.socket.close();
  });

  test("a provider key in a protocol is forwarded only to a target without a credential", async () => {
    const protocols = ["realtime", "openai-insecure-api-key.sk-client"];
    for (const [credentials, expected] of [
      [CREDENTIALS, "realtime"],
      [null, "realtime, openai-insecure-api-key.sk-client"],
    ] as const) {
      provider.reset();
      provider.protocol = "realtime";
      const client = await openRealtime((await seed({ targets: [{ credentials }] })).url, { protocols });
      expect((await received()).headers.get("sec-websocket-protocol")).toBe(expected);
      client.socket.close();
    }
  });

  test("the protocol that the provider selects is returned, and none if it selects none", async () => {
    const { url, path } = await seed();
    const protocols = ["openai-insecure-api-key.sk-x", "realtime", "other"];
    provider.protocol = "other";
    const client = await openRealtime(url, { protocols });
    expect(client.socket.protocol).toBe("other");
    client.socket.close();
    provider.protocol = null;
    const head = await switchedResponse(url, [["Sec-WebSocket-Protocol", protocols.join(", ")]]);
    expect(head).not.toMatch(/sec-websocket-protocol/i);
    // A protocol that was not offered is an invalid handshake (RFC 6455, section 4.1).
    provider.protocol = "unknown";
    const response = await handshake(path, [["Sec-WebSocket-Protocol", "realtime"]]);
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject({ code: "upstream_bad_answer" });
  });
});

describe("the handshake with the provider", () => {
  test("has the target's headers and path, no header of the client's connection, and no extension", async () => {
    const { url } = await seed({ targets: [{ headers: { "X-Team": "voice" } }] });
    const client = await openRealtime(url, { headers: { "OpenAI-Beta": "realtime=v1", Cookie: "a=b" } });
    const { target, headers } = await received();
    expect(target).toBe("/v1/realtime");
    expect(headers.get("x-team")).toBe("voice");
    expect(headers.get("openai-beta")).toBe("realtime=v1");
    expect(headers.get("cookie")).toBeNull();
    expect(headers.get("sec-websocket-extensions")).toBeNull();
    expect(headers.get("sec-websocket-version")).toBe("13");
    client.socket.close();
  });

  test("uses the realtime endpoint beside the chat endpoint for a target without a path", async () => {
    for (const rule of [{}, { path: "/all/*", methods: ["*"] }]) {
      provider.reset();
      const { path } = await seed({ rule, targets: [{ path: null }] });
      (await openRealtime(gatehouse.proxyUrl + path.replace("*", "v1/realtime"))).socket.close();
      expect((await received()).target).toBe("/v1/realtime");
    }
    provider.reset();
    const { url } = await seed({ targets: [{ path: null, provider: "groq" }] });
    (await openRealtime(url)).socket.close();
    expect((await received()).target).toBe("/openai/v1/realtime");
  });

  test("a provider without a realtime endpoint is passed over, and 404 without another one", async () => {
    const anthropic = { provider: "anthropic", path: null, priority: 1 };
    const { url } = await seed({ targets: [anthropic, { path: null, priority: 2 }] });
    (await openRealtime(url)).socket.close();
    expect((await received()).target).toBe("/v1/realtime");
    const { path } = await seed({ targets: [anthropic] });
    const response = await handshake(path);
    expect(response.status).toBe(404);
    expect(response.json()).toMatchObject({ code: "operation_not_supported" });
  });

  test("the response to the client has the gateway's headers", async () => {
    const { url } = await seed();
    const head = await switchedResponse(`${url}?model=gpt-realtime`);
    expect(head).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    expect(head.match(/sec-websocket-accept/gi)).toHaveLength(1);
    expect(head).toMatch(/x-gw-provider: openai/i);
    expect(head).toMatch(/x-gw-model: gpt-realtime/i);
    expect(head).toMatch(/x-gw-provider-request-id: req_provider/i);
    expect(head).toMatch(/x-request-id: [0-9a-f-]{36}/i);
    expect(head.match(/\r\ndate:/gi)).toHaveLength(1);
    expect(head).not.toMatch(/sec-websocket-protocol/i);
  });
});

describe("a handshake that the provider refuses", () => {
  test.each([401, 403, 404, 429])("with %i reaches the client with its status and body", async (status) => {
    const { path, gateway } = await seed({ upstream: { max_attempts: 1 } });
    provider.refuse = () =>
      Response.json({ error: { message: "no" } }, { status, headers: { "X-Why": "quota" } });
    const response = await handshake(path);
    expect(response.status).toBe(status);
    expect(response.json()).toEqual({ error: { message: "no" } });
    expect(response.header("x-why")).toBe("quota");
    expect(await requestRecord(gateway)).toMatchObject({ status, outcome: "complete" });
  });

  test.each([429, 500, 503])("with %i is sent to another target", async (status) => {
    const { url } = await seed({
      upstream: { max_attempts: 2 },
      targets: [
        { path: "/first", priority: 1 },
        { path: "/second", priority: 2 },
      ],
    });
    provider.refuse = (request) => (request.url.endsWith("/first") ? new Response("no", { status }) : null);
    const client = await openRealtime(url);
    expect(provider.handshakes.map(({ target }) => target)).toEqual(["/first", "/second"]);
    client.socket.send("hi");
    expect(await client.next()).toBe("hi");
    client.socket.close();
  });

  test("an unreachable target is failed over, and 502 without another one", async () => {
    const dead = { base_url: "http://127.0.0.1:9", priority: 1 };
    const { url } = await seed({ upstream: { max_attempts: 2 }, targets: [dead, { priority: 2 }] });
    (await openRealtime(url)).socket.close();
    const { path } = await seed({ upstream: { max_attempts: 1 }, targets: [dead] });
    expect((await handshake(path)).status).toBe(502);
  });

  test("a provider that responds without switching protocols is relayed as it responds", async () => {
    const { path } = await seed();
    provider.refuse = () => new Response("a page");
    const response = await handshake(path);
    expect(response.status).toBe(200);
    expect(response.body.toString()).toBe("a page");
  });
});

describe("plugins", () => {
  test("pre_request plugins run before the handshake and may refuse it", async () => {
    const limiter = {
      name: "rate_limiter",
      stage: "pre_request",
      settings: { limits: { global: { limit: 1, window: "1h" } } },
    };
    const { url, path } = await seed({ gateway: { required_plugins: [limiter] } });
    (await openRealtime(url)).socket.close();
    const refused = await handshake(path);
    expect(refused.status).toBe(429);
    expect(refused.json()).toMatchObject({ code: "rate_limit_exceeded" });
    expect(provider.handshakes).toHaveLength(1);
  });
});

describe("models", () => {
  test("the model in the query selects the target, and a target's default model replaces one that it does not serve", async () => {
    const { url } = await seed({
      upstream: { model_routing: "prefer" },
      targets: [
        { path: "/a", models: ["model-a"] },
        { path: "/b", models: ["model-b"], default_model: "model-b" },
      ],
    });
    const targetFor = async (query: string) => {
      provider.reset();
      (await openRealtime(`${url}${query}`)).socket.close();
      return (await received()).target;
    };
    expect(await targetFor("?model=model-a")).toBe("/a?model=model-a");
    expect(await targetFor("?model=model-b&x=1")).toBe("/b?model=model-b&x=1");
    const single = await seed({ targets: [{ models: ["model-b"], default_model: "model-b" }] });
    provider.reset();
    (await openRealtime(`${single.url}?x=1&model=other`)).socket.close();
    expect((await received()).target).toBe("/v1/realtime?x=1&model=model-b");
    provider.reset();
    (await openRealtime(`${single.url}?x=1`)).socket.close();
    expect((await received()).target).toBe("/v1/realtime?x=1&model=model-b");
  });

  test("require: a model that no target serves is 404", async () => {
    const { path } = await seed({
      upstream: { model_routing: "require" },
      targets: [{ models: ["model-a"] }],
    });
    expect((await handshake(`${path}?model=model-x`)).json()).toMatchObject({ code: "model_not_found" });
    const twice = await handshake(`${path}?model=model-a&model=model-x`);
    expect(twice.json()).toMatchObject({ code: "bad_request" });
  });

  test("a key with models may use only these: in the query, by default of the target, and in messages", async () => {
    const { gateway, url, path } = await seed();
    const { key } = await seedKey(gatehouse, gateway, { models: ["gpt-realtime*"] });
    const auth: HeaderPair = ["X-GW-API-Key", key];
    for (const query of ["?model=o9", "", "?deployment=o9", "?model=gpt-realtime&model=o9"])
      expect((await handshake(path + query, [auth])).status).toBeOneOf([400, 403]);
    expect(provider.handshakes).toEqual([]);
    const open = () => openRealtime(`${url}?model=gpt-realtime`, { headers: { "X-GW-API-Key": key } });
    const client = await open();
    client.socket.send(
      '{"type":"session.update","session":{"model":"gpt-realtime-mini","note":"a model: o9"}}',
    );
    await client.next();
    client.socket.close();
    for (const message of [
      '{"type":"session.update","model":"o9"}',
      '{"session":{"audio":{"input":{"transcription":{"model" : "o9"}}}}}',
      '{"session":{"mod\\u0065l":"o9","model":"gpt-realtime"}}',
      Buffer.from('{"Model":"o9"}'),
    ]) {
      provider.messages.length = 0;
      const refused = await open();
      refused.socket.send(message);
      expect(await refused.closed).toMatchObject({ code: 1008 });
      expect(provider.messages).toEqual([]);
    }
    expect(await requestRecord(gateway)).toMatchObject({
      outcome: "refused",
      error_code: "model_not_allowed",
    });
  });

  test("a key with models may not use the default model of a target if it is not among them", async () => {
    const { gateway, path } = await seed({ targets: [{ models: ["gpt-a"], default_model: "gpt-b" }] });
    const { key } = await seedKey(gatehouse, gateway, { models: ["gpt-x"] });
    const response = await handshake(`${path}?model=gpt-x`, [["X-GW-API-Key", key]]);
    expect(response.status).toBe(403);
    expect(response.json()).toMatchObject({ code: "model_not_allowed" });
  });
});

describe("handshakes of clients that are rejected", () => {
  test("a realtime path without a rule for GET is 426", async () => {
    const { path } = await seed({ rule: { methods: ["POST"] } });
    for (const target of [path, "/no/rule/realtime", `${path}/more`])
      expect((await handshake(target)).status).toBe(426);
  });

  test("the admin listener serves no realtime endpoint", async () => {
    const { path } = await seed();
    const response = await rawCall(gatehouse.adminUrl, { method: "GET", target: path, headers: HANDSHAKE });
    expect(response.status).toBe(426);
    expect(provider.handshakes).toEqual([]);
  });

  test.each<[string, readonly HeaderPair[]]>([
    ["without a key", [["Sec-WebSocket-Version", "13"]]],
    [
      "with a key of another length",
      [
        ["Sec-WebSocket-Key", "c2hvcnQ="],
        ["Sec-WebSocket-Version", "13"],
      ],
    ],
    [
      "with another version",
      [
        ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
        ["Sec-WebSocket-Version", "8"],
      ],
    ],
    ["with a protocol that is no token", [...HANDSHAKE.slice(2), ["Sec-WebSocket-Protocol", "a b"]]],
  ])("%s: 400, and the provider receives nothing", async (_name, headers) => {
    const { path } = await seed();
    const response = await rawCall(gatehouse.proxyUrl, {
      method: "GET",
      target: path,
      headers: [...HANDSHAKE.slice(0, 2), ...headers],
    });
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ code: "bad_request" });
    expect(provider.handshakes).toEqual([]);
  });

  test("a website needs an API key or a place in cors of the gateway", async () => {
    const { gateway, path } = await seed();
    const { key } = await seedKey(gatehouse, gateway);
    const origin: HeaderPair = ["Origin", "https://evil.example"];
    const rejected = await handshake(path, [origin]);
    expect(rejected.status).toBe(403);
    expect(rejected.json()).toMatchObject({ code: "cross_site_request" });
    const url = gatehouse.proxyUrl + path;
    const headers = { Origin: "https://evil.example" };
    provider.protocol = "realtime";
    const protocols = ["realtime", `openai-insecure-api-key.${key}`];
    (await openRealtime(url, { headers, protocols })).socket.close();
    provider.protocol = null;
    const open = await seed({ gateway: { cors: { origins: ["https://evil.example"] } } });
    (await openRealtime(open.url, { headers })).socket.close();
  });
});
