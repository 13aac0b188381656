// Usage and cost at the door: every answered chat is counted with what its provider told, whole, streamed, translated,
// compressed, cut or left; clients see of it only what they asked for.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { connectRaw } from "../support/raw-client.ts";
import { startFakeProvider, type Behavior, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  waitFor,
  type ApiAnswer,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  scriptedWhole,
} from "../support/plugin-fixtures.ts";
import {
  CHAT,
  onlyRequest,
  rawJson,
  seedKey,
  seedRoute,
  targetAt,
  type SeededRoute,
} from "../support/proxy-fixtures.ts";

const START_MS = 20_000;
const STREAM = { ...CHAT, stream: true };
const ASKED = { ...STREAM, stream_options: { include_usage: true } };
const USED: Behavior = { usage: { input: 11, output: 7 } };
const ANTHROPIC = { provider: "anthropic" };

let gatehouse: GatehouseProcess;
let one: FakeProvider;
let two: FakeProvider;

beforeAll(async () => {
  const PLUGINS_DIR = pluginsDirectory(SCRIPTED_PLUGINS);
  [gatehouse, one, two] = await Promise.all([
    startGatehouseProcess({ env: { PLUGINS_DIR } }),
    startFakeProvider({ name: "one" }),
    startFakeProvider({ name: "two" }),
  ]);
  const prices = [{ model: "gpt-fake", input_per_million: 1, output_per_million: 10 }];
  expect((await gatehouse.api("PUT", "/prices", { prices })).status).toBe(200);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await Promise.all([one.stop(), two.stop()]);
});
beforeEach(() => {
  one.reset();
  two.reset();
});

type Total = Record<"requests" | "partial_requests" | "input_tokens" | "output_tokens" | "cost", number>;

const totalOf = (requests: number, input: number, output: number, partial = 0): Total => ({
  requests,
  partial_requests: partial,
  input_tokens: input,
  output_tokens: output,
  cost: Number(((input + 10 * output) / 1e6).toFixed(10)),
});

async function report(route: SeededRoute, query = ""): Promise<ApiAnswer["body"]> {
  const { status, body } = await gatehouse.api("GET", `/gateways/${route.gateway}/usage${query}`);
  expect(status).toBe(200);
  return body;
}

/** The gateway's total, once so many requests are in it. */
async function totalAfter(route: SeededRoute, requests: number): Promise<Total> {
  return waitFor(async () => {
    const { total } = await report(route);
    return total.requests >= requests ? total : null;
  }, 10_000);
}

const routeTo = (target: Record<string, unknown> = {}, rule: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { upstream: { targets: [targetAt(one, target)] }, rule });

const events = (text: string) =>
  text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => event.replace(/^(?:event: .*\n)?data: /, ""));
const chunksOf = (text: string) =>
  events(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));

describe("whole answers", () => {
  test.each([
    ["of a chat completion", {}, {}],
    ["of a message", ANTHROPIC, {}],
    ["of a message that is translated", ANTHROPIC, { response_format: "openai" }],
  ])("%s", async (_, target, rule) => {
    const route = await routeTo(target, rule);
    one.behave(USED);
    const text = '{"usage":{"prompt_tokens":1000}} "usage":{"prompt_tokens":99}}';
    for (let times = 0; times < 3; times++) await (await postChat(gatehouse, route)).text();
    one.behave({ ...USED, text });
    expect(await (await postChat(gatehouse, route)).text()).toContain("1000");
    expect(await totalAfter(route, 4)).toEqual(totalOf(4, 44, 28));
  });

  test.each(["gzip", "br", "deflate", "zstd"] as const)("in %s stay so, byte for byte", async (encoding) => {
    const route = await routeTo();
    one.behave({ ...USED, encoding });
    const answer = await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Accept-Encoding", encoding]]);
    expect(answer.header("content-encoding")).toBe(encoding);
    expect(onlyRequest(one).header("accept-encoding")).toBe(encoding);
    const decode = {
      gzip: gunzipSync,
      br: brotliDecompressSync,
      deflate: inflateSync,
      zstd: zstdDecompressSync,
    };
    expect(JSON.parse(decode[encoding](answer.body).toString()).usage.prompt_tokens).toBe(11);
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("in chunks of any number, plain and compressed", async () => {
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
    expect(await totalAfter(route, 2)).toEqual(totalOf(2, 22, 14));
  });

  test("what cannot be decoded, or decodes to too much, passes and is known to be unknown", async () => {
    const route = await routeTo();
    const bomb = JSON.stringify({ a: "x".repeat(6_000_000), usage: { prompt_tokens: 11 } });
    one.behave({ body: "{}", headers: [["Content-Encoding", "br"]] });
    await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Accept-Encoding", "br"]]);
    one.behave({ body: "{}", headers: [["Content-Encoding", "of-our-own"]] });
    await rawJson(gatehouse.proxyUrl, route.path, CHAT, [["Accept-Encoding", "of-our-own"]]);
    one.behave({ body: bomb, gzip: true });
    expect(await (await postChat(gatehouse, route)).text()).toBe(bomb);
    expect(await totalAfter(route, 3)).toEqual(totalOf(3, 0, 0, 3));
  });

  test("errors, and answers to what is no chat, are not counted; tokens told elsewhere are", async () => {
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
    await post("/v1/files", { messages: [], stream: true });
    expect(onlyRequest(one).json()).toEqual({ messages: [], stream: true });
    await fetch(`${gatehouse.proxyUrl}/any/v1/models`).then((response) => response.text());
    one.behave({ body: '{"data":[],"usage":{"prompt_tokens":5,"total_tokens":5}}' });
    await post("/v1/embeddings", { model: "gpt-fake", input: "x" });
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 5, 0));
  });
});

describe("streams", () => {
  test("the provider is asked for the usage, and the client does not see that it was", async () => {
    const route = await routeTo();
    one.behave({ ...USED, text: "some words to say" });
    const body = `{ "stream":true, "seed": 12345678901234567890, ${JSON.stringify(CHAT).slice(1)}`;
    const answer = await rawJson(gatehouse.proxyUrl, route.path, body);
    const sent = Buffer.from(onlyRequest(one).body).toString();
    expect(sent).toBe(body.replace("{", '{"stream_options":{"include_usage":true},'));
    const chunks = chunksOf(answer.body.toString());
    expect(chunks).toHaveLength(6);
    for (const chunk of chunks) expect(chunk.choices).toHaveLength(1);
    expect(events(answer.body.toString()).at(-1)).toBe("[DONE]");
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("the client's stream is the provider's, less that one chunk", async () => {
    const route = await routeTo();
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    const extra = `data: ${JSON.stringify({ choices: [], usage })}\r\n\r\n`;
    const before =
      ': hello\n\ndata: {"choices":[{"delta":{"content":"\\"usage\\":{"}}],"usage":null}\r\n\r\n';
    const stream = `${before}${extra}data: [DONE]\n\n`;
    for (const size of [1, 3, 50, 1000]) {
      const pieces = stream.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
      one.behave({ body: pieces });
      expect(await (await postChat(gatehouse, route, { body: STREAM })).text()).toBe(
        `${before}data: [DONE]\n\n`,
      );
    }
    expect(await totalAfter(route, 4)).toEqual(totalOf(4, 44, 28));
  });

  test("a client that asks gets it, and its body goes as it came", async () => {
    const route = await routeTo();
    one.behave(USED);
    const text = await (await postChat(gatehouse, route, { body: ASKED })).text();
    expect(Buffer.from(onlyRequest(one).body).toString()).toBe(JSON.stringify(ASKED));
    expect(chunksOf(text).at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 11 } });
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("a client that does not want it, or has other options, is asked for all the same", async () => {
    const route = await routeTo({ models: ["gpt-fake", "other"], default_model: "other" });
    one.behave(USED);
    for (const stream_options of [{ include_usage: false }, { include_obfuscation: false }, null]) {
      const text = await (await postChat(gatehouse, route, { body: { ...STREAM, stream_options } })).text();
      expect(chunksOf(text).every((chunk) => chunk.choices.length === 1)).toBe(true);
      expect(one.requests.at(-1)?.json()).toMatchObject({
        stream_options: { ...stream_options, include_usage: true },
      });
    }
    const unnamed = await postChat(gatehouse, route, { body: { ...STREAM, model: "unknown" } });
    expect(chunksOf(await unnamed.text()).every((chunk) => chunk.model === "other")).toBe(true);
    expect(one.requests.at(-1)?.json()).toMatchObject({
      model: "other",
      stream_options: { include_usage: true },
    });
    expect(await totalAfter(route, 4)).toMatchObject({ requests: 4, input_tokens: 44, output_tokens: 28 });
  });

  test("of messages tell it by themselves, translated or not", async () => {
    const plain = await routeTo(ANTHROPIC);
    const translated = await routeTo(ANTHROPIC, { response_format: "openai" });
    one.behave(USED);
    for (const route of [plain, translated]) {
      await (await postChat(gatehouse, route, { body: { ...STREAM, max_tokens: 9 } })).text();
      expect(one.requests.at(-1)?.json()).not.toHaveProperty("stream_options");
      expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
    }
    const text = await (await postChat(gatehouse, translated, { body: ASKED })).text();
    expect(chunksOf(text).at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 11 } });
  });

  test.each(["gzip", "br", "deflate", "zstd"] as const)(
    "in %s stay so, less the extra chunk; one that was asked for passes byte for byte",
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
        const answer = await rawJson(gatehouse.proxyUrl, route.path, body, [["Accept-Encoding", encoding]]);
        expect(answer.header("content-encoding")).toBe(encoding);
        return chunksOf(decode[encoding](answer.body).toString());
      };
      expect((await read(STREAM)).map((chunk) => chunk.choices.length)).toEqual([1, 1, 1, 1]);
      expect((await read(ASKED)).map((chunk) => chunk.choices.length)).toEqual([1, 1, 1, 1, 0]);
      expect(await totalAfter(route, 2)).toEqual(totalOf(2, 22, 14));
    },
  );

  test("through plugins, in pieces and whole: they see what the client will", async () => {
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
      expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
    }
  });
});

describe("a provider that refuses the option", () => {
  test.each([400, 422])(
    "with %d is asked again at once without it, and remembered",
    async (refuseStreamOptions) => {
      const route = await routeTo();
      one.behave({ ...USED, refuseStreamOptions });
      const first = await postChat(gatehouse, route, { body: STREAM });
      expect([first.status, first.headers.get("x-gw-attempts")]).toEqual([200, "1"]);
      expect(events(await first.text()).at(-1)).toBe("[DONE]");
      expect(
        one.requests.map((request) => Object.keys(request.json() as object).includes("stream_options")),
      ).toEqual([true, false]);
      expect(Buffer.from(one.requests[1]!.body).toString()).toBe(JSON.stringify(STREAM));
      await (await postChat(gatehouse, route, { body: STREAM })).text();
      expect(one.requestCount).toBe(3);
      // What it does not tell is not known.
      expect(await totalAfter(route, 2)).toEqual(totalOf(2, 0, 0, 2));
    },
  );

  test("but tells by itself is counted, and the client sees what it sends unasked", async () => {
    const route = await routeTo();
    const told = 'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}\n\n';
    one.behave((request) =>
      Object.hasOwn(request.json() as object, "stream_options")
        ? { refuseStreamOptions: 400 }
        : { body: [told, "data: [DONE]\n\n"] },
    );
    for (let times = 0; times < 2; times++) {
      const response = await postChat(gatehouse, route, { body: STREAM });
      expect(await response.text()).toBe(`${told}data: [DONE]\n\n`);
    }
    expect(one.requestCount).toBe(3);
    expect(await totalAfter(route, 2)).toEqual(totalOf(2, 22, 14));
  });

  test("does not count as failing, and the client's own wish is the provider's to refuse", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(one), targetAt(two, { priority: 2 })],
        health_checks: { passive: true, threshold: 1, interval: 60 },
        max_attempts: 1,
      },
    });
    one.behave({ ...USED, refuseStreamOptions: 400, gzip: true });
    for (let times = 0; times < 3; times++) {
      const headers = { "Accept-Encoding": "gzip" };
      const response = await postChat(gatehouse, route, { body: STREAM, headers });
      expect([response.status, response.headers.get("x-gw-attempts")]).toEqual([200, "1"]);
      await response.text();
    }
    expect(two.requestCount).toBe(0);
    const refused = await postChat(gatehouse, route, { body: ASKED });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("stream_options");
  });

  test("any other refusal is the client's to see, once, as it was", async () => {
    const route = await routeTo();
    one.behave({ status: 400, headers: [["X-Own", "yes"]] });
    const response = await postChat(gatehouse, route, { body: STREAM });
    expect([response.status, response.headers.get("x-own")]).toEqual([400, "yes"]);
    expect(await response.json()).toMatchObject({ error: { message: "The request is invalid." } });
    expect(one.requestCount).toBe(1);
  });

  test("an error that only quotes the option is passed on, and the option is tried again next time", async () => {
    const route = await routeTo();
    one.behave({ status: 400, body: '{"error":"bad: {\\"stream_options\\":{}}"}' });
    expect((await postChat(gatehouse, route, { body: STREAM })).status).toBe(400);
    one.reset();
    one.behave(USED);
    await (await postChat(gatehouse, route, { body: STREAM })).text();
    expect(onlyRequest(one).json()).toHaveProperty("stream_options");
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
  });
});

describe("answers that end early", () => {
  test("cut by the provider: counted with what was seen, and the client has all that came", async () => {
    const chat = await routeTo();
    const messages = await routeTo(ANTHROPIC);
    const translated = await routeTo(ANTHROPIC, { response_format: "openai" });
    for (const [route, input, output] of [
      [chat, 0, 0],
      [messages, 11, 1],
      [translated, 11, 1],
    ] as const) {
      one.behave({ ...USED, cutAfterChunks: 3, chunkDelayMs: 5 });
      const body = { ...STREAM, max_tokens: 9 };
      const cut = await postChat(gatehouse, route, { body }).then((response) =>
        response.text().then(
          () => false,
          () => true,
        ),
      );
      expect(cut).toBe(true);
      expect(await totalAfter(route, 1)).toEqual(totalOf(1, input, output, 1));
    }
  });

  test("a client has what came of an event that broke off, though it was held back", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one)], timeouts: { idle: 300 } },
    });
    one.behave({ body: ['data: {"choices":[{"a":1}]}\n\n', 'data: {"half'], stallAfterChunks: 2 });
    const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
    const body = JSON.stringify(STREAM);
    const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    client.send(`POST ${route.path} HTTP/1.1\r\n${head}\r\n\r\n${body}`);
    expect((await client.ended).received).toContain('data: {"half');
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 0, 0, 1));
  });

  test("left by the client: counted with what was seen", async () => {
    const chat = await routeTo();
    const messages = await routeTo(ANTHROPIC);
    for (const [route, input, output] of [
      [chat, 0, 0],
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
      expect(await totalAfter(route, 1)).toEqual(totalOf(1, input, output, 1));
    }
  });

  test("an answer that a plugin spoiled was used all the same", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [scriptedWhole("pre_response", "throw new Error('no')")] },
      upstream: { targets: [targetAt(one)] },
    });
    one.behave(USED);
    expect((await postChat(gatehouse, route)).status).toBe(500);
    expect(await totalAfter(route, 1)).toEqual(totalOf(1, 11, 7));
  });

  test("failover: only the answer that the client got is counted", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one), targetAt(two, { priority: 2 })] },
    });
    const broken = JSON.stringify({ usage: { prompt_tokens: 500 } });
    one.behave({ status: 503, body: broken });
    two.behave(USED);
    for (const body of [CHAT, STREAM]) await (await postChat(gatehouse, route, { body })).text();
    expect([one.requestCount, two.requestCount]).toEqual([2, 2]);
    expect(await totalAfter(route, 2)).toEqual(totalOf(2, 22, 14));
  });
});

describe("GET /gateways/{id}/usage", () => {
  test("groups by day, model and key; keys keep their names", async () => {
    const route = await routeTo();
    const key = await seedKey(gatehouse, route.gateway, { name: "mobile app" });
    one.behave(USED);
    const headers = { "X-GW-API-Key": key.key };
    for (const [model, sent] of [
      ["gpt-fake", headers],
      ["gpt-fake", {}],
      ["unpriced", headers],
    ] as const)
      await (await postChat(gatehouse, route, { body: { ...CHAT, model }, headers: sent })).text();
    await totalAfter(route, 3);
    const today = new Date().toISOString().slice(0, 10);
    const byDay = await report(route);
    expect(byDay.to).toBe(today);
    expect(byDay.from).toBe(new Date(Date.parse(today) - 29 * 86_400_000).toISOString().slice(0, 10));
    expect(byDay.usage).toEqual([{ day: today, ...totalOf(3, 33, 21), cost: 0.000162 }]);
    expect(byDay.total).toEqual({ ...totalOf(3, 33, 21), cost: 0.000162 });
    const all = await report(route, `?from=${today}&to=${today}&group_by=model,api_key,day`);
    const named = { api_key_id: key.id, api_key: "mobile app", day: today };
    expect(all.usage).toEqual([
      { ...named, api_key_id: null, api_key: null, model: "gpt-fake", ...totalOf(1, 11, 7) },
      { ...named, model: "gpt-fake", ...totalOf(1, 11, 7) },
      { ...named, model: "unpriced", ...totalOf(1, 11, 7), cost: 0 },
    ]);
    await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { name: "renamed" });
    await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`);
    const byKey = await report(route, "?group_by=api_key");
    expect(byKey.usage.map((row: { api_key: string | null }) => row.api_key)).toEqual([null, "renamed"]);
    const none = await report(route, "?from=2020-01-01&to=2020-12-31");
    expect(none).toEqual({ usage: [], from: "2020-01-01", to: "2020-12-31", total: totalOf(0, 0, 0) });
  });

  test("goes with its gateway", async () => {
    const route = await routeTo();
    one.behave(USED);
    await (await postChat(gatehouse, route)).text();
    await totalAfter(route, 1);
    expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}?cascade=true`)).status).toBe(204);
    expect((await gatehouse.api("GET", `/gateways/${route.gateway}/usage`)).status).toBe(404);
  });

  test.each([
    ["?from=yesterday", "?from"],
    ["?from=2026-02-30", "?from"],
    ["?to=2026-1-1", "?to"],
    ["?from=2026-11-02&to=2026-11-01", "?from"],
    ["?from=2020-01-01&to=2026-11-01", "?from"],
    ["?group_by=", "?group_by"],
    ["?group_by=day,day", "?group_by"],
    ["?group_by=day,key", "?group_by"],
    ["?group_by=day,", "?group_by"],
    ["?grup_by=day", "?grup_by"],
    ["?from=2026-11-01&from=2026-11-02", "?from"],
  ])("refuses %s", async (query, path) => {
    const route = await routeTo();
    const { status, body } = await gatehouse.api("GET", `/gateways/${route.gateway}/usage${query}`);
    expect([status, body.code, body.details?.[0]?.path]).toEqual([400, "validation_failed", path]);
  });

  test("is in the OpenAPI document, with prices", async () => {
    const document = (await (
      await fetch(`${gatehouse.adminUrl}/api/openapi.json`)
    ).json()) as ApiAnswer["body"];
    const usage = document.paths["/api/v1/gateways/{gateway_id}/usage"].get;
    expect(usage.parameters.map((parameter: { name: string }) => parameter.name)).toEqual([
      "gateway_id",
      "from",
      "to",
      "group_by",
    ]);
    expect(Object.keys(document.paths["/api/v1/prices"])).toEqual(["get", "put", "delete"]);
    expect(document.components.schemas.PricesInput.properties).toHaveProperty("prices");
    expect(document.components.schemas.UsageReport.required).toEqual(["usage", "from", "to", "total"]);
  });
});
