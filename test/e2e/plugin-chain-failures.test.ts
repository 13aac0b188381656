// Plugins over real HTTP that throw, hang, or make invalid calls.
import { describe, expect, test } from "bun:test";
import { useGate } from "../support/gate.ts";
import { asynchronous, logged, scripted, type Stage } from "../support/plugin-fixtures.ts";
import { appendToTrail, expectFailed, usePluginHarness } from "../support/plugin-harness.ts";
import { CHAT, rawCall, rawJson } from "../support/proxy-fixtures.ts";

const harness = usePluginHarness();
const gate = useGate();

describe("a plugin that fails", () => {
  const FAILURES: readonly (readonly [string, string])[] = [
    ["throws", `throw new Error("on purpose")`],
    ["throws a value that is not an error", `throw undefined`],
    ["rejects", `return Promise.reject(new Error("on purpose"))`],
    ["returns a thenable that rejects", `return { then(_, reject) { reject(new Error("on purpose")) } }`],
  ];

  test.each(FAILURES)(
    "%s: 500 by default, and the request continues with on_error continue",
    async (_name, code) => {
      for (const stage of ["pre_request", "post_request", "pre_response"] as const) {
        await expectFailed(await harness.call([scripted(stage, code)]));
        await expectFailed(await harness.call([scripted(stage, code, { on_error: "fail" })]));
        const response = await harness.call([
          scripted(stage, code, { on_error: "continue" }),
          scripted("pre_request", appendToTrail("after"), { priority: 9 }),
        ]);
        expect([response.status, response.headers.get("x-trail")]).toEqual([200, "after"]);
        expect(await response.json()).toMatchObject({ object: "chat.completion" });
      }
      const silent = await harness.call([scripted("post_response", code)]);
      expect(silent.status).toBe(200);
    },
  );

  test("its error is logged with the request id, and is not in the response", async () => {
    const response = await harness.call([scripted("pre_request", `throw new Error("a private matter")`)]);
    expect(await response.text()).not.toContain("private");
    const line = await logged(harness.gatehouse, "plugin failed", {
      request_id: response.headers.get("x-request-id"),
    });
    expect(line).toMatchObject({ plugin: "scripted", err: { message: "a private matter" } });
  });

  const INVALID_CALLS: readonly (readonly [stage: Stage, code: string])[] = [
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

  test.each(INVALID_CALLS)("makes an invalid call at %s: %s", async (stage, code) => {
    await expectFailed(await harness.call([scripted(stage, code)]));
    harness.provider.reset();
    const route = await harness.seed([scripted(stage, code, { on_error: "continue" })]);
    const response = await rawJson(harness.gatehouse.proxyUrl, route.path, CHAT);
    expect(response.status).toBe(200);
    expect(response.json().object).toBe("chat.completion");
    expect(response.all("x-injected")).toEqual([]);
    expect(harness.sentRequest.header("x-injected")).toBeUndefined();
    expect(harness.sentRequest.json()).toEqual(CHAT);
  });

  test.each([
    ["pre_request", `context.replaceBody("x".repeat(50e6))`],
    ["pre_request", `context.respond({ status: 200, body: "x".repeat(50e6) })`],
    ["pre_request", `context.respond({ status: 200, body: new Uint8Array(50e6) })`],
    ["pre_request", `context.respond({ status: 200, body: ["x".repeat(50e6)] })`],
    ["pre_response", `context.replaceChunk("x".repeat(50e6))`],
  ] as const)("creates a body of 50 MB at %s: %s, while other requests are served", async (stage, code) => {
    const huge = await harness.seed([scripted(stage, code)]);
    const unharmed = await harness.seed([scripted("pre_request", appendToTrail("fine"))]);
    const others = Array.from({ length: 10 }, () => harness.post(unharmed));
    await expectFailed(await harness.post(huge));
    for (const other of await Promise.all(others)) expect(other.headers.get("x-trail")).toBe("fine");
  });

  test("sets framing headers: the gateway frames the messages, and other requests are unharmed", async () => {
    const headers = `headers: { "Content-Length": "2", "Transfer-Encoding": "chunked" }`;
    const responding = scripted(
      "pre_request",
      `context.respond({ status: 200, ${headers}, body: "more than two" })`,
    );
    const route = await harness.seed([responding]);
    const response = await rawCall(harness.gatehouse.proxyUrl, { target: route.path, body: "x" });
    expect(response.body.toString()).toBe("more than two");
    const sending = scripted(
      "pre_request",
      `context.setHeader("content-length", "3"); context.setHeader("transfer-encoding", "chunked")`,
    );
    const sent = await harness.seed([sending]);
    for (let round = 0; round < 3; round++) expect((await harness.post(sent)).status).toBe(200);
    expect(harness.provider.requests.map((request) => request.json())).toEqual([CHAT, CHAT, CHAT]);
  });

  test("cannot change other requests after it has responded or failed", async () => {
    const name = crypto.randomUUID();
    const change = `context.setHeader("x-late", "1"); context.replaceBody("{}"); context.respond({ status: 418 });`;
    const late = asynchronous(
      `fetch("${gate.url}").then(() => { try { ${change} } catch {} host.log("info", "${name}"); }); throw new Error("too soon")`,
    );
    const route = await harness.seed([scripted("pre_request", late)]);
    const fine = await harness.seed([]);
    await expectFailed(await harness.post(route));
    gate.open();
    await logged(harness.gatehouse, name);
    expect((await harness.post(fine)).status).toBe(200);
    expect(harness.sentRequest.header("x-late")).toBeUndefined();
  });
});
