// Plugins over real HTTP: what post_request, pre_response and post_response hooks read and change.
import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { useGate } from "../support/gate.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import {
  asynchronous,
  logged,
  logRecords,
  scripted,
  scriptedWhole,
  seedPlugins,
  STREAMED_CHAT,
  type ChatCall,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { usePluginHarness } from "../support/plugin-harness.ts";
import { CHAT, rawJson } from "../support/proxy-fixtures.ts";
import { connectRaw, rawRequest } from "../support/raw-client.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const harness = usePluginHarness();
const gate = useGate();
/** Waits between chunks until its clock is advanced. */
const clock = new ManualClock();
const slow = await useFakeProvider({ clock });

describe("post_request", () => {
  test("reads and changes the provider's status and headers", async () => {
    harness.provider.behave({
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
    const response = await harness.call([scripted("post_request", code), scripted("post_request", second)]);
    expect(response.status).toBe(203);
    expect(response.headers.get("x-seen")).toBe("200 openai gpt-fake one");
    expect(response.headers.get("x-from-provider")).toBe("two");
    expect(response.headers.has("x-gone")).toBe(false);
    expect(response.headers.get("x-second-saw")).toBe("203");
    expect(await response.json()).toMatchObject({ object: "chat.completion" });
  });

  test("runs before the first byte of a stream, and on errors of the provider", async () => {
    const route = await harness.seed([
      scripted("post_request", `context.setHeader("X-Saw", String(context.status)); context.setStatus(202)`),
    ]);
    const stream = await harness.post(route, { body: STREAMED_CHAT });
    expect([stream.status, stream.headers.get("x-saw")]).toEqual([202, "200"]);
    expect(await stream.text()).toEndWith("data: [DONE]\n\n");
    harness.provider.behave({ status: 404 });
    const failed = await harness.post(route);
    expect([failed.status, failed.headers.get("x-saw")]).toEqual([202, "404"]);
  });

  test("a status without a body does not harm the next request on the connection", async () => {
    for (const body of [CHAT, STREAMED_CHAT]) {
      const response = await harness.call([scripted("post_request", "context.setStatus(204)")], { body });
      expect([response.status, await response.text()]).toEqual([204, ""]);
    }
  });
});

describe("pre_response", () => {
  const SHOUT = `context.replaceChunk(context.text.toUpperCase())`;
  const EVENTS = ["data: one\n\n", "data: two\n\n", "data: three\n\n"];

  test("gets a whole body once, as the last chunk, and may change it", async () => {
    harness.provider.behave({ body: '{"a":"b"}' });
    const code = `context.replaceChunk(context.text + [context.isLast, context.status, context.provider, context.model, context.chunk.length])`;
    const response = await harness.call([scripted("pre_response", code)]);
    expect(await response.text()).toBe('{"a":"b"}true,200,openai,gpt-fake,9');
  });

  test("gets a stream chunk by chunk, as it arrives", async () => {
    slow.behave({ body: EVENTS, chunkDelayMs: 10 });
    const code = `context.replaceChunk(context.isLast ? "END" : "<" + context.text.trim() + ">")`;
    const route = await seedPlugins(harness.gatehouse, slow, [scripted("pre_response", code)]);
    const response = await harness.post(route, { body: STREAMED_CHAT });
    let text = "";
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      // The next event is sent when this one has been received.
      if (!text.endsWith("<data: one>") && !text.endsWith("<data: two>")) continue;
      await waitUntil(() => clock.timerCount > 0);
      clock.advance(10);
    }
    expect(text).toBe("<data: one><data: two><data: three>END");
  });

  test("can hold back bytes of a stream and send them at its end", async () => {
    harness.provider.behave({ body: EVENTS, chunkDelayMs: 0 });
    const code = `
      const held = (context.notes.get("held") ?? "") + context.text;
      context.notes.set("held", held);
      context.replaceChunk(context.isLast ? held.toUpperCase() : "");`;
    const response = await harness.call([scripted("pre_response", code)], { body: STREAMED_CHAT });
    expect(await response.text()).toBe(EVENTS.join("").toUpperCase());
  });

  test("gets a whole stream once if it needs the body", async () => {
    harness.provider.behave({ body: EVENTS, chunkDelayMs: 0 });
    const code = `context.replaceChunk("[" + context.isLast + ":" + context.text + "]")`;
    const response = await harness.call([scriptedWhole("pre_response", code)], { body: STREAMED_CHAT });
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
      harness.provider.behave({ encoding, text: "quiet words" });
      const route = await harness.seed([scripted("pre_response", SHOUT)]);
      const response = await harness.post(route, { body: { ...CHAT, stream } });
      const text = await response.text();
      expect(response.headers.has("content-encoding")).toBe(false);
      expect(text).toContain("QUIET");
      expect(text).not.toContain("quiet");
      expect(harness.sentRequest.header("accept-encoding")).toBe("identity");
    },
  );

  test.each([false, true])(
    "gets a translated response in the client's format (stream: %p)",
    async (stream) => {
      harness.provider.behave({ text: "alpha beta" });
      const route = await harness.seed([scripted("pre_response", SHOUT)], {
        target: { provider: "anthropic" },
        rule: { response_format: "openai" },
      });
      const text = await (await harness.post(route, { body: { ...CHAT, stream, max_tokens: 9 } })).text();
      expect(text).toContain(stream ? "CHAT.COMPLETION.CHUNK" : "CHAT.COMPLETION");
      expect(text).toContain("ALPHA");
      expect(text).not.toContain("CONTENT_BLOCK");
      if (stream) expect(text).toEndWith("DATA: [DONE]\n\n");
    },
  );

  test("a failure in the middle of a stream cuts this stream only", async () => {
    harness.provider.behave({ body: EVENTS, chunkDelayMs: 20 });
    const code = `if (context.text.includes("two")) throw new Error("enough")`;
    const route = await harness.seed([scripted("pre_response", code)]);
    const failing = await harness.post(route, { body: STREAMED_CHAT });
    let received = "";
    const ending = await (async () => {
      for await (const chunk of failing.body as ReadableStream<Uint8Array>)
        received += Buffer.from(chunk).toString();
    })().then(
      () => "ended",
      () => "cut",
    );
    expect([received, ending]).toEqual(["data: one\n\n", "cut"]);
    harness.provider.behave({});
    expect((await harness.post(route)).status).toBe(200);
  });

  test("cannot add a body to a response without one", async () => {
    harness.provider.behave({ status: 204, body: "" });
    const response = await harness.call([scripted("pre_response", `context.replaceChunk("added")`)]);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });
});

describe("post_response", () => {
  const REPORT = (
    name: string,
  ) => `host.log("info", "${name}", { status: context.status, outcome: context.outcome,
    seen_by: context.provider, model: context.model, tries: context.attempts, whole: context.durationMs,
    first: context.firstByteMs, address: context.clientAddress, used: context.usage, id: context.requestId })`;

  async function ended(
    plugins: readonly Fields[],
    call: ChatCall = {},
    fields: Parameters<typeof harness.call>[2] = {},
  ): Promise<ApiResponse["body"]> {
    const name = crypto.randomUUID();
    const response = await harness.call([...plugins, scripted("post_response", REPORT(name))], call, fields);
    await response.text();
    const line = await logged(harness.gatehouse, name);
    expect(line.id).toBe(response.headers.get("x-request-id"));
    expect(line.address).toBe("127.0.0.1");
    expect(line.whole).toBeGreaterThan(0);
    return line;
  }

  test("reads status, outcome and timings of a whole response and of a stream", async () => {
    harness.provider.behave({ delayMs: 30 });
    const expected = { status: 200, outcome: "complete", seen_by: "openai", model: "gpt-fake", tries: 1 };
    const whole = await ended([]);
    expect(whole).toMatchObject(expected);
    expect(whole.first).toBeGreaterThanOrEqual(25);
    expect(whole.whole).toBeGreaterThanOrEqual(whole.first);
    harness.provider.behave({ chunkDelayMs: 15 });
    const stream = await ended([], { body: STREAMED_CHAT });
    expect(stream).toMatchObject(expected);
    expect(stream.whole - stream.first).toBeGreaterThan(15);
  });

  test("reads the usage that the provider reported, of a whole response and of a stream", async () => {
    harness.provider.behave({ usage: { input: 11, output: 7 } });
    const used = { inputTokens: 11, outputTokens: 7, isPartial: false };
    expect((await ended([])).used).toMatchObject(used);
    expect((await ended([], { body: STREAMED_CHAT })).used).toMatchObject(used);
    const counted = { ...STREAMED_CHAT, stream_options: { include_usage: true } };
    expect((await ended([], { body: counted })).used).toMatchObject(used);
    expect((await ended([scripted("pre_request", "context.respond({ status: 418 })")])).used).toBeNull();
  });

  test("sees the status that a plugin set, the response of a plugin, and an error of the gateway", async () => {
    expect(await ended([scripted("post_request", "context.setStatus(203)")])).toMatchObject({ status: 203 });
    const responded = await ended([scripted("pre_request", "context.respond({ status: 418 })")]);
    expect(responded).toMatchObject({
      status: 418,
      outcome: "refused",
      seen_by: null,
      tries: 0,
      first: null,
    });
    harness.provider.behave({ closeBeforeAnswer: true });
    expect(await ended([])).toMatchObject({ status: 502, outcome: "failed" });
  });

  test("sees a stream that the provider cut, and a client that disconnected", async () => {
    const name = crypto.randomUUID();
    const route = await harness.seed([scripted("post_response", REPORT(name))]);
    harness.provider.behave({ cutAfterChunks: 2, chunkDelayMs: 5 });
    await (await harness.post(route, { body: STREAMED_CHAT })).text().catch(() => undefined);
    expect(await logged(harness.gatehouse, name, { outcome: "incomplete" })).toMatchObject({ status: 200 });
    harness.provider.behave({ stallAfterChunks: 1 });
    const abort = new AbortController();
    const response = await fetch(harness.gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(STREAMED_CHAT),
      signal: abort.signal,
    });
    const reader = response.body!.getReader();
    await reader.read();
    abort.abort();
    await reader.read().catch(() => undefined);
    await logged(harness.gatehouse, name, { outcome: "client_left" });
  });

  test("if the client disconnects while a plugin waits, no request is sent and no target fails", async () => {
    const name = crypto.randomUUID();
    const route = await harness.seed([
      scripted("pre_request", asynchronous(`await fetch("${gate.url}")`)),
      scripted("post_response", REPORT(name)),
    ]);
    harness.provider.reset();
    const client = await connectRaw(Number(new URL(harness.gatehouse.proxyUrl).port));
    client.send(rawRequest(route.path, CHAT));
    await gate.untilArrived(1);
    client.disconnect(true);
    // A gateway that responds to a later request has noticed the disconnect.
    await fetch(`${harness.gatehouse.proxyUrl}/healthz`);
    gate.open();
    await logged(harness.gatehouse, name, { outcome: "client_left", tries: 0 });
    expect(harness.provider.requests).toEqual([]);
    const { body } = await harness.gatehouse.api(
      "GET",
      `/gateways/${route.gateway}/upstreams/${route.upstream}/health`,
    );
    expect(body.targets).toMatchObject([{ state: "healthy", failures: 0 }]);
  });

  test("does not delay the response, and its failures are only logged", async () => {
    const slow = scripted(
      "post_response",
      asynchronous(`await fetch("${gate.url}"); throw new Error("slow and wrong")`),
    );
    const route = await harness.seed([slow]);
    const response = await harness.post(route);
    await response.text();
    expect(response.status).toBe(200);
    const id = response.headers.get("x-request-id");
    const isLogged = () =>
      logRecords(harness.gatehouse).some((line) => line.request_id === id && line.msg === "plugin failed");
    expect(isLogged()).toBe(false);
    gate.open();
    await waitUntil(() => isLogged());
  });

  test("still knows the client's address after the connection is closed", async () => {
    const name = crypto.randomUUID();
    const code = asynchronous(
      `await fetch("${gate.url}"); host.log("info", "${name}", { address: context.clientAddress })`,
    );
    const route = await harness.seed([scripted("post_response", code)]);
    // Closes its connection after the response.
    await rawJson(harness.gatehouse.proxyUrl, route.path, CHAT);
    gate.open();
    expect((await logged(harness.gatehouse, name)).address).toBe("127.0.0.1");
  });
});
