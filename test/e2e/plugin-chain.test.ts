// The chain of plugins over real HTTP: order, the four stages and what each may change, refusals at the Admin API,
// and plugins that fail, hang or talk nonsense (the contract's section 7).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { expectError, expectProblemsAt, onlyMessage } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  waitFor,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  asynchronous,
  logged,
  logRecords,
  pluginsDirectory,
  postChat,
  scripted,
  SCRIPTED_PLUGINS,
  scriptedWhole,
  seedPlugins,
  STREAMED_CHAT,
  type ChatCall,
  type Fields,
  type Stage,
} from "../support/plugin-fixtures.ts";
import { CHAT, onlyRequest, rawCall, rawJson, seedKey } from "../support/proxy-fixtures.ts";

const START_MS = 20_000;
const MAX_BODY_BYTES = 1 << 20;

/** Refuses by its schema, by what create() throws, or by hooks that are none; only at pre_request. */
const PICKY = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "picky",
    description: "Refuses much.",
    stages: ["pre_request"],
    settings: z.strictObject({
      mood: z.enum(["good", "bad"]).optional(),
      depth: z.object({ level: z.int().max(3, "is deeper than I dive") }).optional(),
      hooks: z.string().optional(),
    }),
    create({ mood, hooks }) {
      if (mood === "bad") throw new Error("not in this mood, thank you");
      if (hooks === "none") return {};
      if (hooks === "null") return null as never;
      if (hooks === "late") return (async () => ({ pre_request() {} }))() as never;
      return { pre_request() {} };
    },
  });`;

let gatehouse: GatehouseProcess;
let provider: FakeProvider;
let directory: string;

beforeAll(async () => {
  directory = pluginsDirectory({ ...SCRIPTED_PLUGINS, "picky.ts": PICKY });
  const env = { PLUGINS_DIR: directory, MAX_BODY_BYTES: String(MAX_BODY_BYTES) };
  [gatehouse, provider] = await Promise.all([startGatehouseProcess({ env }), startFakeProvider()]);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => provider.reset());

type Seeding = Parameters<typeof seedPlugins>[3];

/** Seeds a gateway with these plugins and posts one chat to it. */
async function callThrough(
  plugins: readonly Fields[],
  call: ChatCall = {},
  seeding: Seeding = {},
): Promise<Response> {
  return postChat(gatehouse, await seedPlugins(gatehouse, provider, plugins, seeding), call);
}

/** The one error shape, with the id of this very request. */
async function expectFailed(response: Response, status = 500, code = "plugin_failed"): Promise<void> {
  const body: ApiResponse["body"] = await response.json();
  expect({ status: response.status, code: body.code }).toEqual({ status, code });
  expect(body.request_id).toBe(response.headers.get("x-request-id"));
  expect(body.error).toBeString();
}

/** Appends a word to a header for the client, so that the order of running can be read from it. */
const sign = (word: string) =>
  `const trail = context.forwardedHeaders.get("x-trail") ?? ""; ` +
  `context.setHeader("x-trail", trail + "${word}"); context.setResponseHeader("X-Trail", trail + "${word}");`;

describe("order", () => {
  test("by priority ascending, then as listed", async () => {
    const plugins = [
      scripted("pre_request", sign("d"), { priority: 7 }),
      scripted("pre_request", sign("b"), { priority: 1 }),
      scripted("pre_request", sign("a"), { priority: -3 }),
      scriptedWhole("pre_request", sign("c")),
      scripted("pre_request", sign("e"), { priority: 7 }),
    ];
    expect((await callThrough(plugins)).headers.get("x-trail")).toBe("abcde");
    const reversed = await callThrough(plugins.toReversed());
    expect(reversed.headers.get("x-trail")).toBe("acbed");
  });

  test("the other stages follow it too", async () => {
    const note = (word: string) =>
      `context.setHeader("x-trail", (context.headers.get("x-trail") ?? "") + "${word}")`;
    const add = (word: string) => `if (context.isLast) context.replaceChunk(context.text + "${word}")`;
    const response = await callThrough([
      scripted("post_request", note("2"), { priority: 2 }),
      scripted("post_request", note("1"), { priority: 1 }),
      scripted("pre_response", add("B"), { priority: 2 }),
      scripted("pre_response", add("A"), { priority: 1 }),
    ]);
    expect(response.headers.get("x-trail")).toBe("12");
    expect(await response.text()).toEndWith("}AB");
  });

  test("a disabled plugin is never called and holds nothing back", async () => {
    const disabled = [
      scripted("pre_request", "throw new Error('called')", { enabled: false }),
      scriptedWhole("pre_response", "throw new Error('called')", { enabled: false }),
      scriptedWhole("pre_request", sign("x"), { enabled: false }),
    ];
    provider.behave({ gzip: true });
    const body = Bun.gzipSync("not to be read").toBase64();
    const response = await callThrough(disabled, {
      body,
      headers: { "Content-Encoding": "gzip", "Content-Type": "text/plain", "Accept-Encoding": "gzip" },
    });
    expect(response.status).toBe(400); // the provider's own word on that body
    expect(response.headers.get("x-trail")).toBeNull();
    expect(onlyRequest(provider).header("content-encoding")).toBe("gzip");
    expect(onlyRequest(provider).header("accept-encoding")).toBe("gzip");
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });
});

describe("pre_request", () => {
  test("changes headers, path, query and body of what is sent", async () => {
    const code = `
      context.setHeader("X-Added", "by plugin");
      context.setHeader("X-Changed", context.headers.get("x-changed") + " anew");
      context.removeHeader("X-Removed");
      context.setPath(context.path + "/and/on");
      context.setQuery(context.query + "&more=1");
      context.replaceBody(JSON.stringify({ ...context.json, extra: true }));`;
    const headers = { "X-Changed": "old", "X-Removed": "yes" };
    const seeding = { target: { path: "" } };
    const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", code)], seeding);
    expect((await postChat(gatehouse, route, { headers, query: "?a=1" })).status).toBe(200);
    const sent = onlyRequest(provider);
    expect(sent.target).toBe(`${route.path}/and/on?a=1&more=1`);
    expect(sent.header("x-added")).toBe("by plugin");
    expect(sent.header("x-changed")).toBe("old anew");
    expect(sent.header("x-removed")).toBeUndefined();
    expect(sent.json()).toEqual({ ...CHAT, extra: true });
  });

  test("a body with another model is balanced and named by that model", async () => {
    const code = `context.replaceBody(JSON.stringify({ ...context.json, model: "other" }))`;
    const response = await callThrough([scripted("pre_request", code)]);
    expect(response.headers.get("x-gw-model")).toBe("other");
  });

  test("a later plugin sees what an earlier one changed; the client's own headers stay as they came", async () => {
    const first = `context.setHeader("x-mark", "new"); context.setQuery("z=1"); context.replaceBody('{"n":1}')`;
    const second = `context.respond({ status: 200, body: {
      forwarded: context.forwardedHeaders.get("X-Mark"), own: context.headers.get("X-Mark"),
      query: context.query, json: context.json, text: context.bodyText } })`;
    const response = await callThrough([scripted("pre_request", first), scripted("pre_request", second)], {
      headers: { "X-Mark": "old" },
    });
    expect(await response.json()).toEqual({
      forwarded: "new",
      own: "old",
      query: "?z=1",
      json: { n: 1 },
      text: '{"n":1}',
    });
  });

  test("reads all that is known of the request", async () => {
    const code = `context.respond({ status: 200, body: {
      requestId: context.requestId, gateway: context.gateway, rule: context.rule, apiKey: context.apiKey,
      method: context.method, clientAddress: context.clientAddress, path: context.path, query: context.query,
      isJson: context.isJson, bytes: context.body.length, has: context.headers.has("X-Given"),
      credential: context.forwardedHeaders.has("authorization"), agent: [...context.headers.entries()].find(([name]) => name === "x-given") } })`;
    const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", code)], {
      rule: { name: "the rule" },
    });
    const { id, key } = await seedKey(gatehouse, route.gateway, { name: "ann" });
    const headers = {
      "X-GW-API-Key": key,
      Authorization: "Bearer own",
      "X-Given": "v",
      "X-Forwarded-For": "198.51.100.7",
    };
    const response = await postChat(gatehouse, route, { headers, query: "?q" });
    const { body: gateway } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
    expect(await response.json()).toEqual({
      requestId: response.headers.get("x-request-id"),
      gateway: { id: route.gateway, name: gateway.name },
      rule: { id: route.rule, name: "the rule", path: route.path },
      apiKey: { id, name: "ann" },
      method: "POST",
      clientAddress: "198.51.100.7",
      path: route.path,
      query: "?q",
      isJson: true,
      bytes: JSON.stringify(CHAT).length,
      has: true,
      credential: false,
      agent: ["x-given", "v"],
    });
  });

  test("answers in place of the provider, and later plugins are not asked", async () => {
    const body = { error: "closed on Sundays", code: "closed" };
    const code = `context.setResponseHeader("X-Kept", "yes"); context.respond({ status: 418, headers: { "X-Own": "1" }, body: ${JSON.stringify(body)} })`;
    const response = await callThrough([
      scripted("pre_request", code),
      scripted("pre_request", `context.setResponseHeader("X-Late", "yes")`),
    ]);
    const requestId = response.headers.get("x-request-id") ?? "";
    expect(requestId).not.toBe("");
    expect(response.status).toBe(418);
    expect(await response.json()).toEqual({ ...body, request_id: requestId });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("x-own")).toBe("1");
    expect(response.headers.get("x-kept")).toBe("yes");
    expect(response.headers.has("x-late")).toBe(false);
    expect(provider.requestCount).toBe(0);
  });

  test("an answer is a text, bytes, JSON or nothing", async () => {
    const answer = async (body: string) => {
      const response = await callThrough([
        scripted("pre_request", `context.respond({ status: 200, ${body} })`),
      ]);
      expect(response.status).toBe(200);
      expect(response.headers.get("x-request-id")).not.toBeNull();
      return response.text();
    };
    expect(await answer(`body: "plain"`)).toBe("plain");
    expect(await answer(`body: new Uint8Array([104, 105])`)).toBe("hi");
    expect(await answer(`body: [1, null]`)).toBe("[1,null]");
    expect(await answer(`body: null`)).toBe("null");
    expect(await answer("")).toBe("");
  });

  test("a header for the answer is on the provider's answer, on its errors, on streams and on our errors", async () => {
    const plugin = scripted("pre_request", `context.setResponseHeader("X-Told", "yes")`);
    const route = await seedPlugins(gatehouse, provider, [plugin]);
    const told = async (call: ChatCall, fake: Fields = {}) => {
      provider.behave(fake);
      const response = await postChat(gatehouse, route, call);
      await response.text();
      return [response.status, response.headers.get("x-told")];
    };
    expect(await told({})).toEqual([200, "yes"]);
    expect(await told({ body: STREAMED_CHAT })).toEqual([200, "yes"]);
    expect(await told({}, { status: 404 })).toEqual([404, "yes"]);
    expect(await told({}, { closeBeforeAnswer: true })).toEqual([502, "yes"]);
  });

  test("a plugin that needs the body: an encoded one is 415, for a plugin that does not it passes", async () => {
    const call = { body: "zipped", headers: { "Content-Type": "text/plain", "Content-Encoding": "gzip" } };
    await expectFailed(
      await callThrough([scriptedWhole("pre_request", "")], call),
      415,
      "unsupported_media_type",
    );
    expect(provider.requestCount).toBe(0);
    await callThrough([scripted("pre_request", "")], call);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe("zipped");
  });

  test("a body that is not JSON is there as text and as bytes", async () => {
    const code = `context.respond({ status: 200, body: [context.isJson, context.json, context.bodyText, context.body.length] })`;
    const plugins = [scriptedWhole("pre_request", code)];
    const response = await callThrough(plugins, { body: "grüße", headers: { "Content-Type": "text/plain" } });
    expect(await response.json()).toEqual([false, null, "grüße", 7]);
  });
});

describe("post_request", () => {
  test("reads the provider's status and headers, and changes both", async () => {
    provider.behave({
      headers: [
        ["X-From-Provider", "one"],
        ["X-Gone", "soon"],
      ],
    });
    const code = `
      context.setHeader("X-Seen", [context.status, context.provider, context.model, context.headers.get("x-from-provider")].join(" "));
      context.setHeader("X-From-Provider", "two");
      context.removeHeader("X-Gone");
      context.setStatus(203);`;
    const second = `context.setHeader("X-Second-Saw", String(context.status))`;
    const response = await callThrough([scripted("post_request", code), scripted("post_request", second)]);
    expect(response.status).toBe(203);
    expect(response.headers.get("x-seen")).toBe("200 openai gpt-fake one");
    expect(response.headers.get("x-from-provider")).toBe("two");
    expect(response.headers.has("x-gone")).toBe(false);
    expect(response.headers.get("x-second-saw")).toBe("203");
    expect(await response.json()).toMatchObject({ object: "chat.completion" });
  });

  test("runs on a stream before its first byte, and on a provider's error", async () => {
    const route = await seedPlugins(gatehouse, provider, [
      scripted("post_request", `context.setHeader("X-Saw", String(context.status)); context.setStatus(202)`),
    ]);
    const stream = await postChat(gatehouse, route, { body: STREAMED_CHAT });
    expect([stream.status, stream.headers.get("x-saw")]).toEqual([202, "200"]);
    expect(await stream.text()).toEndWith("data: [DONE]\n\n");
    provider.behave({ status: 404 });
    const refused = await postChat(gatehouse, route);
    expect([refused.status, refused.headers.get("x-saw")]).toEqual([202, "404"]);
  });

  test("a status without a body leaves the next request on the connection unharmed", async () => {
    for (const body of [CHAT, STREAMED_CHAT]) {
      const response = await callThrough([scripted("post_request", "context.setStatus(204)")], { body });
      expect([response.status, await response.text()]).toEqual([204, ""]);
    }
  });
});

describe("pre_response", () => {
  const SHOUT = `context.replaceChunk(context.text.toUpperCase())`;
  const EVENTS = ["data: one\n\n", "data: two\n\n", "data: three\n\n"];

  test("a whole body comes once, as the last chunk, and may be changed", async () => {
    provider.behave({ body: '{"a":"b"}' });
    const code = `context.replaceChunk(context.text + [context.isLast, context.status, context.provider, context.model, context.chunk.length])`;
    const response = await callThrough([scripted("pre_response", code)]);
    expect(await response.text()).toBe('{"a":"b"}true,200,openai,gpt-fake,9');
  });

  test("a stream comes chunk by chunk, while it runs", async () => {
    provider.behave({ body: EVENTS, chunkDelayMs: 40 });
    const route = await seedPlugins(gatehouse, provider, [
      scripted(
        "pre_response",
        `context.replaceChunk(context.isLast ? "END" : "<" + context.text.trim() + ">")`,
      ),
    ]);
    const response = await postChat(gatehouse, route, { body: STREAMED_CHAT });
    const arrived: string[] = [];
    let finishedAtFirst: boolean | null = null;
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      finishedAtFirst ??= onlyRequest(provider).finished;
      arrived.push(Buffer.from(chunk).toString());
    }
    expect(finishedAtFirst).toBe(false);
    expect(arrived.join("")).toBe("<data: one><data: two><data: three>END");
    expect(arrived.length).toBeGreaterThan(1);
  });

  test("what a plugin holds back of a stream it can send at the end", async () => {
    provider.behave({ body: EVENTS, chunkDelayMs: 0 });
    const code = `
      const held = (context.notes.get("held") ?? "") + context.text;
      context.notes.set("held", held);
      context.replaceChunk(context.isLast ? held.toUpperCase() : "");`;
    const response = await callThrough([scripted("pre_response", code)], { body: STREAMED_CHAT });
    expect(await response.text()).toBe(EVENTS.join("").toUpperCase());
  });

  test("a plugin that needs the body gets a stream whole, once", async () => {
    provider.behave({ body: EVENTS, chunkDelayMs: 0 });
    const code = `context.replaceChunk("[" + context.isLast + ":" + context.text + "]")`;
    const response = await callThrough([scriptedWhole("pre_response", code)], { body: STREAMED_CHAT });
    expect(await response.text()).toBe(`[true:${EVENTS.join("")}]`);
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  });

  test.each([
    ["gzip", false],
    ["gzip", true],
    ["br", true],
    ["deflate", false],
    ["zstd", false],
    ["zstd", true],
  ] as const)(
    "an encoded response is decoded for the plugin and sent without encoding (%s, stream: %p)",
    async (encoding, stream) => {
      provider.behave({ encoding, text: "quiet words" });
      const route = await seedPlugins(gatehouse, provider, [scripted("pre_response", SHOUT)]);
      const response = await postChat(gatehouse, route, { body: { ...CHAT, stream } });
      const text = await response.text();
      expect(response.headers.has("content-encoding")).toBe(false);
      expect(text).toContain("QUIET");
      expect(text).not.toContain("quiet");
      expect(onlyRequest(provider).header("accept-encoding")).toBe("identity");
    },
  );

  test.each([false, true])(
    "a translated answer is seen in the client's format (stream: %p)",
    async (stream) => {
      provider.behave({ text: "alpha beta" });
      const route = await seedPlugins(gatehouse, provider, [scripted("pre_response", SHOUT)], {
        target: { provider: "anthropic" },
        rule: { response_format: "openai" },
      });
      const text = await (
        await postChat(gatehouse, route, { body: { ...CHAT, stream, max_tokens: 9 } })
      ).text();
      expect(text).toContain(stream ? "CHAT.COMPLETION.CHUNK" : "CHAT.COMPLETION");
      expect(text).toContain("ALPHA");
      expect(text).not.toContain("CONTENT_BLOCK");
      if (stream) expect(text).toEndWith("DATA: [DONE]\n\n");
    },
  );

  test("a plugin that fails in the middle of a stream breaks it off, and only it", async () => {
    provider.behave({ body: EVENTS, chunkDelayMs: 20 });
    const code = `if (context.text.includes("two")) throw new Error("enough")`;
    const route = await seedPlugins(gatehouse, provider, [scripted("pre_response", code)]);
    const broken = await postChat(gatehouse, route, { body: STREAMED_CHAT });
    let received = "";
    const ending = await (async () => {
      for await (const chunk of broken.body as ReadableStream<Uint8Array>)
        received += Buffer.from(chunk).toString();
    })().then(
      () => "ended",
      () => "broke off",
    );
    expect([received, ending]).toEqual(["data: one\n\n", "broke off"]);
    provider.behave({});
    expect((await postChat(gatehouse, route)).status).toBe(200);
  });

  test("an answer without a body is not a plugin's to fill", async () => {
    provider.behave({ status: 204, body: "" });
    const response = await callThrough([scripted("pre_response", `context.replaceChunk("invented")`)]);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });
});

describe("post_response", () => {
  const REPORT = (
    name: string,
  ) => `host.log("info", "${name}", { status: context.status, outcome: context.outcome,
    seen_by: context.provider, asked: context.model, tries: context.attempts, whole: context.durationMs,
    first: context.firstByteMs, address: context.clientAddress, used: context.usage, id: context.requestId })`;

  async function ended(
    plugins: readonly Fields[],
    call: ChatCall = {},
    seeding: Seeding = {},
  ): Promise<ApiResponse["body"]> {
    const name = crypto.randomUUID();
    const response = await callThrough([...plugins, scripted("post_response", REPORT(name))], call, seeding);
    await response.text();
    const line = await logged(gatehouse, name);
    expect(line.id).toBe(response.headers.get("x-request-id"));
    expect(line.address).toBe("127.0.0.1");
    expect(line.whole).toBeGreaterThan(0);
    return line;
  }

  test("reads status, outcome and timings of a whole answer and of a stream", async () => {
    provider.behave({ delayMs: 30 });
    const expected = { status: 200, outcome: "complete", seen_by: "openai", asked: "gpt-fake", tries: 1 };
    const whole = await ended([]);
    expect(whole).toMatchObject(expected);
    expect(whole.first).toBeGreaterThanOrEqual(25);
    expect(whole.whole).toBeGreaterThanOrEqual(whole.first);
    provider.behave({ chunkDelayMs: 15 });
    const stream = await ended([], { body: STREAMED_CHAT });
    expect(stream).toMatchObject(expected);
    expect(stream.whole - stream.first).toBeGreaterThan(15);
  });

  test("reads the usage that the provider told, of a whole answer and of a stream", async () => {
    provider.behave({ usage: { input: 11, output: 7 } });
    const used = { inputTokens: 11, outputTokens: 7, isPartial: false };
    expect((await ended([])).used).toEqual(used);
    expect((await ended([], { body: STREAMED_CHAT })).used).toEqual(used);
    const counted = { ...STREAMED_CHAT, stream_options: { include_usage: true } };
    expect((await ended([], { body: counted })).used).toEqual(used);
    expect((await ended([scripted("pre_request", "context.respond({ status: 418 })")])).used).toBeNull();
  });

  test("sees the status that a plugin set, a plugin's own answer, and an error of the gateway", async () => {
    expect(await ended([scripted("post_request", "context.setStatus(203)")])).toMatchObject({ status: 203 });
    const answered = await ended([scripted("pre_request", "context.respond({ status: 418 })")]);
    expect(answered).toMatchObject({
      status: 418,
      outcome: "complete",
      seen_by: null,
      tries: 0,
      first: null,
    });
    provider.behave({ closeBeforeAnswer: true });
    expect(await ended([])).toMatchObject({ status: 502, outcome: "failed" });
  });

  test("sees a stream that the provider cut, and a client that left", async () => {
    const name = crypto.randomUUID();
    const route = await seedPlugins(gatehouse, provider, [scripted("post_response", REPORT(name))]);
    provider.behave({ cutAfterChunks: 2, chunkDelayMs: 5 });
    await (await postChat(gatehouse, route, { body: STREAMED_CHAT })).text().catch(() => undefined);
    expect(await logged(gatehouse, name, { outcome: "incomplete" })).toMatchObject({ status: 200 });
    provider.behave({ stallAfterChunks: 1 });
    const abort = new AbortController();
    const response = await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(STREAMED_CHAT),
      signal: abort.signal,
    });
    const reader = response.body!.getReader();
    await reader.read();
    abort.abort();
    await reader.read().catch(() => undefined);
    await logged(gatehouse, name, { outcome: "client_left" });
  });

  test("a client that leaves while a plugin waits: no provider is asked, and none is blamed", async () => {
    const name = crypto.randomUUID();
    const route = await seedPlugins(gatehouse, provider, [
      scripted("pre_request", asynchronous("await Bun.sleep(150)")),
      scripted("post_response", REPORT(name)),
    ]);
    provider.reset();
    await postChat(gatehouse, route, { signal: AbortSignal.timeout(50) }).catch(() => undefined);
    await logged(gatehouse, name, { outcome: "client_left", tries: 0 });
    expect(provider.requests).toEqual([]);
    const { body } = await gatehouse.api(
      "GET",
      `/gateways/${route.gateway}/upstreams/${route.upstream}/health`,
    );
    expect(body.targets).toMatchObject([{ state: "healthy", failures: 0 }]);
  });

  test("nobody waits for it, and what it throws is only logged", async () => {
    const slow = scripted(
      "post_response",
      asynchronous(`await Bun.sleep(300); throw new Error("slow and wrong")`),
    );
    const route = await seedPlugins(gatehouse, provider, [slow]);
    const response = await postChat(gatehouse, route);
    await response.text();
    expect(response.status).toBe(200);
    const id = response.headers.get("x-request-id");
    const isLogged = () =>
      logRecords(gatehouse).some((line) => line.request_id === id && line.msg === "plugin failed");
    expect(isLogged()).toBe(false);
    await waitFor(() => (isLogged() ? true : null), 5000);
  });

  test("still knows the client's address when it gets to it late", async () => {
    const name = crypto.randomUUID();
    const code = asynchronous(
      `await Bun.sleep(50); host.log("info", "${name}", { address: context.clientAddress })`,
    );
    await (await callThrough([scripted("post_response", code)])).text();
    expect((await logged(gatehouse, name)).address).toBe("127.0.0.1");
  });
});

describe("notes", () => {
  test(
    "are kept from stage to stage of one request, apart between plugins and between requests",
    async () => {
      const source = (name: string) => `
      import { definePlugin, z } from "gatehouse/sdk";
      const stages = ["pre_request", "post_request"] as const;
      export default definePlugin({ name: "${name}", description: "", stages, settings: z.object({}), create: () => ({
        pre_request(context) { context.notes.set("seen", context.headers.get("x-mark") + "-${name}"); },
        post_request(context) { context.setHeader("x-${name}", String(context.notes.get("seen"))); },
      }) });`;
      const own = pluginsDirectory({ "left.ts": source("left"), "right.ts": source("right") });
      const other = await startGatehouseProcess({ env: { PLUGINS_DIR: own } });
      try {
        const plugins = ["left", "right"].flatMap((name) => [
          { name, stage: "pre_request" },
          { name, stage: "post_request" },
        ]);
        const route = await seedPlugins(other, provider, plugins);
        const marks = ["a", "b", "c", "d"];
        provider.behave({ delayMs: 20 });
        const responses = await Promise.all(
          marks.map((mark) => postChat(other, route, { headers: { "X-Mark": mark } })),
        );
        expect(responses.map(({ headers }) => [headers.get("x-left"), headers.get("x-right")])).toEqual(
          marks.map((mark) => [`${mark}-left`, `${mark}-right`]),
        );
      } finally {
        await other.stop();
        rmSync(own, { recursive: true, force: true });
      }
    },
    START_MS,
  );
});

describe("contexts are read-only except through their methods", () => {
  /** Each tries to change something by another way; it may throw or do nothing. */
  const ATTEMPTS: readonly (readonly [stage: Stage, code: string])[] = [
    ["pre_request", `context.path = "/evil"`],
    ["pre_request", `context.query = "?evil"`],
    ["pre_request", `context.body = new Uint8Array(3)`],
    ["pre_request", `context.json = {}`],
    ["pre_request", `context.headers.set("x-evil", "1")`],
    ["pre_request", `context.forwardedHeaders.set("x-evil", "1")`],
    ["pre_request", `context.headers.delete("content-type")`],
    ["pre_request", `context.answered = { status: 418 }`],
    ["pre_request", `context.exchange.sentPath = "/evil"`],
    ["pre_request", `context.exchange.request.headers.set("x-evil", "1")`],
    ["pre_request", `context.gateway.id = "evil"; context.rule.path = "/evil"; context.requestId = "evil"`],
    ["post_request", `context.status = 418`],
    ["post_request", `context.headers.set("x-evil", "1")`],
    ["post_request", `context.headers.append("x-evil", "1")`],
    ["pre_response", `context.chunk = "evil"`],
    ["pre_response", `context.text = "evil"`],
    ["post_response", `context.status = 418; context.outcome = "failed"`],
  ];

  test.each(ATTEMPTS)("%s: %s", async (stage, code) => {
    const plain = await (await callThrough([])).text();
    const sentPlain = { ...onlyRequest(provider) };
    provider.reset();
    const response = await callThrough([scripted(stage, `try { ${code} } catch {}`)]);
    const comparable = (text: string) => text.replaceAll(/"created":\d+/g, "");
    expect(response.status).toBe(200);
    expect(comparable(await response.text())).toBe(comparable(plain));
    expect(response.headers.has("x-evil")).toBe(false);
    expect(response.headers.get("x-request-id")).not.toBe("evil");
    const sent = onlyRequest(provider);
    expect(sent.target).toBe(sentPlain.target);
    expect(sent.header("x-evil")).toBeUndefined();
    expect(sent.header("content-type")).toBe("application/json");
    expect(sent.json()).toEqual(CHAT);
  });
});

describe("refused at the Admin API", () => {
  const create = (...required_plugins: Fields[]) =>
    gatehouse.api("POST", "/gateways", { name: "refused", required_plugins });

  test("a plugin that is not registered, with the nearest name", async () => {
    const answer = await create(scripted("pre_request", ""), { name: "rate_limitr", stage: "pre_request" });
    expectProblemsAt(answer, "required_plugins[1].name");
    expect(onlyMessage(answer)).toContain('did you mean "rate_limiter"?');
    expectProblemsAt(
      await create({ name: "nothing_like_it", stage: "pre_request" }),
      "required_plugins[0].name",
    );
  });

  test.each(["post_request", "pre_response", "post_response"])(
    "%s, which the built-in plugins do not support",
    async (stage) => {
      const limits = { global: { limit: 1, window: "1s" } };
      const languages = [{ language: "sql", enabled: true }];
      const sanitation = { languages, content_to_check: ["body"], action: "block" };
      const answer = await create(
        { name: "rate_limiter", stage, settings: { limits } },
        { name: "code_sanitation", stage, settings: sanitation },
      );
      expectProblemsAt(answer, "required_plugins[0].stage", "required_plugins[1].stage");
      for (const { message } of answer.body.details) expect(message).toContain("pre_request");
    },
  );

  test("settings, in the plugin's own words and at their places", async () => {
    const answer = await create(
      { name: "picky", stage: "pre_request", settings: { depth: { level: 9 }, unheard: 1 } },
      { name: "picky", stage: "pre_request", settings: { mood: "sad" } },
    );
    expectError(answer, 400, "validation_failed");
    const details = answer.body.details as { path: string; message: string }[];
    expect(details.map(({ path }) => path).sort()).toEqual([
      "required_plugins[0].settings.depth.level",
      "required_plugins[0].settings.unheard",
      "required_plugins[1].settings.mood",
    ]);
    expect(details.find(({ path }) => path.endsWith("level"))?.message).toBe("is deeper than I dive");
  });

  test("what create() throws, in its words, also for a plugin that is disabled", async () => {
    for (const enabled of [true, false]) {
      const answer = await create({
        name: "picky",
        stage: "pre_request",
        enabled,
        settings: { mood: "bad" },
      });
      expectProblemsAt(answer, "required_plugins[0].settings");
      expect(onlyMessage(answer)).toBe("not in this mood, thank you");
    }
  });

  test.each(["none", "null", "late"])("hooks that are none: %s", async (hooks) => {
    expectProblemsAt(
      await create({ name: "picky", stage: "pre_request", settings: { hooks } }),
      "required_plugins[0].settings",
    );
  });

  test.each(["rate_limiter", "code_sanitation"])(
    "settings that the built-in %s does not know",
    async (name) => {
      const answer = await create({ name, stage: "pre_request", settings: { unheard_of: 1 } });
      expectError(answer, 400, "validation_failed");
      expect(answer.body.details.map((each: { path: string }) => each.path)).toContain(
        "required_plugins[0].settings.unheard_of",
      );
    },
  );

  test("a refused change leaves what was in force", async () => {
    const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", sign("kept"))]);
    const wrong = [
      scripted("pre_request", sign("new")),
      { name: "picky", stage: "pre_request", settings: { mood: "bad" } },
    ];
    const answer = await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { required_plugins: wrong });
    expect(answer.status).toBe(400);
    expect((await postChat(gatehouse, route)).headers.get("x-trail")).toBe("kept");
  });
});

describe("a plugin that fails", () => {
  const FAILURES: readonly (readonly [string, string])[] = [
    ["throws", `throw new Error("on purpose")`],
    ["throws what is no error", `throw undefined`],
    ["rejects", `return Promise.reject(new Error("on purpose"))`],
    ["rejects by a thenable of its own", `return { then(_, reject) { reject(new Error("on purpose")) } }`],
  ];

  test.each(FAILURES)("%s: 500 by default, and goes on with on_error continue", async (_name, code) => {
    for (const stage of ["pre_request", "post_request", "pre_response"] as const) {
      await expectFailed(await callThrough([scripted(stage, code)]));
      await expectFailed(await callThrough([scripted(stage, code, { on_error: "fail" })]));
      const response = await callThrough([
        scripted(stage, code, { on_error: "continue" }),
        scripted("pre_request", sign("after"), { priority: 9 }),
      ]);
      expect([response.status, response.headers.get("x-trail")]).toEqual([200, "after"]);
      expect(await response.json()).toMatchObject({ object: "chat.completion" });
    }
    const silent = await callThrough([scripted("post_response", code)]);
    expect(silent.status).toBe(200);
  });

  test("its fault is in the log under the request id, and not in the answer", async () => {
    const response = await callThrough([scripted("pre_request", `throw new Error("a private matter")`)]);
    expect(await response.text()).not.toContain("private");
    const line = await logged(gatehouse, "plugin failed", {
      request_id: response.headers.get("x-request-id"),
    });
    expect(line).toMatchObject({ plugin: "scripted", err: { message: "a private matter" } });
  });

  test("never resolves: given up after five seconds, while other requests go on", async () => {
    const hang = "return new Promise(() => {})";
    const failing = await seedPlugins(gatehouse, provider, [scripted("pre_request", hang)]);
    const going = await seedPlugins(gatehouse, provider, [
      scripted("post_request", hang, { on_error: "continue" }),
    ]);
    const unharmed = await seedPlugins(gatehouse, provider, [scripted("pre_request", sign("fine"))]);
    const startedAt = performance.now();
    const [failed, went] = [postChat(gatehouse, failing), postChat(gatehouse, going)];
    while (performance.now() - startedAt < 3000) {
      expect((await postChat(gatehouse, unharmed)).headers.get("x-trail")).toBe("fine");
      await Bun.sleep(100);
    }
    await expectFailed(await failed);
    expect((await went).status).toBe(200);
    const took = performance.now() - startedAt;
    expect(took).toBeGreaterThan(4900);
    expect(took).toBeLessThan(9000);
  }, 15_000);

  test("a hook may take its time within the deadline", async () => {
    const code = asynchronous(`await Bun.sleep(150); context.setHeader("x-late", "1")`);
    expect((await callThrough([scripted("pre_request", code)])).status).toBe(200);
    expect(onlyRequest(provider).header("x-late")).toBe("1");
  });

  const NONSENSE: readonly (readonly [stage: Stage, code: string])[] = [
    ["pre_request", `context.respond({ status: 99 })`],
    ["pre_request", `context.respond({ status: 600 })`],
    ["pre_request", `context.respond({ status: 200.5 })`],
    ["pre_request", `context.respond({ status: "200" })`],
    ["pre_request", `context.respond({ body: "no status" })`],
    ["pre_request", `context.respond(null)`],
    ["pre_request", `context.respond("hello")`],
    ["pre_request", `context.respond({ status: 200, headers: { "not a name": "x" } })`],
    ["pre_request", `context.respond({ status: 200, headers: { "": "x" } })`],
    ["pre_request", `context.respond({ status: 200, headers: { "x-a": "b\\r\\nx-injected: 1" } })`],
    ["pre_request", `context.respond({ status: 200, headers: { "x-a": 5 } })`],
    ["pre_request", `context.respond({ status: 200, body: () => 1 })`],
    ["pre_request", `context.respond({ status: 200, body: 10n })`],
    ["pre_request", `const loop = {}; loop.loop = loop; context.respond({ status: 200, body: loop })`],
    ["pre_request", `context.setHeader("not a name", "x")`],
    ["pre_request", `context.setHeader("x-a", "b\\r\\nx-injected: 1")`],
    ["pre_request", `context.setHeader("x-a", null)`],
    ["pre_request", `context.setResponseHeader("x-a", "b\\nx-injected: 1")`],
    ["pre_request", `context.setResponseHeader("x:a", "b")`],
    ["pre_request", `context.setResponseHeader("x-a", 5)`],
    ["pre_request", `context.setPath("no slash")`],
    ["pre_request", `context.setPath("/a b")`],
    ["pre_request", `context.setPath(7)`],
    ["pre_request", `context.setQuery("a#b")`],
    ["pre_request", `context.setQuery("a\\r\\nb")`],
    ["pre_request", `context.replaceBody({ an: "object" })`],
    ["pre_request", `context.replaceBody("{ not json")`],
    ["post_request", `context.setStatus(1000)`],
    ["post_request", `context.setStatus("ok")`],
    ["post_request", `context.setHeader("x-a", "b\\r\\nx-injected: 1")`],
    ["post_request", `context.setHeader("a b", "c")`],
    ["pre_response", `context.replaceChunk(12)`],
    ["pre_response", `context.replaceChunk()`],
  ];

  test.each(NONSENSE)("talks nonsense at %s: %s", async (stage, code) => {
    await expectFailed(await callThrough([scripted(stage, code)]));
    provider.reset();
    const route = await seedPlugins(gatehouse, provider, [scripted(stage, code, { on_error: "continue" })]);
    const answer = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(answer.status).toBe(200);
    expect(answer.json().object).toBe("chat.completion");
    expect(answer.all("x-injected")).toEqual([]);
    expect(onlyRequest(provider).header("x-injected")).toBeUndefined();
    expect(onlyRequest(provider).json()).toEqual(CHAT);
  });

  test.each([
    ["pre_request", `context.replaceBody("x".repeat(50e6))`],
    ["pre_request", `context.respond({ status: 200, body: "x".repeat(50e6) })`],
    ["pre_request", `context.respond({ status: 200, body: new Uint8Array(50e6) })`],
    ["pre_request", `context.respond({ status: 200, body: ["x".repeat(50e6)] })`],
    ["pre_response", `context.replaceChunk("x".repeat(50e6))`],
  ] as const)("makes a body of 50 MB at %s: %s; others go on meanwhile", async (stage, code) => {
    const huge = await seedPlugins(gatehouse, provider, [scripted(stage, code)]);
    const unharmed = await seedPlugins(gatehouse, provider, [scripted("pre_request", sign("fine"))]);
    const others = Array.from({ length: 10 }, () => postChat(gatehouse, unharmed));
    await expectFailed(await postChat(gatehouse, huge));
    for (const other of await Promise.all(others)) expect(other.headers.get("x-trail")).toBe("fine");
  });

  test("what it frames by itself is framed by us: length, encoding and connection of other requests stay right", async () => {
    const headers = `headers: { "Content-Length": "2", "Transfer-Encoding": "chunked" }`;
    const answering = scripted(
      "pre_request",
      `context.respond({ status: 200, ${headers}, body: "more than two" })`,
    );
    const route = await seedPlugins(gatehouse, provider, [answering]);
    const answer = await rawCall(gatehouse.proxyUrl, { target: route.path, body: "x" });
    expect(answer.body.toString()).toBe("more than two");
    const sending = scripted(
      "pre_request",
      `context.setHeader("content-length", "3"); context.setHeader("transfer-encoding", "chunked")`,
    );
    const sent = await seedPlugins(gatehouse, provider, [sending]);
    for (let round = 0; round < 3; round++) expect((await postChat(gatehouse, sent)).status).toBe(200);
    expect(provider.requests.map((request) => request.json())).toEqual([CHAT, CHAT, CHAT]);
  });

  test("leaves a promise to fail or a timer to throw: the gateway lives", async () => {
    const floating = `Promise.reject(new Error("floating")); setTimeout(() => { throw new Error("in a timer") }, 1)`;
    expect((await callThrough([scripted("pre_request", floating)])).status).toBe(200);
    await Bun.sleep(50);
    expect((await callThrough([])).status).toBe(200);
  });

  test("what it does after it was answered or failed changes no other request", async () => {
    const late = asynchronous(
      `setTimeout(() => { try { context.setHeader("x-late", "1"); context.replaceBody("{}"); context.respond({ status: 418 }); } catch {} }, 20); throw new Error("too soon")`,
    );
    const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", late)]);
    const fine = await seedPlugins(gatehouse, provider, []);
    await expectFailed(await postChat(gatehouse, route));
    await Bun.sleep(60);
    expect((await postChat(gatehouse, fine)).status).toBe(200);
    expect(onlyRequest(provider).header("x-late")).toBeUndefined();
  });
});
