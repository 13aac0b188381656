// Tests of the plugin test harness: it creates and runs a plugin as the gateway does, and reports what the plugin did.
import { describe, expect, test } from "bun:test";
import { eventLoopTurns } from "../../test/support/waiting.ts";
import {
  definePlugin,
  z,
  type AnswerContext,
  type BodyContext,
  type PluginAnswer,
  type PluginHooks,
  type PluginHost,
} from "./index.ts";
import { testPlugin, type TestAnswer } from "./testing.ts";

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"] as const;

function plugin(create: (settings: { word: string }, host: PluginHost) => PluginHooks) {
  const settings = z.strictObject({ word: z.string().min(2).default("hello") });
  return definePlugin({ name: "tested", description: "", stages: STAGES, settings, create });
}

describe("creation", () => {
  test("parses the settings with the schema and applies its defaults", () => {
    const seen: unknown[] = [];
    const definition = plugin((settings) => {
      seen.push(settings);
      return {};
    });
    testPlugin(definition);
    testPlugin(definition, { word: "other" });
    expect(seen).toEqual([{ word: "hello" }, { word: "other" }]);
  });

  test("throws if the schema rejects the settings or create() throws", () => {
    expect(() =>
      testPlugin(
        plugin(() => ({})),
        { word: "x" },
      ),
    ).toThrow();
    expect(() =>
      testPlugin(
        plugin(() => ({})),
        { wrod: "xx" },
      ),
    ).toThrow("wrod");
    const failing = plugin(() => {
      throw new Error("no license");
    });
    expect(() => testPlugin(failing)).toThrow("no license");
  });

  test("a stage without a hook changes nothing", async () => {
    const tested = testPlugin(plugin(() => ({})));
    expect(
      await tested.preRequest({ path: "/p", query: "?q", headers: { a: "b" }, body: "text" }),
    ).toMatchObject({
      path: "/p",
      query: "?q",
      headers: { a: "b" },
      body: "text",
      response: null,
      responseHeaders: {},
    });
    expect(await tested.postRequest({ status: 201, headers: { a: "b" } })).toEqual({
      status: 201,
      headers: { a: "b" },
    });
    expect(await tested.preResponse(["one", "two"])).toEqual(["one", "two"]);
    await tested.postResponse();
  });
});

describe("pre_request", () => {
  test("reports every change of the request, the response and the response headers", async () => {
    const tested = testPlugin(
      plugin(({ word }) => ({
        async pre_request(context) {
          await Promise.resolve();
          context.setHeader("X-Word", word);
          context.removeHeader("X-Gone");
          context.setPath("/new");
          context.setQuery("?a=1");
          context.replaceBody(JSON.stringify({ ...context.json, word }));
          context.setResponseHeader("X-Extra", "yes");
          context.reportLimit({ name: "words", limit: 9, remaining: 4, resetAt: 70 });
          context.respond({ status: 418, body: { error: "tea" } });
        },
      })),
    );
    const result = await tested.preRequest({ headers: { "X-Gone": "1", "X-Kept": "2" }, body: { n: 1 } });
    expect(result).toMatchObject({
      path: "/new",
      query: "?a=1",
      headers: { "x-kept": "2", "x-word": "hello" },
      body: '{"n":1,"word":"hello"}',
      response: { status: 418, body: { error: "tea" } },
      responseHeaders: {
        "X-Extra": "yes",
        "X-RateLimit-words-Limit": "9",
        "X-RateLimit-words-Remaining": "4",
        "X-RateLimit-words-Reset": "70",
      },
    });
  });

  test("the context shows the given request and the changes that the plugin made", async () => {
    const seen: unknown[] = [];
    const tested = testPlugin(
      plugin(() => ({
        pre_request(context) {
          const { method, clientAddress, apiKey, rule, isJson, json, bodyText } = context;
          seen.push({ method, clientAddress, apiKey, path: rule.path, isJson, json, bodyText });
          context.setHeader("x-own", "changed");
          seen.push([context.headers.get("X-Own"), context.forwardedHeaders.get("X-Own")]);
          context.replaceBody(new TextEncoder().encode("not json"));
          seen.push([context.isJson, context.json, context.bodyText, context.body?.length]);
        },
      })),
    );
    const apiKey = { id: "k", name: "key" };
    const body = [1, 2];
    await tested.preRequest({
      method: "PUT",
      path: "/p",
      clientAddress: "192.0.2.1",
      apiKey,
      body,
      headers: { "x-own": "old" },
    });
    expect(seen).toEqual([
      {
        method: "PUT",
        clientAddress: "192.0.2.1",
        apiKey,
        path: "/p",
        isJson: true,
        json: null,
        bodyText: "[1,2]",
      },
      ["old", "changed"],
      [false, null, "not json", 8],
    ]);
  });

  test("collects counted events and details over all calls", async () => {
    const tested = testPlugin(
      plugin(({ word }) => ({
        pre_request(context) {
          context.count("seen");
          context.count("seen", word);
          context.setDetail(`saw ${context.path}`);
        },
      })),
    );
    await tested.preRequest({ path: "/a" });
    await tested.preRequest({ path: "/b" });
    expect(tested.counted).toEqual({ seen: 2, "seen hello": 2 });
    expect(tested.details).toEqual(["saw /a", "saw /b"]);
  });

  test("a text that a plugin remembered is known in later calls, and counted amounts are added up", async () => {
    const counting = plugin((_, host) => {
      const memory = host.textMemory("1");
      return {
        pre_request(context) {
          const bytes = context.bodyView ?? new Uint8Array(0);
          const known = memory.recall(bytes, 0, bytes.length);
          if (typeof known === "number") context.count("known", "", known);
          else known.remember(bytes.length);
        },
      };
    });
    const tested = testPlugin(counting);
    for (const body of ["a text", "a text", "other", "a text"]) await tested.preRequest({ body });
    expect(tested.counted).toEqual({ known: 12 });
    await testPlugin(counting).preRequest({ body: "a text" });
    expect(tested.counted).toEqual({ known: 12 });
  });

  test("rejects if the hook throws or rejects", async () => {
    const throwing = testPlugin(plugin(() => ({ pre_request: () => Promise.reject(new Error("rejected")) })));
    const error: unknown = await throwing.preRequest().catch((reason: unknown) => reason);
    expect(error).toEqual(new Error("rejected"));
  });

  test("body, text and json are null without a body", async () => {
    const seen: unknown[] = [];
    const tested = testPlugin(
      plugin(() => ({ pre_request: ({ body, bodyText, json }) => void seen.push(body, bodyText, json) })),
    );
    expect((await tested.preRequest()).body).toBeNull();
    expect(seen).toEqual([null, null, null]);
  });
});

describe("other stages", () => {
  test("post_request changes status and headers", async () => {
    const tested = testPlugin(
      plugin(() => ({
        post_request(context) {
          context.setHeader("X-Seen", `${context.status} ${context.provider} ${context.model ?? "none"}`);
          context.removeHeader("X-Gone");
          context.setStatus(503);
          context.setHeader("X-Now", String(context.status));
        },
      })),
    );
    const response = { status: 200, provider: "openai", model: "m", headers: { "X-Gone": "1" } };
    expect(await tested.postRequest(response)).toEqual({
      status: 503,
      headers: { "x-seen": "200 openai m", "x-now": "503" },
    });
  });

  test("pre_response receives each chunk, with isLast on the last one", async () => {
    const tested = testPlugin(
      plugin(() => ({
        pre_response(context) {
          context.replaceChunk(`${context.text}${context.chunk.length}${context.isLast ? "!" : ""}`);
        },
      })),
    );
    expect(await tested.preResponse(["a", "bb", "ö"])).toEqual(["a1", "bb2", "ö2!"]);
  });

  test("notes and kept values persist across stages of one test, and not across tests", async () => {
    const definition = plugin((_settings, host) => {
      const kept = host.keep("calls", () => ({ count: 0 }));
      return {
        pre_request: ({ notes }) => void notes.set("seen", ++kept.count),
        post_response: ({ notes, status, outcome }) => {
          expect(notes.get("seen")).toBe(host.keep("calls", () => ({ count: -1 })).count);
          expect([status, outcome]).toEqual([502, "failed"]);
          expect(kept.count).toBe(2);
          host.blocks.add({ type: "t", subject: "s" }, "key");
          expect([host.blocks.has("t", "s"), host.blocks.has("t", "other")]).toEqual([true, false]);
          host.log("info", "not printed");
        },
      };
    });
    for (let round = 0; round < 2; round++) {
      const tested = testPlugin(definition);
      await tested.preRequest();
      await tested.preRequest();
      await tested.postResponse({ status: 502, outcome: "failed" });
    }
    expect.assertions(8);
  });
});

test("hooks wait for the ready promise, and reject if it rejects", async () => {
  const plugin = definePlugin<{ readonly fails: boolean }>({
    name: "loads",
    description: "",
    stages: ["pre_request"],
    settings: z.object({ fails: z.boolean() }),
    create({ fails }) {
      let word = "too early";
      const loaded = fails ? Promise.reject(new Error("no word")) : eventLoopTurns().then(() => "loaded");
      return {
        ready: loaded.then((text: string) => (word = text)),
        pre_request: (context) => context.setResponseHeader("X-Word", word),
      };
    },
  });
  const { responseHeaders } = await testPlugin(plugin, { fails: false }).preRequest();
  expect(responseHeaders).toEqual({ "X-Word": "loaded" });
  expect(await testPlugin(plugin, { fails: true }).preRequest().catch(String)).toBe("Error: no word");
});

/* eslint-disable @typescript-eslint/no-deprecated -- this test is about the deprecated names */
test("a plugin written against the earlier names still runs", async () => {
  const reply: PluginAnswer = { status: 418, body: "short and stout" };
  const tested = testPlugin(
    plugin(() => ({
      pre_request(context) {
        context.setAnswerHeader("X-Kind", "teapot");
        context.remark("made tea");
        context.answer(reply);
      },
      post_request: (context: AnswerContext) => context.setStatus(202),
      pre_response: (context: BodyContext) => context.replaceChunk(context.text.toUpperCase()),
    })),
  );
  const { answer, answerHeaders, response, responseHeaders } = await tested.preRequest();
  expect([answer, answerHeaders]).toEqual([reply, { "X-Kind": "teapot" }]);
  expect([response, responseHeaders]).toEqual([reply, { "X-Kind": "teapot" }]);
  expect([tested.remarks, tested.details]).toEqual([["made tea"], ["made tea"]]);
  const earlier: TestAnswer = { status: 200 };
  expect((await tested.postRequest(earlier)).status).toBe(202);
  expect(await tested.preResponse(["tea"], earlier)).toEqual(["TEA"]);
});
