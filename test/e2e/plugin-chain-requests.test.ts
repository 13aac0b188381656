// Plugins over real HTTP: their order, and what pre_request hooks read and change.
import { describe, expect, test } from "bun:test";
import {
  scripted,
  scriptedWhole,
  STREAMED_CHAT,
  type ChatCall,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { appendToTrail, expectFailed, usePluginHarness } from "../support/plugin-harness.ts";
import { CHAT, seedKey } from "../support/proxy-fixtures.ts";

const harness = usePluginHarness();

describe("plugins run in order", () => {
  test("of ascending priority, then as listed", async () => {
    const plugins = [
      scripted("pre_request", appendToTrail("d"), { priority: 7 }),
      scripted("pre_request", appendToTrail("b"), { priority: 1 }),
      scripted("pre_request", appendToTrail("a"), { priority: -3 }),
      scriptedWhole("pre_request", appendToTrail("c")),
      scripted("pre_request", appendToTrail("e"), { priority: 7 }),
    ];
    expect((await harness.call(plugins)).headers.get("x-trail")).toBe("abcde");
    const reversed = await harness.call(plugins.toReversed());
    expect(reversed.headers.get("x-trail")).toBe("acbed");
  });

  test("at every stage", async () => {
    const note = (letter: string) =>
      `context.setHeader("x-trail", (context.headers.get("x-trail") ?? "") + "${letter}")`;
    const add = (letter: string) => `if (context.isLast) context.replaceChunk(context.text + "${letter}")`;
    const response = await harness.call([
      scripted("post_request", note("2"), { priority: 2 }),
      scripted("post_request", note("1"), { priority: 1 }),
      scripted("pre_response", add("B"), { priority: 2 }),
      scripted("pre_response", add("A"), { priority: 1 }),
    ]);
    expect(response.headers.get("x-trail")).toBe("12");
    expect(await response.text()).toEndWith("}AB");
  });

  test("unless they are disabled, which also changes nothing about the bodies", async () => {
    const disabled = [
      scripted("pre_request", "throw new Error('called')", { enabled: false }),
      scriptedWhole("pre_response", "throw new Error('called')", { enabled: false }),
      scriptedWhole("pre_request", appendToTrail("x"), { enabled: false }),
    ];
    harness.provider.behave({ gzip: true });
    const body = Bun.gzipSync("not to be read").toBase64();
    const response = await harness.call(disabled, {
      body,
      headers: { "Content-Encoding": "gzip", "Content-Type": "text/plain", "Accept-Encoding": "gzip" },
    });
    expect(response.status).toBe(400); // the provider rejects that body
    expect(response.headers.get("x-trail")).toBeNull();
    expect(harness.sentRequest.header("content-encoding")).toBe("gzip");
    expect(harness.sentRequest.header("accept-encoding")).toBe("gzip");
    expect(Buffer.from(harness.sentRequest.body).toString()).toBe(body);
  });
});

describe("pre_request", () => {
  test("changes headers, path, query and body of the request to the provider", async () => {
    const code = `
      context.setHeader("X-Added", "by plugin");
      context.setHeader("X-Changed", context.headers.get("x-changed") + " again");
      context.removeHeader("X-Removed");
      context.setPath(context.path + "/and/on");
      context.setQuery(context.query + "&more=1");
      context.replaceBody(JSON.stringify({ ...context.json, extra: true }));`;
    const headers = { "X-Changed": "old", "X-Removed": "yes" };
    const seeding = { target: { path: "" } };
    const route = await harness.seed([scripted("pre_request", code)], seeding);
    expect((await harness.post(route, { headers, query: "?a=1" })).status).toBe(200);
    const sent = harness.sentRequest;
    expect(sent.target).toBe(`${route.path}/and/on?a=1&more=1`);
    expect(sent.header("x-added")).toBe("by plugin");
    expect(sent.header("x-changed")).toBe("old again");
    expect(sent.header("x-removed")).toBeUndefined();
    expect(sent.json()).toEqual({ ...CHAT, extra: true });
  });

  test("a model in a changed path is the one that is balanced and reported", async () => {
    const target = { provider: "google", format: "gemini" };
    const code = `context.setPath("/v1beta/models/gemini-new:generateContent")`;
    const rule = { path: "/v1beta/models/{model}" };
    const route = await harness.seed([scripted("pre_request", code)], { target, rule });
    const path = "/v1beta/models/gemini-old:generateContent";
    const response = await harness.post({ ...route, path }, { body: { contents: [] } });
    expect(response.headers.get("x-gw-model")).toBe("gemini-new");
    expect(harness.sentRequest.target).toBe("/v1beta/models/gemini-new:generateContent");
  });

  test("a changed path needs the permission of the rule for its operation", async () => {
    for (const path of ["/v1/fine_tuning/jobs", "/v1/vector_stores"]) {
      const code = `context.setPath("${path}"); context.replaceBody("{}")`;
      const prefix = `/api-${crypto.randomUUID()}`;
      const route = await harness.seed([scripted("pre_request", code)], { rule: { path: `${prefix}/*` } });
      const response = await harness.post({ ...route, path: `${prefix}/v1/chat/completions` });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: "operation_not_allowed" });
    }
  });

  test("a replaced model is the one that is balanced and reported", async () => {
    const code = `context.replaceBody(JSON.stringify({ ...context.json, model: "other" }))`;
    const response = await harness.call([scripted("pre_request", code)]);
    expect(response.headers.get("x-gw-model")).toBe("other");
  });

  test("a later plugin sees the changes of an earlier one, and the client's headers unchanged", async () => {
    const first = `context.setHeader("x-mark", "new"); context.setQuery("z=1"); context.replaceBody('{"n":1}')`;
    const second = `context.respond({ status: 200, body: {
      forwarded: context.forwardedHeaders.get("X-Mark"), own: context.headers.get("X-Mark"),
      query: context.query, json: context.json, text: context.bodyText } })`;
    const response = await harness.call([scripted("pre_request", first), scripted("pre_request", second)], {
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

  test("reads everything about the request", async () => {
    const code = `context.respond({ status: 200, body: {
      requestId: context.requestId, gateway: context.gateway, rule: context.rule, apiKey: context.apiKey,
      method: context.method, clientAddress: context.clientAddress, path: context.path, query: context.query,
      isJson: context.isJson, bytes: context.body.length, has: context.headers.has("X-Given"),
      credential: context.forwardedHeaders.has("authorization"), agent: [...context.headers.entries()].find(([name]) => name === "x-given") } })`;
    const route = await harness.seed([scripted("pre_request", code)], {
      rule: { name: "the rule" },
    });
    const { id, key } = await seedKey(harness.gatehouse, route.gateway, { name: "ann" });
    const headers = {
      "X-GW-API-Key": key,
      Authorization: "Bearer own",
      "X-Given": "v",
      "X-Forwarded-For": "198.51.100.7",
    };
    const response = await harness.post(route, { headers, query: "?q" });
    const { body: gateway } = await harness.gatehouse.api("GET", `/gateways/${route.gateway}`);
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

  test("responds instead of the provider, and later plugins do not run", async () => {
    const body = { error: "closed on Sundays", code: "closed" };
    const code = `context.setResponseHeader("X-Kept", "yes"); context.respond({ status: 418, headers: { "X-Own": "1" }, body: ${JSON.stringify(body)} })`;
    const response = await harness.call([
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
    expect(harness.provider.requestCount).toBe(0);
  });

  test("responds with text, bytes, JSON or nothing", async () => {
    const responseTo = async (body: string) => {
      const response = await harness.call([
        scripted("pre_request", `context.respond({ status: 200, ${body} })`),
      ]);
      expect(response.status).toBe(200);
      expect(response.headers.get("x-request-id")).not.toBeNull();
      return response.text();
    };
    expect(await responseTo(`body: "plain"`)).toBe("plain");
    expect(await responseTo(`body: new Uint8Array([104, 105])`)).toBe("hi");
    expect(await responseTo(`body: [1, null]`)).toBe("[1,null]");
    expect(await responseTo(`body: null`)).toBe("null");
    expect(await responseTo("")).toBe("");
  });

  test("a response header is set on responses, streams and errors of the provider, and on errors of the gateway", async () => {
    const plugin = scripted("pre_request", `context.setResponseHeader("X-Added", "yes")`);
    const route = await harness.seed([plugin]);
    const headerOf = async (call: ChatCall, fake: Fields = {}) => {
      harness.provider.behave(fake);
      const response = await harness.post(route, call);
      await response.text();
      return [response.status, response.headers.get("x-added")];
    };
    expect(await headerOf({})).toEqual([200, "yes"]);
    expect(await headerOf({ body: STREAMED_CHAT })).toEqual([200, "yes"]);
    expect(await headerOf({}, { status: 404 })).toEqual([404, "yes"]);
    expect(await headerOf({}, { closeBeforeAnswer: true })).toEqual([502, "yes"]);
  });

  test("an encoded body is 415 for a plugin that needs the body, and is forwarded otherwise", async () => {
    const call = { body: "zipped", headers: { "Content-Type": "text/plain", "Content-Encoding": "gzip" } };
    await expectFailed(
      await harness.call([scriptedWhole("pre_request", "")], call),
      415,
      "unsupported_media_type",
    );
    expect(harness.provider.requestCount).toBe(0);
    await harness.call([scripted("pre_request", "")], call);
    expect(Buffer.from(harness.sentRequest.body).toString()).toBe("zipped");
  });

  test("reads a body that is not JSON as text and as bytes", async () => {
    const code = `context.respond({ status: 200, body: [context.isJson, context.json, context.bodyText, context.body.length] })`;
    const plugins = [scriptedWhole("pre_request", code)];
    const response = await harness.call(plugins, {
      body: "grüße",
      headers: { "Content-Type": "text/plain" },
    });
    expect(await response.json()).toEqual([false, null, "grüße", 7]);
  });
});
