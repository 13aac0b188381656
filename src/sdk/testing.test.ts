// The harness for plugin authors: it makes and runs a plugin as the gateway would, and shows what the plugin did.
import { describe, expect, test } from "bun:test";
import { definePlugin, z, type PluginHooks, type PluginHost } from "./index.ts";
import { testPlugin } from "./testing.ts";

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"] as const;

function plugin(create: (settings: { word: string }, host: PluginHost) => PluginHooks) {
  const settings = z.strictObject({ word: z.string().min(2).default("hello") });
  return definePlugin({ name: "tested", description: "", stages: STAGES, settings, create });
}

describe("making", () => {
  test("settings go through the schema, with its defaults", () => {
    const seen: unknown[] = [];
    const definition = plugin((settings) => {
      seen.push(settings);
      return {};
    });
    testPlugin(definition);
    testPlugin(definition, { word: "other" });
    expect(seen).toEqual([{ word: "hello" }, { word: "other" }]);
  });

  test("what the schema refuses and what create() throws is thrown", () => {
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
    const moody = plugin(() => {
      throw new Error("not today");
    });
    expect(() => testPlugin(moody)).toThrow("not today");
  });

  test("a stage without a hook leaves everything as it is", async () => {
    const tested = testPlugin(plugin(() => ({})));
    expect(await tested.preRequest({ path: "/p", query: "?q", headers: { a: "b" }, body: "text" })).toEqual({
      path: "/p",
      query: "?q",
      headers: { a: "b" },
      body: "text",
      answer: null,
      answerHeaders: {},
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
  test("shows every change, and what was asked of the client's answer", async () => {
    const tested = testPlugin(
      plugin(({ word }) => ({
        async pre_request(context) {
          await Promise.resolve();
          context.setHeader("X-Word", word);
          context.removeHeader("X-Gone");
          context.setPath("/new");
          context.setQuery("?a=1");
          context.replaceBody(JSON.stringify({ ...context.json, word }));
          context.setAnswerHeader("X-Told", "yes");
          context.answer({ status: 418, body: { error: "tea" } });
        },
      })),
    );
    const result = await tested.preRequest({ headers: { "X-Gone": "1", "X-Kept": "2" }, body: { n: 1 } });
    expect(result).toEqual({
      path: "/new",
      query: "?a=1",
      headers: { "x-kept": "2", "x-word": "hello" },
      body: '{"n":1,"word":"hello"}',
      answer: { status: 418, body: { error: "tea" } },
      answerHeaders: { "X-Told": "yes" },
    });
  });

  test("the context tells what the test wrote, and sees its own changes", async () => {
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

  test("what a plugin counts and remarks is shown, over all calls", async () => {
    const tested = testPlugin(
      plugin(({ word }) => ({
        pre_request(context) {
          context.count("seen");
          context.count("seen", word);
          context.remark(`saw ${context.path}`);
        },
      })),
    );
    await tested.preRequest({ path: "/a" });
    await tested.preRequest({ path: "/b" });
    expect(tested.counted).toEqual({ seen: 2, "seen hello": 2 });
    expect(tested.remarks).toEqual(["saw /a", "saw /b"]);
  });

  test("a hook that throws or rejects fails the test", async () => {
    const throwing = testPlugin(plugin(() => ({ pre_request: () => Promise.reject(new Error("rejected")) })));
    const error: unknown = await throwing.preRequest().catch((reason: unknown) => reason);
    expect(error).toEqual(new Error("rejected"));
  });

  test("without a body there is none", async () => {
    const seen: unknown[] = [];
    const tested = testPlugin(
      plugin(() => ({ pre_request: ({ body, bodyText, json }) => void seen.push(body, bodyText, json) })),
    );
    expect((await tested.preRequest()).body).toBeNull();
    expect(seen).toEqual([null, null, null]);
  });
});

describe("the other stages", () => {
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
    const answer = { status: 200, provider: "openai", model: "m", headers: { "X-Gone": "1" } };
    expect(await tested.postRequest(answer)).toEqual({
      status: 503,
      headers: { "x-seen": "200 openai m", "x-now": "503" },
    });
  });

  test("pre_response gets each chunk, the last one marked", async () => {
    const tested = testPlugin(
      plugin(() => ({
        pre_response(context) {
          context.replaceChunk(`${context.text}${context.chunk.length}${context.isLast ? "!" : ""}`);
        },
      })),
    );
    expect(await tested.preResponse(["a", "bb", "ö"])).toEqual(["a1", "bb2", "ö2!"]);
  });

  test("notes and what the host keeps stay from stage to stage, within this test", async () => {
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

test("hooks of a plugin that has something to load are called when it is there, and fail where it cannot be had", async () => {
  const plugin = definePlugin<{ readonly fails: boolean }>({
    name: "loads",
    description: "",
    stages: ["pre_request"],
    settings: z.object({ fails: z.boolean() }),
    create({ fails }) {
      let word = "too early";
      const loaded = fails ? Promise.reject(new Error("no word")) : Bun.sleep(1).then(() => "loaded");
      return {
        ready: loaded.then((text: string) => (word = text)),
        pre_request: (context) => context.setAnswerHeader("X-Word", word),
      };
    },
  });
  const { answerHeaders } = await testPlugin(plugin, { fails: false }).preRequest();
  expect(answerHeaders).toEqual({ "X-Word": "loaded" });
  expect(await testPlugin(plugin, { fails: true }).preRequest().catch(String)).toBe("Error: no word");
});
