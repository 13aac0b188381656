// Every chat with a response is counted with the tokens that its provider reports: whole, streamed, translated, compressed, cut,
// or abandoned by the client. Clients see usage only if they request it.
import { describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import type { Behavior } from "../../src/fake-provider/server.ts";
import {
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  scriptedWhole,
} from "../support/plugin-fixtures.ts";
import { estimateRequestTokens, estimateTokens } from "../../src/formats/token-estimate.ts";
import { CHAT, onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { chunksOf, eventsOf, TEST_PRICES, totalAfter, totalOf } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const STREAM = { ...CHAT, stream: true };
const STREAM_WITH_USAGE = { ...STREAM, stream_options: { include_usage: true } };
const USED: Behavior = { usage: { input: 11, output: 7 } };
const ANTHROPIC = { provider: "anthropic" };
/** The local estimate of the input of STREAM. */
const ESTIMATED_INPUT = estimateRequestTokens(STREAM);

const PLUGINS_DIR = pluginsDirectory(SCRIPTED_PLUGINS);
const [gatehouse, one, two] = await Promise.all([
  useGatehouse({ env: { PLUGINS_DIR } }),
  useFakeProvider({ name: "one" }),
  useFakeProvider({ name: "two" }),
]);
expect((await gatehouse.api("PUT", "/prices", { prices: TEST_PRICES })).status).toBe(200);

const routeTo = (target: Record<string, unknown> = {}, rule: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { upstream: { targets: [targetAt(one, target)] }, rule });

describe("whole responses", () => {
  test.each([
    ["chat completion", {}, {}],
    ["message", ANTHROPIC, {}],
    ["translated message", ANTHROPIC, { response_format: "openai" }],
  ])("%s", async (_, target, rule) => {
    const route = await routeTo(target, rule);
    one.behave(USED);
    const text = '{"usage":{"prompt_tokens":1000}} "usage":{"prompt_tokens":99}}';
    for (let times = 0; times < 3; times++) await (await postChat(gatehouse, route)).text();
    one.behave({ ...USED, text });
    expect(await (await postChat(gatehouse, route)).text()).toContain("1000");
    expect(await totalAfter(gatehouse, route, 4)).toEqual(totalOf(4, 44, 28));
  });

  test.each(["gzip", "br", "deflate", "zstd"] as const)(
    "encoded with %s are relayed byte for byte",
    async (encoding) => {
      const route = await routeTo();
      one.behave({ ...USED, encoding });
      const response = await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Accept-Encoding", encoding]]);
      expect(response.header("content-encoding")).toBe(encoding);
      expect(onlyRequest(one).header("accept-encoding")).toBe(encoding);
      const decode = {
        gzip: gunzipSync,
        br: brotliDecompressSync,
        deflate: inflateSync,
        zstd: zstdDecompressSync,
      };
      expect(JSON.parse(decode[encoding](response.body).toString()).usage.prompt_tokens).toBe(11);
      expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
    },
  );

  test("in several chunks, plain and compressed", async () => {
    const route = await routeTo();
    const body = JSON.stringify({
      a: "x".repeat(500_000),
      usage: { prompt_tokens: 11, completion_tokens: 7 },
    });
    const pieces = [body.slice(0, 400_000), body.slice(400_000, -20), body.slice(-20)];
    for (const behaviour of [{ body: pieces }, { body: pieces, gzip: true }]) {
      one.behave(behaviour);
      expect(((await (await postChat(gatehouse, route)).json()) as { a: string }).a).toHaveLength(500_000);
    }
    expect(await totalAfter(gatehouse, route, 2)).toEqual(totalOf(2, 22, 14));
  });

  test("that cannot be decoded, or decode to too many bytes, are relayed and counted as partial", async () => {
    const route = await routeTo();
    const bomb = JSON.stringify({ a: "x".repeat(6_000_000), usage: { prompt_tokens: 11 } });
    one.behave({ body: "{}", headers: [["Content-Encoding", "br"]] });
    await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Accept-Encoding", "br"]]);
    one.behave({ body: "{}", headers: [["Content-Encoding", "unknown"]] });
    await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Accept-Encoding", "unknown"]]);
    one.behave({ body: bomb, gzip: true });
    expect(await (await postChat(gatehouse, route)).text()).toBe(bomb);
    expect(await totalAfter(gatehouse, route, 3)).toEqual(totalOf(3, 0, 0, 3));
  });

  test("errors and responses to other requests are not counted, unless they report tokens", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one, { path: "" })], max_attempts: 1 },
      rule: { path: "/any/*", strip_path: true, methods: ["GET", "POST"] },
    });
    const post = (path: string, body: unknown = CHAT) =>
      postChat(gatehouse, { ...route, path: `/any${path}` }, { body }).then((response) => response.text());
    one.behave({ status: 400 });
    await post("/v1/chat/completions");
    one.behave({ status: 500 });
    await post("/v1/chat/completions");
    one.reset();
    await post("/v1/echo", { messages: [], stream: true });
    expect(onlyRequest(one).json()).toEqual({ messages: [], stream: true });
    await fetch(`${gatehouse.proxyUrl}/any/v1/models`).then((response) => response.text());
    one.behave({ body: '{"data":[],"usage":{"prompt_tokens":5,"total_tokens":5}}' });
    await post("/v1/embeddings", { model: "gpt-fake", input: "x" });
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 5, 0));
  });
});

describe("streams", () => {
  test("the gateway requests usage from the provider, and the client does not see it", async () => {
    const route = await routeTo();
    one.behave({ ...USED, text: "some words to say" });
    const body = `{ "stream":true, "seed": 12345678901234567890, ${JSON.stringify(CHAT).slice(1)}`;
    const response = await rawJson(gatehouse.proxyUrl, route.path, body);
    const sent = Buffer.from(onlyRequest(one).body).toString();
    expect(sent).toBe(body.replace("{", '{"stream_options":{"include_usage":true},'));
    const chunks = chunksOf(response.body.toString());
    expect(chunks).toHaveLength(6);
    for (const chunk of chunks) expect(chunk.choices).toHaveLength(1);
    expect(eventsOf(response.body.toString()).at(-1)).toBe("[DONE]");
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("the client gets the provider's stream without the usage event", async () => {
    const route = await routeTo();
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    const usageEvent = `data: ${JSON.stringify({ choices: [], usage })}\r\n\r\n`;
    const before =
      ': hello\n\ndata: {"choices":[{"delta":{"content":"\\"usage\\":{"}}],"usage":null}\r\n\r\n';
    const stream = `${before}${usageEvent}data: [DONE]\n\n`;
    for (const size of [1, 3, 50, 1000]) {
      const pieces = stream.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
      one.behave({ body: pieces });
      expect(await (await postChat(gatehouse, route, { body: STREAM })).text()).toBe(
        `${before}data: [DONE]\n\n`,
      );
    }
    expect(await totalAfter(gatehouse, route, 4)).toEqual(totalOf(4, 44, 28));
  });

  test("a client that requests usage gets it, and its body is forwarded unchanged", async () => {
    const route = await routeTo();
    one.behave(USED);
    const text = await (await postChat(gatehouse, route, { body: STREAM_WITH_USAGE })).text();
    expect(Buffer.from(onlyRequest(one).body).toString()).toBe(JSON.stringify(STREAM_WITH_USAGE));
    expect(chunksOf(text).at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 11 } });
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("the gateway requests usage also if the client disables it or sends other options", async () => {
    const route = await routeTo({ models: ["gpt-fake", "other"], default_model: "other" });
    one.behave(USED);
    for (const stream_options of [{ include_usage: false }, { include_obfuscation: false }, null]) {
      const text = await (await postChat(gatehouse, route, { body: { ...STREAM, stream_options } })).text();
      expect(chunksOf(text).every((chunk) => chunk.choices.length === 1)).toBe(true);
      expect(one.requests.at(-1)?.json()).toMatchObject({
        stream_options: { ...stream_options, include_usage: true },
      });
    }
    const unnamed = await postChat(gatehouse, route, { body: { ...STREAM, model: null } });
    expect(chunksOf(await unnamed.text()).every((chunk) => chunk.model === "other")).toBe(true);
    expect(one.requests.at(-1)?.json()).toMatchObject({
      model: "other",
      stream_options: { include_usage: true },
    });
    expect(await totalAfter(gatehouse, route, 4)).toMatchObject({
      requests: 4,
      input_tokens: 44,
      output_tokens: 28,
    });
  });

  test("message streams always report usage, translated or not", async () => {
    const plain = await routeTo(ANTHROPIC);
    const translated = await routeTo(ANTHROPIC, { response_format: "openai" });
    one.behave(USED);
    for (const route of [plain, translated]) {
      await (await postChat(gatehouse, route, { body: { ...STREAM, max_tokens: 9 } })).text();
      expect(one.requests.at(-1)?.json()).not.toHaveProperty("stream_options");
      expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
    }
    const text = await (await postChat(gatehouse, translated, { body: STREAM_WITH_USAGE })).text();
    expect(chunksOf(text).at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 11 } });
  });

  test.each(["gzip", "br", "deflate", "zstd"] as const)(
    "encoded with %s keep their encoding without the usage event; a requested usage event stays",
    async (encoding) => {
      const route = await routeTo();
      one.behave({ ...USED, encoding, text: "some words", chunkDelayMs: 1 });
      const decode = {
        gzip: gunzipSync,
        br: brotliDecompressSync,
        deflate: inflateSync,
        zstd: zstdDecompressSync,
      };
      const read = async (body: unknown) => {
        const response = await rawJson(gatehouse.proxyUrl, route.path, body, [["Accept-Encoding", encoding]]);
        expect(response.header("content-encoding")).toBe(encoding);
        return chunksOf(decode[encoding](response.body).toString());
      };
      expect((await read(STREAM)).map((chunk) => chunk.choices.length)).toEqual([1, 1, 1, 1]);
      expect((await read(STREAM_WITH_USAGE)).map((chunk) => chunk.choices.length)).toEqual([1, 1, 1, 1, 0]);
      expect(await totalAfter(gatehouse, route, 2)).toEqual(totalOf(2, 22, 14));
    },
  );

  test("plugins do not see the usage event, whether they get chunks or the whole body", async () => {
    for (const plugin of [scripted, scriptedWhole]) {
      const code = "context.replaceChunk(context.text.toUpperCase())";
      const route = await seedRoute(gatehouse, {
        gateway: { required_plugins: [plugin("pre_response", code)] },
        upstream: { targets: [targetAt(one)] },
      });
      one.behave({ ...USED, text: "a b", gzip: true });
      const response = await postChat(gatehouse, route, { body: STREAM });
      const text = await response.text();
      expect(text).toContain('"CONTENT":"A"');
      expect(text).not.toContain("PROMPT_TOKENS");
      expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
    }
  });
});

describe("responses that end early", () => {
  test("cut by the provider: what was not reported is estimated from request and text, and the client gets all bytes", async () => {
    const chat = await routeTo();
    const messages = await routeTo(ANTHROPIC);
    const translated = await routeTo(ANTHROPIC, { response_format: "openai" });
    // A translated stream that is cut before its first content is a failed attempt.
    for (const [route, chunks, input, output] of [
      [chat, 3, ESTIMATED_INPUT, 2],
      [messages, 3, 11, 1],
      [translated, 5, 11, 2],
    ] as const) {
      one.behave({ ...USED, cutAfterChunks: chunks, chunkDelayMs: 5 });
      const body = { ...STREAM, max_tokens: 9 };
      const cut = await postChat(gatehouse, route, { body }).then((response) =>
        response.text().then(
          () => false,
          () => true,
        ),
      );
      expect(cut).toBe(true);
      expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, input, output, 1));
    }
  });

  test("cut inside an event: the client gets the bytes that were held back", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one)], timeouts: { idle: 300 } },
    });
    one.behave({ body: ['data: {"choices":[{"a":1}]}\n\n', 'data: {"half'], stallAfterChunks: 2 });
    const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
    const body = JSON.stringify(STREAM);
    const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    client.send(`POST ${route.path} HTTP/1.1\r\n${head}\r\n\r\n${body}`);
    expect((await client.ended).received).toContain('data: {"half');
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, ESTIMATED_INPUT, 0, 1));
  });

  test("client disconnected: what was not reported is estimated from request and text", async () => {
    const chat = await routeTo();
    const messages = await routeTo(ANTHROPIC);
    for (const [route, input, output] of [
      [chat, ESTIMATED_INPUT, 1],
      [messages, 11, 1],
    ] as const) {
      one.behave({ ...USED, stallAfterChunks: 2 });
      const abort = new AbortController();
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...STREAM, max_tokens: 9 }),
        signal: abort.signal,
      });
      await response.body!.getReader().read();
      abort.abort();
      expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, input, output, 1));
    }
  });

  /** Sends a request whose client disconnects when the provider has received it. */
  const leave = async (path: string, request: RequestInit) => {
    one.behave({ delayMs: 60_000 });
    const received = one.requests.length;
    const abort = new AbortController();
    const response = fetch(gatehouse.proxyUrl + path, { ...request, signal: abort.signal }).catch(() => null);
    await waitUntil(() => one.requests.length > received);
    abort.abort();
    await response;
  };
  const record = async (gateway: string, count: number) =>
    waitFor(async () => {
      const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
      return body.requests.length === count ? body.requests[0] : null;
    });
  const JSON_HEADERS = { "Content-Type": "application/json" };

  test("client disconnected before the response: the input is estimated, and the request is partial", async () => {
    // Of a response that is no stream, as much as the request permits may have been generated.
    for (const [body, output] of [
      [{ ...CHAT, max_tokens: 1 }, 1],
      [STREAM, 0],
    ] as const) {
      const route = await routeTo();
      await leave(route.path, { method: "POST", headers: JSON_HEADERS, body: JSON.stringify(body) });
      expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, ESTIMATED_INPUT, output, 1));
      expect(await record(route.gateway, 1)).toMatchObject({
        outcome: "client_left",
        tokens: { input: ESTIMATED_INPUT, output, partial: true },
      });
      const { body: usage } = await gatehouse.api("GET", `/gateways/${route.gateway}/usage?group_by=model`);
      expect(usage.usage).toMatchObject([{ model: "gpt-fake", requests: 1 }]);
    }
  });

  test("no response within the timeout: the input is estimated", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one)], max_attempts: 1, timeouts: { first_byte: 100 } },
    });
    one.behave({ delayMs: 60_000 });
    expect((await postChat(gatehouse, route, { body: { ...CHAT, max_tokens: 1 } })).status).toBe(504);
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, ESTIMATED_INPUT, 1, 1));
  });

  test("a request that no provider received, or that runs no model, has no usage", async () => {
    const route = await routeTo({ path: "/v1/files" }, { methods: ["GET"] });
    await leave(route.path, { method: "GET" });
    expect(await record(route.gateway, 1)).toMatchObject({ outcome: "client_left", tokens: null });
    const unreachable = await routeTo({ base_url: "http://127.0.0.1:1" });
    expect((await postChat(gatehouse, unreachable, { body: CHAT })).status).toBe(502);
    expect(await record(unreachable.gateway, 1)).toMatchObject({ tokens: null });
    for (const { gateway } of [route, unreachable])
      expect((await gatehouse.api("GET", `/gateways/${gateway}/usage`)).body.total.requests).toBe(0);
  });

  test("the estimate of a cut text is close to its tokens, plain and compressed, in every format", async () => {
    const text = Array.from(
      { length: 300 },
      (_, at) => ["The ", "northern ", "harbor ", "waits. "][at % 4] ?? "",
    );
    const expected = estimateTokens(text.join(""));
    const chatEvent = (content: string) =>
      `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
    const messageEvent = (delta: string) =>
      `data: ${JSON.stringify({ type: "content_block_delta", delta: { type: "text_delta", text: delta } })}\n\n`;
    const chat = text.map(chatEvent);
    const cases: [Record<string, string>, Behavior][] = [
      [{}, { body: chat, cutAfterChunks: chat.length }],
      [{}, { body: [...chat, "data: [DONE]\n\n"] }],
      [{}, { body: chat, gzip: true, cutAfterChunks: 2 }],
      [ANTHROPIC, { body: text.map(messageEvent), cutAfterChunks: text.length }],
    ];
    for (const [target, behavior] of cases) {
      const route = await routeTo(target);
      one.behave({ ...behavior, headers: [["Content-Type", "text/event-stream"]] });
      const response = await postChat(gatehouse, route, { body: { ...STREAM, max_tokens: 9 } });
      await response.text().catch(() => "");
      const total = await totalAfter(gatehouse, route, 1);
      expect(total).toMatchObject({
        partial_requests: 1,
        input_tokens: ESTIMATED_INPUT,
        unpriced_requests: 0,
      });
      if (behavior.gzip !== true) expect(total.output_tokens / expected).toBeWithin(0.8, 1.25);
    }
  });

  test.each([
    ["while it was relayed", 0, {}, 200],
    ["by a reset while it was relayed", 0, { reset: true }, 200],
    ["compressed, while it was relayed", 0, { gzip: true }, 200],
    ["before any of it was relayed", 60_000, { reset: true }, 502],
  ])("JSON that is cut %s counts the text that arrived", async (_, declared, behavior, status) => {
    const content = "The northern harbor waits. ".repeat(declared === 0 ? 20_000 : 2000);
    const whole = JSON.stringify({
      id: "c",
      choices: [{ index: 0, message: { role: "assistant", content } }],
    });
    const headers: [string, string][] = [["Content-Type", "application/json"]];
    if (declared > 0) headers.push(["Content-Length", String(whole.length)]);
    const body = [whole.slice(0, 12_000), whole.slice(12_000, 24_000), whole.slice(24_000)];
    const route = await routeTo({});
    one.behave({ body, cutAfterChunks: 2, chunkDelayMs: 5, headers, ...behavior });
    const response = await postChat(gatehouse, route);
    await response.text().catch(() => "");
    expect(response.status).toBe(status);
    const total = await totalAfter(gatehouse, route, 1);
    expect(total).toMatchObject({ partial_requests: 1, input_tokens: ESTIMATED_INPUT });
    const expected = estimateTokens(content.slice(0, 24_000));
    if ("gzip" in behavior) expect(total.output_tokens).toBeGreaterThan(0);
    else expect(total.output_tokens / expected).toBeWithin(0.8, 1.25);
  });

  test("a response on which a plugin failed is counted", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [scriptedWhole("pre_response", "throw new Error('no')")] },
      upstream: { targets: [targetAt(one)] },
    });
    one.behave(USED);
    expect((await postChat(gatehouse, route)).status).toBe(500);
    expect(await totalAfter(gatehouse, route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("failover: only the response that the client got is counted", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one), targetAt(two, { priority: 2 })] },
    });
    const broken = JSON.stringify({ usage: { prompt_tokens: 500 } });
    one.behave({ status: 503, body: broken });
    two.behave(USED);
    for (const body of [CHAT, STREAM]) await (await postChat(gatehouse, route, { body })).text();
    expect([one.requestCount, two.requestCount]).toEqual([2, 2]);
    expect(await totalAfter(gatehouse, route, 2)).toEqual(totalOf(2, 22, 14));
  });
});
