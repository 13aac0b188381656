// Tests of the plugin test harness: before_body, final_request with kept responses, and the text of responses.
import { afterEach, expect, setSystemTime, test } from "bun:test";
import {
  definePlugin,
  z,
  type PluginDefinition,
  type PluginHooks,
  type PluginHost,
  type ReuseRequest,
} from "./index.ts";
import { testPlugin } from "./testing.ts";

afterEach(() => void setSystemTime());

function plugin(
  create: (host: PluginHost) => PluginHooks,
  fields: Partial<PluginDefinition<object>> = {},
): PluginDefinition<object> {
  const settings = z.strictObject({});
  const stages = ["pre_request"] as const;
  return definePlugin({
    name: "tested",
    description: "",
    stages,
    settings,
    create: (_, host) => create(host),
    ...fields,
  });
}

/** Keeps responses by path, with what the test changes. */
function keeping(changed: Partial<ReuseRequest> = {}, limits = { maxBytes: 100, maxEntryBytes: 60 }) {
  return testPlugin(
    plugin((host) => {
      const store = host.openResponses(limits);
      return {
        final_request: (context) =>
          context.reuse({ store, key: context.path, ttlMs: 1000, coalesces: false, ...changed }),
      };
    }),
  );
}

test("before_body sees the headers and no body, and its response is reported", () => {
  const tested = testPlugin(
    plugin(() => ({
      before_body(context) {
        const { body, bodySize, headers } = context;
        context.respond({ status: 413, body: [body, bodySize, headers.get("x-a")] });
      },
    })),
  );
  const { response } = tested.beforeBody({ headers: { "x-a": "b" }, body: "text" });
  expect(response).toEqual({ status: 413, body: [null, 0, "b"] });
  expect(testPlugin(plugin(() => ({}))).beforeBody({ body: "text" }).response).toBeNull();
});

test("final_request sees the request as it is sent, with defaults from path and body", async () => {
  const seen: unknown[] = [];
  const tested = testPlugin(
    plugin(() => ({
      async final_request(context) {
        const { operation, format, models, wantsStream, hasTrustedUser, bodyText, userKey } = context;
        seen.push({ operation, format, models, wantsStream, hasTrustedUser, bodyText, userKey });
        seen.push([context.formatHeaders.get("x-version"), await context.hasSideEffects()]);
        context.setResponseHeader("X-Seen", "yes");
      },
    })),
  );
  const body = { model: "m", stream: true };
  const sent = await tested.finalRequest({ path: "/v1/messages", body, headers: { "x-user-id": "u" } });
  expect(sent).toEqual({
    source: "provider",
    response: { status: 200 },
    responseHeaders: { "X-Seen": "yes" },
    reused: null,
  });
  await tested.finalRequest({
    path: "/other",
    operation: "embeddings",
    models: ["a", null],
    hasTrustedUser: true,
    hasSideEffects: true,
    formatHeaders: { "X-Version": "2" },
  });
  expect(seen).toEqual([
    {
      operation: "messages",
      format: "anthropic",
      models: ["m"],
      wantsStream: true,
      hasTrustedUser: false,
      bodyText: JSON.stringify(body),
      userKey: "anonymous/u",
    },
    [null, false],
    {
      operation: "embeddings",
      format: "",
      models: ["a", null],
      wantsStream: false,
      hasTrustedUser: true,
      bodyText: null,
      userKey: "anonymous/",
    },
    ["2", true],
  ]);
});

test("final_request may respond, and cannot change the request", async () => {
  const responding = testPlugin(
    plugin(() => ({ final_request: (context) => context.respond({ status: 418, body: "tea" }) })),
  );
  expect(await responding.finalRequest()).toMatchObject({
    source: "plugin",
    response: { status: 418, body: "tea" },
  });
  const changing = testPlugin(
    plugin(() => ({
      final_request: (context) => {
        if ("replaceBody" in context && typeof context.replaceBody === "function") context.replaceBody("x");
      },
    })),
  );
  expect(await changing.finalRequest().catch(String)).toContain("cannot be changed");
});

const provided = (body: string, status = 200) => ({ status, body });

test("a response is kept and used for equal keys until it expires", async () => {
  setSystemTime(new Date(1_000_000));
  const tested = keeping();
  const send = async (path: string, body: string) => {
    const { source, response } = await tested.finalRequest({ path, provided: provided(body) });
    return [source, response.body];
  };
  expect(await send("/a", "first")).toEqual(["provider", "first"]);
  expect(await send("/a", "second")).toEqual(["kept", "first"]);
  expect(await send("/b", "other")).toEqual(["provider", "other"]);
  setSystemTime(new Date(1_001_000));
  expect(await send("/a", "third")).toEqual(["provider", "third"]);
});

test("only successful responses that fit are kept, and the least recently used ones are dropped", async () => {
  const tested = keeping();
  const send = async (path: string, body: string, status = 200) =>
    (await tested.finalRequest({ path, provided: provided(body, status) })).source;
  for (const [body, status] of [["x", 500] as const, ["x".repeat(61), 200] as const])
    expect([await send("/a", body, status), await send("/a", body, status)]).toEqual([
      "provider",
      "provider",
    ]);
  for (const path of ["/1", "/2", "/1", "/3"]) await send(path, "x".repeat(50));
  expect([await send("/1", ""), await send("/3", ""), await send("/2", "")]).toEqual([
    "kept",
    "kept",
    "provider",
  ]);
});

test("reads, keeps, maxAgeMs and onlyKept of a reuse have their effect", async () => {
  setSystemTime(new Date(1_000_000));
  let changed: Partial<ReuseRequest> = {};
  const tested = testPlugin(
    plugin((host) => {
      const store = host.openResponses({ maxBytes: 100, maxEntryBytes: 100 });
      return {
        final_request: (context) => context.reuse({ store, key: "k", ttlMs: 60_000, ...changed }),
      };
    }),
  );
  const send = async (given: Partial<ReuseRequest>) => {
    changed = given;
    const { source, response } = await tested.finalRequest({ provided: provided("new") });
    return [source, response.status];
  };
  expect(await send({ onlyKept: true })).toEqual(["none", 504]);
  expect(await send({ keeps: false })).toEqual(["provider", 200]);
  expect(await send({})).toEqual(["provider", 200]);
  expect(await send({ reads: false })).toEqual(["provider", 200]);
  expect(await send({ onlyKept: true })).toEqual(["kept", 200]);
  setSystemTime(new Date(1_000_500));
  expect(await send({ maxAgeMs: 500 })).toEqual(["kept", 200]);
  expect(await send({ maxAgeMs: 499, keeps: false })).toEqual(["provider", 200]);
});

test("a store that the host did not open is rejected", async () => {
  const tested = keeping({ store: { maxEntryBytes: 1 } });
  expect(await tested.finalRequest().catch(String)).toContain("openResponses");
});

test("text beyond the hold is forced, and what is not released then is sent unchanged", async () => {
  const calls: unknown[] = [];
  const tested = testPlugin(
    plugin(
      () => ({
        response_text(context) {
          const { text, isLast, isForced } = context;
          calls.push([text, isLast, isForced]);
          context.release(isForced ? 2 : 0, isForced ? "--" : undefined);
        },
      }),
      { needs: ["text"], hold: { content: { characters: 4 } } },
    ),
  );
  expect(await tested.responseText(["abc", "de", "f"])).toEqual({ text: "--cdef", rejection: null });
  expect(calls).toEqual([
    ["abc", false, false],
    ["abcde", false, false],
    ["abcde", false, true],
    ["f", true, false],
  ]);
});

test("a cut stream ends with a forced call; read-only text is not replaced; wrong calls throw", async () => {
  const calls: unknown[] = [];
  const tested = testPlugin(
    plugin(() => ({
      response_text(context) {
        const { text, isLast, isForced, channel, model } = context;
        calls.push([text, isLast, isForced, channel.kind, channel.isJson, model]);
        context.release(isForced ? text.length : 0, isForced ? "new" : undefined);
      },
    })),
  );
  const cut = { kind: "tool_arguments", isCut: true, model: "m" } as const;
  expect(await tested.responseText(["a", "b"], cut)).toEqual({ text: "new", rejection: null });
  expect(calls.at(-1)).toEqual(["ab", false, true, "tool_arguments", true, "m"]);
  expect((await tested.responseText(["a"], { isReadOnly: true, isCut: true })).text).toBe("a");

  const wrong = testPlugin(plugin(() => ({ response_text: (context) => context.release(9) })));
  expect(await wrong.responseText(["abc"]).catch(String)).toContain("from 0 to 3, got 9");
  const rejecting = testPlugin(
    plugin(() => ({ response_text: (context) => context.reject({ status: 200, code: "c", message: "m" }) })),
  );
  expect(await rejecting.responseText(["abc"]).catch(String)).toContain("400 to 599");
});
