// Targets with Gemini's format: chat and messages clients are translated, Gemini's own clients are passed through.
import { describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { CHAT, onlyRequest, rawJson, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();
const CREDENTIALS = { header_name: "x-goog-api-key", header_value: "AIza-target" };

/** Creates a rule for all paths below a prefix that leads to one Gemini target. */
async function api(target: object = {}, upstream: object = {}) {
  const prefix = `/api-${crypto.randomUUID()}`;
  const targets = [
    targetAt(provider, { provider: "google", format: "gemini", credentials: CREDENTIALS, ...target }),
  ];
  const route = await seedRoute(gatehouse, {
    upstream: { targets, max_attempts: 1, ...upstream },
    rule: { path: `${prefix}/*`, methods: ["*"] },
  });
  return { prefix, gateway: route.gateway, route };
}

const post = (path: string, body: unknown, headers: readonly HeaderPair[] = []) =>
  rawJson(gatehouse.proxyUrl, path, body, headers);
const GEMINI_CHAT = { ...CHAT, model: "gemini-2.5-flash" };

describe("chat clients", () => {
  test("get chat completions; the path names the model, and the query is not forwarded", async () => {
    const { prefix } = await api();
    const response = await post(`${prefix}/v1/chat/completions?beta=true`, { ...GEMINI_CHAT, max_tokens: 9 });
    expect(response.status).toBe(200);
    expect(response.json()).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { role: "assistant" }, finish_reason: "stop" }],
    });
    const sent = onlyRequest(provider);
    expect(sent.target).toBe("/v1beta/models/gemini-2.5-flash:generateContent");
    expect(sent.header("x-goog-api-key")).toBe("AIza-target");
    expect(sent.json()).toEqual({
      contents: [{ role: "user", parts: [{ text: "Good morning" }] }],
      generationConfig: { maxOutputTokens: 9 },
    });
  });

  test("get complete streams", async () => {
    const { prefix } = await api();
    provider.behave({ usage: { input: 100, output: 50, cached: 40, reasoning: 30 } });
    const body = { ...GEMINI_CHAT, stream: true, stream_options: { include_usage: true } };
    const response = await post(`${prefix}/v1/chat/completions`, body);
    expect(onlyRequest(provider).target).toBe(
      "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    );
    const text = response.body.toString();
    expect(text).toContain('"finish_reason":"stop"');
    expect(text).toContain('"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150');
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("never get a clean end of a stream that was cut", async () => {
    const { prefix } = await api();
    provider.behave({ chunks: 6, cutAfterChunks: 3 });
    const response = await post(`${prefix}/v1/chat/completions`, { ...GEMINI_CHAT, stream: true });
    expect(response.body.toString()).not.toContain("[DONE]");
    expect(response.body.toString()).not.toContain('"finish_reason":"stop"');
  });

  test.each([
    [200, "text/event-stream", 502],
    [200, "application/json", 502],
    [500, "application/json", 500],
  ])("get an error for an empty body: %i %s", async (status, type, expected) => {
    const { prefix } = await api();
    provider.behave({ status, body: "", headers: [["Content-Type", type]] });
    const response = await post(`${prefix}/v1/chat/completions`, { ...GEMINI_CHAT, stream: true });
    expect(response.status).toBe(expected);
    expect(response.json()).toHaveProperty("error");
  });

  test("get errors in their format", async () => {
    const { prefix } = await api();
    provider.behave({ status: 429 });
    const response = await post(`${prefix}/v1/chat/completions`, GEMINI_CHAT);
    expect(response.status).toBe(429);
    expect(response.json()).toMatchObject({
      error: { type: "rate_limit_error", code: "rate_limit_exceeded" },
    });
  });

  test("get an error that has the content type of a stream", async () => {
    const { prefix } = await api();
    provider.behave({
      status: 429,
      body: JSON.stringify({
        error: { code: 429, message: "Quota exceeded.", status: "RESOURCE_EXHAUSTED" },
      }),
      headers: [["Content-Type", "text/event-stream"]],
    });
    const response = await post(`${prefix}/v1/chat/completions`, { ...GEMINI_CHAT, stream: true });
    expect([response.status, response.header("content-type")]).toEqual([429, "application/json"]);
    expect(response.json()).toMatchObject({ error: { message: "Quota exceeded." } });
  });

  test("get Retry-After where Gemini says in the body when to retry", async () => {
    const { prefix } = await api();
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" }];
    const error = { code: 429, message: "Quota exceeded.", status: "RESOURCE_EXHAUSTED", details };
    provider.behave({ status: 429, body: JSON.stringify({ error }) });
    const response = await post(`${prefix}/v1/chat/completions`, GEMINI_CHAT);
    expect([response.status, response.header("retry-after")]).toEqual([429, "35"]);
    provider.behave({ status: 429, body: JSON.stringify({ error }), headers: [["Retry-After", "7"]] });
    expect((await post(`${prefix}/v1/chat/completions`, GEMINI_CHAT)).header("retry-after")).toBe("7");
  });

  test("get 400 untranslatable for a model that cannot be part of a path", async () => {
    const { prefix } = await api();
    for (const model of ["..", ".", "models/..", "a\ud800"]) {
      const response = await post(`${prefix}/v1/chat/completions`, { ...CHAT, model });
      expect([response.status, response.json().code]).toEqual([400, "untranslatable"]);
    }
    expect(provider.requests).toEqual([]);
    await post(`${prefix}/v1/chat/completions`, { ...CHAT, model: "a/../../b?c" });
    expect(onlyRequest(provider).target).toBe("/v1beta/models/a%2F..%2F..%2Fb%3Fc:generateContent");
  });

  test("whose key allows the model may use it, and no other", async () => {
    const { prefix, gateway } = await api();
    const { key } = await seedKey(gatehouse, gateway, { models: ["gemini-2.5-flash"] });
    const headers: HeaderPair[] = [["X-GW-API-Key", key]];
    expect((await post(`${prefix}/v1/chat/completions`, GEMINI_CHAT, headers)).status).toBe(200);
    const refused = await post(`${prefix}/v1/chat/completions`, CHAT, headers);
    expect([refused.status, refused.json().code]).toEqual([403, "model_not_allowed"]);
  });

  test("reach a configured path with the model in it", async () => {
    const { prefix } = await api({ path: "/v1beta/models/{model}:generateContent" });
    await post(`${prefix}/chat`, { ...GEMINI_CHAT, stream: true });
    expect(onlyRequest(provider).target).toBe(
      "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    );
  });
});

describe("messages clients", () => {
  const MESSAGES = { model: "gemini-2.5-flash", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };

  test("get messages, streams and errors", async () => {
    const { prefix } = await api();
    const send = (body: object) => post(`${prefix}/v1/messages`, { ...MESSAGES, ...body });
    expect((await send({})).json()).toMatchObject({ type: "message", stop_reason: "end_turn" });
    const stream = (await send({ stream: true })).body.toString();
    expect(stream).toStartWith("event: message_start\n");
    expect(stream).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n');
    provider.behave({ status: 503 });
    expect((await send({})).json()).toMatchObject({ type: "error", error: { type: "overloaded_error" } });
  });
});

describe("Gemini's own clients", () => {
  test("are passed through unchanged, and their tokens are counted", async () => {
    const { prefix, route } = await api();
    provider.behave({ usage: { input: 100, output: 50, reasoning: 20 } });
    const body = { contents: [{ parts: [{ text: "Hi" }] }], generationConfig: { topK: 3 } };
    const path = `${prefix}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`;
    const response = await post(path, body);
    const sent = onlyRequest(provider);
    expect(sent.target).toBe("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    expect(sent.json()).toEqual(body);
    expect(response.body.toString()).toContain('"usageMetadata"');
    expect(response.body.toString()).not.toContain("[DONE]");
    expect(await totalAfter(gatehouse, route, 1)).toMatchObject({ input_tokens: 100, output_tokens: 50 });
  });

  test("reach a google target without a format, too", async () => {
    const { prefix } = await api({ format: null });
    await post(`${prefix}/v1beta/models/gemini-2.5-flash:countTokens`, { contents: [] });
    expect(onlyRequest(provider).target).toBe("/v1beta/models/gemini-2.5-flash:countTokens");
  });

  test("the model in the path decides, not one in the body", async () => {
    const { prefix, gateway } = await api({ models: ["gemini-2.5-flash"] }, { model_routing: "require" });
    const path = (model: string) => `${prefix}/v1beta/models/${model}:generateContent?a=b`;
    const body = { model: "gemini-2.5-flash", contents: [{ parts: [{ text: "Hi" }] }] };
    const refused = await post(path("gemini-3-pro"), body);
    expect([refused.status, refused.json().code]).toEqual([404, "model_not_found"]);
    const { key } = await seedKey(gatehouse, gateway, { models: ["gemini-3-pro"] });
    const forbidden = await post(path("gemini-2.5-flash"), body, [["X-GW-API-Key", key]]);
    expect([forbidden.status, forbidden.json().code]).toEqual([403, "model_not_allowed"]);
    expect(provider.requests).toEqual([]);
    expect((await post(path("gemini%2D2.5-flash"), body)).status).toBe(200);
    const sent = onlyRequest(provider);
    expect(sent.target).toBe("/v1beta/models/gemini-2.5-flash:generateContent?a=b");
    expect(sent.json()).toEqual(body);
  });

  test("get the default model of the target if it does not serve theirs, and the upstream prefers models", async () => {
    const target = { models: ["gemini-a"], default_model: "gemini-b" };
    const { prefix } = await api(target, { model_routing: "prefer" });
    await post(`${prefix}/v1beta/models/gemini-c:streamGenerateContent`, { contents: [] });
    expect(onlyRequest(provider).target).toBe("/v1beta/models/gemini-b:streamGenerateContent");
  });

  test("do not reach targets of other formats", async () => {
    const { prefix } = await api({ provider: "openai", format: null });
    const response = await post(`${prefix}/v1beta/models/m:generateContent`, { contents: [] });
    expect([response.status, response.json().code]).toEqual([404, "operation_not_supported"]);
  });
});

describe("64-bit numbers in arguments of tool calls stay as they are", () => {
  const ID = "1234567890123456789";
  const ARGUMENTS = `{"id":${ID}}`;
  const USER = { role: "user", content: "Close the ticket." };
  const CHAT_PATH = "/v1/chat/completions";
  const MESSAGES_PATH = "/v1/messages";

  const chat = { model: "m", messages: [USER] };
  const messages = { model: "m", max_tokens: 50, messages: [USER] };
  const chatCall = { type: "function", id: "c", function: { name: "f", arguments: ARGUMENTS } };
  const toolUse = `{"type":"tool_use","id":"c","name":"f","input":${ARGUMENTS}}`;
  const geminiCall = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${ARGUMENTS}}}]},"finishReason":"STOP"}]}`;
  const EVENTS: HeaderPair[] = [["Content-Type", "text/event-stream"]];

  test.each([
    ["chat", "anthropic", chat, `{"type":"message","content":[${toolUse}],"stop_reason":"tool_use"}`],
    ["chat", "gemini", chat, geminiCall],
    ["streaming chat", "gemini", { ...chat, stream: true }, `data: ${geminiCall}\n\n`],
    ["messages", "openai", messages, JSON.stringify({ choices: [{ message: { tool_calls: [chatCall] } }] })],
  ])("in responses to %s clients of %s targets", async (_, format, request, body) => {
    provider.behave({ body, ...(body.startsWith("data") && { headers: EVENTS }) });
    const { prefix } = await api({ format });
    const response = await post(prefix + (request === messages ? MESSAGES_PATH : CHAT_PATH), request);
    expect(response.body.toString()).toContain(ID);
  });

  const result = { type: "tool_result", tool_use_id: "c", content: "Done." };
  const asMessages = `{"model":"m","max_tokens":50,"messages":[${JSON.stringify(USER)},{"role":"assistant","content":[${toolUse}]},${JSON.stringify({ role: "user", content: [result] })}]}`;
  const asChat = JSON.stringify({
    model: "m",
    messages: [
      USER,
      { role: "assistant", content: null, tool_calls: [chatCall] },
      { role: "tool", tool_call_id: "c", content: "Done." },
    ],
  });

  test.each([
    ["chat", "anthropic", asChat],
    ["chat", "gemini", asChat],
    ["messages", "openai", asMessages],
    ["messages", "gemini", asMessages],
  ])("in requests of %s clients to %s targets", async (client, format, body) => {
    const { prefix } = await api({ format });
    await post(prefix + (client === "chat" ? CHAT_PATH : MESSAGES_PATH), body);
    expect(onlyRequest(provider).body.toString()).toContain(ID);
  });
});
