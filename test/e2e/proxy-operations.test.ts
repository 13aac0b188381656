// Operations: one rule for a whole API, whose targets have no `path`. Each request goes to the provider's endpoint for it.
import { describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { CHAT, onlyRequest, rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const other = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

const MESSAGES = { model: "claude-fake", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };

/** Creates a rule for all paths below a prefix, and returns the prefix. */
async function api(
  targets: readonly Record<string, unknown>[],
  { rule = {}, upstream = {} }: { rule?: object; upstream?: object } = {},
): Promise<string> {
  const prefix = `/api-${crypto.randomUUID()}`;
  await seedRoute(gatehouse, {
    upstream: { targets, max_attempts: 1, ...upstream },
    rule: { path: `${prefix}/*`, methods: ["*"], ...rule },
  });
  return prefix;
}

const call = (target: string, method: string) => rawCall(gatehouse.proxyUrl, { method, target });
const post = (path: string, body: unknown) => rawJson(gatehouse.proxyUrl, path, body);

describe("a target without a path gets each operation at the provider's endpoint", () => {
  const OPENAI_ENDPOINTS = [
    "/chat/completions",
    "/completions",
    "/embeddings",
    "/moderations",
    "/images/generations",
    "/images/edits",
    "/audio/speech",
    "/audio/transcriptions",
  ];

  test.each(OPENAI_ENDPOINTS)("%s of openai", async (end) => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    await post(`${prefix}/v1${end}`, CHAT);
    expect(onlyRequest(provider).target).toBe(`/v1${end}`);
  });

  test.each([
    ["groq", "/v1/chat/completions", "/openai/v1/chat/completions"],
    ["azure", "/openai/deployments/d/embeddings", "/openai/v1/embeddings"],
    ["deepseek", "/v1/chat/completions", "/chat/completions"],
    ["deepseek", "/v1/messages", "/anthropic/v1/messages"],
    ["cohere", "/v1/rerank", "/v2/rerank"],
    ["anthropic", "/v1/messages/count_tokens", "/v1/messages/count_tokens"],
    ["something-else", "/anything/v1/rerank", "/v1/rerank"],
  ])("%s: %s goes to %s", async (name, sent, expected) => {
    const prefix = await api([targetAt(provider, { provider: name })]);
    await post(prefix + sent, CHAT);
    expect(onlyRequest(provider).target).toBe(expected);
  });

  test("strip_path does not change the endpoint, and the query is kept", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })], { rule: { strip_path: true } });
    await post(`${prefix}/v1/embeddings?a=b`, { model: "m", input: "x" });
    expect(onlyRequest(provider).target).toBe("/v1/embeddings?a=b");
  });

  test("a chat request to a path that names no operation goes to the chat endpoint", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    expect((await post(`${prefix}/ask`, CHAT)).status).toBe(200);
    expect(onlyRequest(provider).target).toBe("/v1/chat/completions");
  });

  test("a rule for one path that names no operation leads to the chat endpoint, whatever the body", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "openai" })] },
    });
    await post(path, { prompt: "Hi" });
    expect(onlyRequest(provider).target).toBe("/v1/chat/completions");
  });

  test("a target with a path gets every request there, as before", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai", path: "/fixed" })]);
    await post(`${prefix}/v1/embeddings`, { input: "x" });
    expect(onlyRequest(provider).target).toBe("/fixed");
  });

  test("a target with an empty path gets the path of the request, as before", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai", path: "" })]);
    await call(`${prefix}/v1/files`, "GET");
    expect(onlyRequest(provider).target).toBe(`${prefix}/v1/files`);
  });
});

describe("operations that a provider does not have", () => {
  test("go to the targets that have them", async () => {
    const targets = [targetAt(provider, { provider: "anthropic" }), targetAt(other, { provider: "openai" })];
    const prefix = await api(targets);
    for (let request = 0; request < 4; request++)
      await post(`${prefix}/v1/embeddings`, { model: "m", input: "x" });
    expect([provider.requests.length, other.requests.length]).toEqual([0, 4]);
  });

  test("are 404 operation_not_supported with operation and providers if no target has them", async () => {
    const targets = [
      targetAt(provider, { provider: "anthropic" }),
      targetAt(other, { provider: "perplexity" }),
    ];
    const prefix = await api(targets);
    const response = await post(`${prefix}/v1/embeddings`, { model: "m", input: "x" });
    expect(response.status).toBe(404);
    expect(response.json()).toMatchObject({ code: "operation_not_supported" });
    expect(response.json().error).toContain('"embeddings"');
    expect(response.json().error).toContain("anthropic, perplexity");
    expect([...provider.requests, ...other.requests]).toEqual([]);
  });
});

describe("operations that show or change what others store in the provider's account", () => {
  const STORED = [
    ["files", "GET", "/v1/files"],
    ["batches", "GET", "/v1/batches"],
    ["fine_tuning", "POST", "/v1/fine_tuning/jobs"],
    ["models", "DELETE", "/v1/models/my-model"],
    ["models", "POST", "/v1/models/my-model/versions"],
    ["responses", "GET", "/v1/responses"],
    // Lists the chat completions that any client has stored.
    ["other", "GET", "/v1/chat/completions"],
    ["other", "PUT", "/v1/embeddings"],
    ["other", "GET", "/v1/vector_stores"],
    ["other", "POST", "/v1/threads/t/messages"],
    ["other", "DELETE", "/v1/organization/users/u"],
  ] as const;

  test.each(["/v1/files/", "/v1/%66iles", "/v1/FILES/file-1", "/v1/responses/resp_1/"])(
    "%s is 403 even if the rule lists other",
    async (end) => {
      const targets = [targetAt(provider, { provider: "openai" })];
      const prefix = await api(targets, { rule: { operations: ["other"], strip_path: true } });
      const refused = await call(prefix + end, "GET");
      expect([refused.status, refused.json().code]).toEqual([403, "operation_not_allowed"]);
      expect(provider.requests).toEqual([]);
    },
  );

  test.each(STORED)("%s (%s %s) is 403 unless the rule lists it", async (operation, method, end) => {
    const targets = [targetAt(provider, { provider: "openai" })];
    const refused = await call((await api(targets)) + end, method);
    expect([refused.status, refused.json().code]).toEqual([403, "operation_not_allowed"]);
    expect(refused.json().error).toContain(`"${operation}"`);
    expect(provider.requests).toEqual([]);
    const listed = await api(targets, { rule: { operations: [operation], strip_path: true } });
    await call(listed + end, method);
    expect(onlyRequest(provider).target).toBe(end);
  });
});

describe("the gateway itself describes models", () => {
  const targets = [
    targetAt(provider, { provider: "openai", models: ["gpt-a", "org/gpt-b"] }),
    targetAt(other, { provider: "anthropic", default_model: "claude-c" }),
  ];

  test("as a list in OpenAI's shape, and one by its id", async () => {
    const prefix = await api(targets);
    const list = await call(`${prefix}/v1/models`, "GET");
    expect(list.json()).toMatchObject({ object: "list", data: [{ id: "gpt-a", object: "model" }, {}, {}] });
    const one = await call(`${prefix}/v1/models/org%2Fgpt-b`, "GET");
    expect(one.json()).toMatchObject({ id: "org/gpt-b", object: "model", owned_by: "openai" });
    const absent = await call(`${prefix}/v1/models/GPT-A`, "GET");
    expect([absent.status, absent.json().code]).toEqual([404, "model_not_found"]);
    expect([...provider.requests, ...other.requests]).toEqual([]);
  });

  test("also without their body, for HEAD", async () => {
    const prefix = await api([targetAt(provider, { models: ["one"] })]);
    const found = await call(`${prefix}/v1/models/one`, "HEAD");
    const missing = await call(`${prefix}/v1/models/other`, "HEAD");
    expect([found.status, missing.status, provider.requestCount]).toEqual([200, 404, 0]);
  });

  test("in Anthropic's shape if anthropic-version is sent", async () => {
    const prefix = await api(targets);
    const headers: HeaderPair[] = [["anthropic-version", "2023-06-01"]];
    const get = (end: string) =>
      rawCall(gatehouse.proxyUrl, { method: "GET", target: prefix + end, headers });
    expect((await get("/v1/models")).json()).toMatchObject({
      data: [{ type: "model", id: "gpt-a", display_name: "gpt-a" }, {}, { id: "claude-c" }],
      has_more: false,
      first_id: "gpt-a",
      last_id: "claude-c",
    });
    expect((await get("/v1/models/claude-c")).json()).toMatchObject({ type: "model", id: "claude-c" });
  });
});

describe("the response has the format of the request", () => {
  test("chat at an anthropic target, errors and streams included", async () => {
    const prefix = await api([targetAt(provider, { provider: "anthropic" })]);
    const chat = `${prefix}/v1/chat/completions`;
    expect((await post(chat, CHAT)).json()).toMatchObject({ object: "chat.completion" });
    expect(onlyRequest(provider).target).toBe("/v1/messages");
    const stream = await post(chat, { ...CHAT, stream: true });
    expect(stream.body.toString()).toEndWith("data: [DONE]\n\n");
    provider.behave({ status: 400 });
    const error = await post(chat, CHAT);
    expect(error.status).toBe(400);
    expect(error.json()).toMatchObject({ error: { type: "invalid_request_error", param: null } });
    provider.behave({});
  });

  test("messages at an openai target, errors and streams included", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    const path = `${prefix}/v1/messages?beta=true`;
    const headers: HeaderPair[] = [
      ["anthropic-version", "2023-06-01"],
      ["anthropic-beta", "some-beta"],
    ];
    const send = (body: unknown) => rawJson(gatehouse.proxyUrl, path, body, headers);
    expect((await send(MESSAGES)).json()).toMatchObject({ type: "message", role: "assistant" });
    const sent = onlyRequest(provider);
    expect(sent.target).toBe("/v1/chat/completions");
    expect(sent.json()).toMatchObject({ model: "claude-fake", messages: [{ role: "user", content: "Hi" }] });
    expect([sent.header("anthropic-version"), sent.header("anthropic-beta")]).toEqual([undefined, undefined]);
    const stream = await send({ ...MESSAGES, stream: true });
    expect(stream.body.toString()).toStartWith("event: message_start\n");
    expect(stream.body.toString()).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n');
    provider.behave({ status: 429, headers: [["retry-after", "7"]] });
    const error = await send(MESSAGES);
    expect([error.status, error.header("retry-after")]).toEqual([429, "7"]);
    expect(error.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
    provider.behave({});
  });

  test("responses at an anthropic target; one that refers to a stored response is refused", async () => {
    const prefix = await api([targetAt(provider, { provider: "anthropic" })]);
    const path = `${prefix}/v1/responses`;
    const response = await post(path, { model: "claude-fake", input: "Hi" });
    expect(response.json()).toMatchObject({ object: "response", status: "completed", store: false });
    expect(onlyRequest(provider).target).toBe("/v1/messages");
    const stored = await post(path, { model: "claude-fake", input: "Hi", previous_response_id: "resp_1" });
    expect([stored.status, stored.json().code]).toEqual([400, "stateless_responses"]);
  });

  test("reasoning of another format is not sent to a target that would reject it", async () => {
    const targets = [
      targetAt(provider, { provider: "anthropic", models: ["claude-fake"] }),
      targetAt(other, { provider: "openai", models: ["gpt-fake"] }),
    ];
    const prefix = await api(targets, { upstream: { model_routing: "require" } });
    const content = [
      { type: "redacted_thinking", data: "gw1.abc" },
      { type: "thinking", thinking: "Hm.", signature: "gw1.unsigned" },
      { type: "thinking", thinking: "Own.", signature: "c2lnbmVk" },
      { type: "text", text: "Hello." },
    ];
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", content },
      { role: "user", content: "gw1." },
    ];
    const response = await post(`${prefix}/v1/messages`, { ...MESSAGES, messages });
    expect(response.status).toBe(200);
    expect(response.header("x-gw-translated")).toBe("dropped=reasoning");
    const sent = [messages[0], { role: "assistant", content: content.slice(2) }, messages[2]];
    expect(onlyRequest(provider).json()).toEqual({ ...MESSAGES, messages: sent });
    provider.reset();
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gw1.abc" };
    const input = [{ role: "user", content: "Hi" }, reasoning];
    await post(`${prefix}/v1/responses`, { model: "gpt-fake", input });
    expect(onlyRequest(other).json()).toEqual({ model: "gpt-fake", input: [input[0]] });
  });

  test("equal formats: bytes in, bytes out", async () => {
    const prefix = await api([targetAt(provider, { provider: "anthropic" })]);
    const body = `{ "max_tokens":9,\n "messages":[{"role":"user","content":"\\u0048i"}], "model": "claude-fake" }`;
    const response = await rawCall(gatehouse.proxyUrl, {
      target: `${prefix}/v1/messages`,
      headers: [["content-type", "application/json"]],
      body,
    });
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
    expect(response.json()).toMatchObject({ type: "message" });
  });

  test("fields that the target's format lacks are listed in X-GW-Translated", async () => {
    const prefix = await api([targetAt(provider, { provider: "anthropic" })]);
    const response = await post(`${prefix}/v1/chat/completions`, { ...CHAT, seed: 1, logit_bias: { 1: 2 } });
    expect(response.header("x-gw-translated")).toBe("dropped=seed,logit_bias");
    const unchanged = await post(`${prefix}/v1/messages`, MESSAGES);
    expect(unchanged.header("x-gw-translated")).toBeUndefined();
  });

  test("a chat request with max_tokens is translated at the chat path, although its body could be a messages request", async () => {
    const prefix = await api([targetAt(provider, { provider: "anthropic" })]);
    const options = { temperature: 0.3, metadata: { team: "search" }, service_tier: "flex", unknown: 1 };
    const body = { ...CHAT, model: "claude-opus-4-7", max_tokens: 9, ...options };
    const response = await post(`${prefix}/v1/chat/completions`, body);
    expect(onlyRequest(provider).json()).toEqual({
      model: body.model,
      max_tokens: 9,
      messages: CHAT.messages,
    });
    expect(response.header("x-gw-translated")).toBe("dropped=metadata,service_tier,unknown,temperature");
  });

  test("a messages request at the chat path is recognized by what only Anthropic's format has", async () => {
    const prefix = await api([targetAt(provider, { provider: "anthropic" })]);
    const body = { ...MESSAGES, system: "Be brief." };
    const response = await post(`${prefix}/v1/chat/completions`, body);
    expect(onlyRequest(provider).json()).toEqual(body);
    expect(response.json()).toMatchObject({ object: "chat.completion" });
  });
});

describe("an error of a translation names the field as the client does", () => {
  const document = { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } };
  const item = { type: "function_call", call_id: "c1", name: "f", arguments: "{" };
  const cases = [
    {
      target: { provider: "openai", format: "openai" },
      path: "/v1/messages",
      body: { ...MESSAGES, system: "Be brief.", messages: [{ role: "user", content: [document] }] },
      field: "messages[0]",
    },
    {
      target: { provider: "openai", format: "responses" },
      path: "/v1/messages",
      // More than the gateway searches.
      body: { ...MESSAGES, stop_sequences: new Array(65).fill("END") },
      field: "stop_sequences",
    },
    {
      target: { provider: "google", format: "gemini" },
      path: "/v1/responses",
      body: {
        model: "gemini-3-pro",
        instructions: "Be brief.",
        input: [{ role: "user", content: "Hi" }, item],
      },
      field: "input[1]",
    },
    {
      target: { provider: "google", format: "gemini" },
      path: "/v1/responses",
      body: {
        model: "gemini-3-pro",
        input: [{ role: "user", content: "Hi" }, { ...item, call_id: "c0", arguments: "{}" }, item],
      },
      field: "input[2]",
    },
    {
      target: { provider: "google", format: "gemini" },
      path: "/v1/responses",
      body: { model: "gemini-3-pro", input: [] },
      field: "input",
    },
  ];
  test.each(cases)("$path at $target.format: $field", async ({ target, path, body, field }) => {
    const rule = { error_format: "auto" };
    const response = await post((await api([targetAt(provider, target)], { rule })) + path, body);
    const { error } = response.json();
    expect([response.status, error.code]).toEqual([400, "untranslatable"]);
    expect(path === "/v1/messages" ? error.message : error.param).toContain(field);
    expect(error.message).not.toMatch(/tool_calls|\bstop\b|messages\[1\]|system input/);
    expect(provider.requestCount).toBe(0);
  });
});

describe("the default model of a target", () => {
  const fields = { default_model: "default" };

  test.each([
    ["openai", "/v1/batches", { endpoint: "/v1/chat/completions", completion_window: "24h" }],
    ["anthropic", "/v1/messages/batches", { requests: [] }],
    ["openai", "/v1/fine_tuning/jobs", { suffix: "mine" }],
    ["openai", "/v1/vector_stores", { name: "docs" }],
  ])("is not added at %s%s, whose requests have none", async (name, path, body) => {
    const rule = { operations: ["fine_tuning", "other"] };
    await post((await api([targetAt(provider, { provider: name, ...fields })], { rule })) + path, body);
    expect(onlyRequest(provider).json()).toEqual(body);
  });

  test("is added at a target with a path of its own, also beside one without", async () => {
    const own = targetAt(provider, { ...fields, path: "", priority: 1 });
    const rule = { operations: ["other"] };
    const without = targetAt(other, { ...fields, priority: 2 });
    await post(`${await api([own, without], { rule })}/v1/vector_stores`, { name: "docs" });
    expect(onlyRequest(provider).json()).toEqual({ name: "docs", model: "default" });
  });

  test.each([
    ["/v1/chat/completions", { messages: CHAT.messages }],
    ["/v1/moderations", { input: "Hi" }],
  ])("is added at %s", async (path, body) => {
    await post((await api([targetAt(provider, fields)])) + path, body);
    expect(onlyRequest(provider).json()).toEqual({ ...body, model: "default" });
  });
});

describe("embeddings", () => {
  test("balancing and failover never change the model", async () => {
    const targets = [
      targetAt(provider, { provider: "openai", models: ["one"], default_model: "one" }),
      targetAt(other, { provider: "openai", models: ["two"], default_model: "two" }),
    ];
    const prefix = await api(targets, { upstream: { max_attempts: 3 } });
    provider.behave({ status: 503 });
    const response = await post(`${prefix}/v1/embeddings`, { model: "one", input: "x" });
    expect(response.status).toBe(503);
    expect(other.requests).toEqual([]);
    provider.behave({});
    const unknown = await post(`${prefix}/v1/embeddings`, { model: "three", input: "x" });
    expect([unknown.status, unknown.json().code]).toEqual([404, "model_not_found"]);
  });
});

test('methods ["*"] matches every method', async () => {
  const prefix = await api([targetAt(provider, { provider: "openai", path: "" })]);
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
    expect([method, (await call(`${prefix}/x`, method)).status]).not.toEqual([method, 405]);
  expect(provider.requests.map((request) => request.method)).toContain("PATCH");
});

describe("explain", () => {
  const explain = async (gateway: string, path: string, body: unknown) =>
    (await gatehouse.api("POST", `/gateways/${gateway}/explain`, { path, body })).body;

  test("shows the operation, the translation, and what the target's format lacks", async () => {
    const { gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: "/v1/*", methods: ["*"] },
    });
    const chat = await explain(gateway, "/v1/chat/completions", { ...CHAT, seed: 1 });
    expect(chat.operation).toBe("chat");
    expect(chat.upstream_request.url).toEndWith("/v1/messages");
    expect(chat.upstream_request.translation).toEqual({
      request_format: "openai",
      target_format: "anthropic",
      response_format: "openai",
      dropped: ["seed"],
    });
    const messages = await explain(gateway, "/v1/messages", MESSAGES);
    expect([messages.operation, messages.upstream_request.translation]).toEqual(["messages", null]);
  });

  test("says which targets lack the operation", async () => {
    const { gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: "/v1/*", methods: ["*"] },
    });
    const { answer, targets } = await explain(gateway, "/v1/embeddings", { model: "m", input: "x" });
    expect(answer).toMatchObject({ status: 404, code: "operation_not_supported" });
    expect(targets[0].reason).toBe("anthropic does not have the operation embeddings");
  });
});
