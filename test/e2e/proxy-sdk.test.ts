// The official client libraries through the gateway, with a changed base URL and key: chats, streams, tools, errors.
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { onlyRequest, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();

const GREETING = 'Hello from Ada. You said: "Good morning".';
const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" }, days: { type: "integer" }, unit: { enum: ["C", "F"] } },
};
const ARGUMENTS = { city: "some city", days: 42, unit: "C" };

const SECRET = "sk-of-the-target-0123456789";

/** Creates a gateway with a key and a rule for the path that the client library requests. The rule requires the key. */
async function gatewayKey(
  path: string,
  target: Record<string, unknown>,
  rule: Record<string, unknown> = {},
): Promise<{ key: string; gateway: string }> {
  const { gateway } = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, target)], max_attempts: 1 },
    rule: { path, require_api_key: true, ...rule },
  });
  return { gateway, key: (await seedKey(gatehouse, gateway)).key };
}

/** Resolves to the error that a call throws. The promises of the clients are lazy: only `await` sends the request. */
async function thrownBy(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("it did not throw");
}

function openAi(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 0 });
}

const chat = (content: string, model = "gpt-fake"): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model,
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content },
  ],
});
const openAiTools: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "get_weather", parameters } },
];

/** An openai target, and an anthropic target whose responses are translated: the client sees no difference. */
describe.each([
  [
    "an openai target",
    { credentials: { header_name: "Authorization", header_value: `Bearer ${SECRET}` } },
    {},
    "/v1/chat/completions",
  ],
  [
    "an anthropic target with response_format openai",
    { provider: "anthropic", credentials: { header_name: "x-api-key", header_value: SECRET } },
    { response_format: "openai" },
    "/v1/messages",
  ],
] as const)("OpenAI's client against %s", (_, target, rule, endpoint) => {
  let client: OpenAI;
  let key: string;
  beforeAll(async () => {
    ({ key } = await gatewayKey("/v1/chat/completions", target, rule));
    client = openAi(key);
  });

  test("completes a chat with usage; the provider gets the target's credential and never the key", async () => {
    provider.behave({ usage: { input: 5, output: 7 } });
    const response = await client.chat.completions.create(chat("Good morning"));
    expect(response.object).toBe("chat.completion");
    expect(response.choices[0]?.message).toMatchObject({ role: "assistant", content: GREETING });
    expect(response.choices[0]?.finish_reason).toBe("stop");
    expect(response.model).toBe("gpt-fake");
    expect(response.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 });
    expect(response._request_id).toMatch(/^[0-9a-f-]{36}$/);
    const request = onlyRequest(provider);
    expect(request.target).toBe(endpoint);
    expect(request.headers.flat().join("\n")).toContain(SECRET);
    expect(request.headers.flat().join("\n")).not.toContain(key);
  });

  test("streams a chat, with usage", async () => {
    provider.behave({ usage: { input: 5, output: 7 } });
    const stream = client.chat.completions.stream({
      ...chat("Good morning"),
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    stream.on("content", (delta) => pieces.push(delta));
    const response = await stream.finalChatCompletion();
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join("")).toBe(GREETING);
    expect(response.choices[0]?.message.content).toBe(GREETING);
    expect(response.choices[0]?.finish_reason).toBe("stop");
    expect(response.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 });
  });

  test("streams a chat without usage if it does not request it", async () => {
    const stream = await client.chat.completions.create({ ...chat("Good morning"), stream: true });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe(GREETING);
    expect(chunks.every((chunk) => (chunk.usage ?? null) === null)).toBe(true);
  });

  test("gets a tool call and sends the result of the tool", async () => {
    const request = chat("Use a tool");
    const response = await client.chat.completions.create({ ...request, tools: openAiTools });
    expect(response.choices[0]?.finish_reason).toBe("tool_calls");
    const message = response.choices[0]!.message;
    const call = message.tool_calls![0]!;
    if (call.type !== "function") throw new Error("not a function call");
    expect(call.function.name).toBe("get_weather");
    expect(JSON.parse(call.function.arguments)).toEqual(ARGUMENTS);
    const result = { role: "tool" as const, tool_call_id: call.id, content: "21 degrees" };
    const messages = [...request.messages, message, result];
    const next = await client.chat.completions.create({ model: "gpt-fake", messages, tools: openAiTools });
    expect(next.choices[0]?.message.content).toBe('Hello from Ada. The tool returned: "21 degrees".');
  });

  test("gets streamed tool calls, several at once", async () => {
    const stream = client.chat.completions.stream({
      ...chat("Use tools twice"),
      tools: openAiTools,
      stream: true,
    });
    const response = await stream.finalChatCompletion();
    expect(response.choices[0]?.finish_reason).toBe("tool_calls");
    const calls = response.choices[0]!.message.tool_calls!;
    expect(calls).toHaveLength(2);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    for (const call of calls) {
      if (call.type !== "function") throw new Error("not a function call");
      expect(JSON.parse(call.function.arguments)).toEqual(ARGUMENTS);
    }
  });

  test.each([
    [400, OpenAI.BadRequestError],
    [401, OpenAI.AuthenticationError],
    [403, OpenAI.PermissionDeniedError],
    [404, OpenAI.NotFoundError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
    [503, OpenAI.InternalServerError],
  ])("throws its own error class for the provider's %d, streamed or not", async (status, errorClass) => {
    provider.behave({ status });
    for (const stream of [false, true]) {
      const error = await thrownBy(client.chat.completions.create({ ...chat("Hi"), stream }));
      expect(error).toBeInstanceOf(errorClass);
      expect(error).toMatchObject({ status, error: { message: expect.stringMatching(/\S/) } });
      expect((error as InstanceType<typeof OpenAI.APIError>).requestID).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test("throws AuthenticationError for an unknown key, and NotFoundError for a path without a rule", async () => {
    const stranger = openAi(`gw_${"A".repeat(43)}`).chat.completions.create(chat("Hi"));
    expect(await thrownBy(stranger)).toBeInstanceOf(OpenAI.AuthenticationError);
    const lost = client.embeddings.create({ model: "gpt-fake", input: "Hi" });
    expect(await thrownBy(lost)).toBeInstanceOf(OpenAI.NotFoundError);
    expect(provider.requestCount).toBe(0);
  });

  test("reads the rate limit headers and waits before it retries", async () => {
    let requestCount = 0;
    provider.behave(() =>
      ++requestCount === 1 ? { rateLimited: { retryAfter: 0 }, headers: [["retry-after-ms", "1"]] } : {},
    );
    const patient = new OpenAI({ apiKey: key, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 1 });
    const response = await patient.chat.completions.create(chat("Good morning"));
    expect(response.choices[0]?.message.content).toBe(GREETING);
    expect(requestCount).toBe(2);
  });
});

test("OpenAI's client lists the models of its key's gateway", async () => {
  const { key } = await gatewayKey("/v1/chat/completions", { models: ["m1", "m2"] });
  const models = await Array.fromAsync(openAi(key).models.list());
  expect(models.map(({ id }) => id).sort()).toEqual(["m1", "m2"]);
});

test("the Azure client's api-key header counts as the key", async () => {
  const { key } = await gatewayKey("/azure/*", { path: "/v1/chat/completions" });
  const client = new OpenAI({
    apiKey: "unused",
    baseURL: `${gatehouse.proxyUrl}/azure/deployments/d`,
    defaultHeaders: { Authorization: null, "api-key": key },
    defaultQuery: { "api-version": "2024-10-21" },
    maxRetries: 0,
  });
  const response = await client.chat.completions.create(chat("Good morning"));
  expect(response.choices[0]?.message.content).toBe(GREETING);
  expect(onlyRequest(provider).target).toBe("/v1/chat/completions?api-version=2024-10-21");
});

describe("Anthropic's client against an anthropic target", () => {
  let client: Anthropic;
  let key: string;
  beforeAll(async () => {
    const credentials = { header_name: "x-api-key", header_value: SECRET };
    ({ key } = await gatewayKey("/v1/messages", { provider: "anthropic", credentials }));
    client = new Anthropic({ apiKey: key, baseURL: gatehouse.proxyUrl, maxRetries: 0 });
  });

  const messageRequest = (content: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model: "claude-fake",
    max_tokens: 100,
    messages: [{ role: "user", content }],
  });
  const tools: Anthropic.Tool[] = [{ name: "get_weather", input_schema: parameters }];

  test("completes a chat, with usage; the body is untouched and the provider never gets the key", async () => {
    provider.behave({ usage: { input: 5, output: 7 } });
    const response = await client.messages.create({ ...messageRequest("Good morning"), system: "Be brief." });
    expect(response.content).toMatchObject([{ type: "text", text: GREETING }]);
    expect(response.stop_reason).toBe("end_turn");
    expect(response.usage).toMatchObject({ input_tokens: 5, output_tokens: 7 });
    const request = onlyRequest(provider);
    expect(request.target).toBe("/v1/messages");
    expect(request.json()).toEqual({ ...messageRequest("Good morning"), system: "Be brief." });
    expect(request.header("x-api-key")).toBe(SECRET);
    expect(request.headers.flat().join("\n")).not.toContain(key);
  });

  test("streams a chat, with usage", async () => {
    provider.behave({ usage: { input: 5, output: 7 } });
    const stream = client.messages.stream(messageRequest("Good morning"));
    const pieces: string[] = [];
    stream.on("text", (delta) => pieces.push(delta));
    const response = await stream.finalMessage();
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join("")).toBe(GREETING);
    expect(response.usage).toMatchObject({ input_tokens: 5, output_tokens: 7 });
    expect(response.stop_reason).toBe("end_turn");
  });

  test("gets a tool call and sends the result of the tool", async () => {
    const request = messageRequest("Use a tool");
    const response = await client.messages.create({ ...request, tools });
    expect(response.stop_reason).toBe("tool_use");
    const [block] = response.content;
    if (block?.type !== "tool_use") throw new Error("not a tool call");
    expect(block).toMatchObject({ name: "get_weather", input: ARGUMENTS });
    const messages: Anthropic.MessageParam[] = [
      ...request.messages,
      { role: "assistant", content: response.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: block.id, content: "21 degrees" }] },
    ];
    const next = await client.messages.create({ ...request, messages, tools });
    expect(next.content).toMatchObject([{ text: 'Hello from Ada. The tool returned: "21 degrees".' }]);
  });

  test("gets streamed tool calls", async () => {
    const response = await client.messages
      .stream({ ...messageRequest("Use tools twice"), tools })
      .finalMessage();
    expect(response.content).toMatchObject([
      { type: "tool_use", name: "get_weather", input: ARGUMENTS },
      { type: "tool_use", name: "get_weather", input: ARGUMENTS },
    ]);
  });

  test.each([
    [400, Anthropic.BadRequestError],
    [401, Anthropic.AuthenticationError],
    [403, Anthropic.PermissionDeniedError],
    [404, Anthropic.NotFoundError],
    [429, Anthropic.RateLimitError],
    [500, Anthropic.InternalServerError],
    [529, Anthropic.InternalServerError],
  ])("throws its own error class for the provider's %d, streamed or not", async (status, errorClass) => {
    provider.behave({ status });
    for (const stream of [false, true]) {
      const error = await thrownBy(client.messages.create({ ...messageRequest("Hi"), stream }));
      expect(error).toBeInstanceOf(errorClass);
      expect(error).toMatchObject({
        status,
        error: { type: "error", error: { message: expect.any(String) } },
      });
    }
  });

  test("throws AuthenticationError for an unknown key, and NotFoundError for a path without a rule", async () => {
    const strange = new Anthropic({
      apiKey: `gw_${"A".repeat(43)}`,
      baseURL: gatehouse.proxyUrl,
      maxRetries: 0,
    });
    const stranger = strange.messages.create(messageRequest("Hi"));
    expect(await thrownBy(stranger)).toBeInstanceOf(Anthropic.AuthenticationError);
    const { model, messages } = messageRequest("Hi");
    const lost = client.messages.countTokens({ model, messages });
    expect(await thrownBy(lost)).toBeInstanceOf(Anthropic.NotFoundError);
    expect(provider.requestCount).toBe(0);
  });

  test("throws for an error in the middle of a stream", async () => {
    provider.behave({ errorAfterChunks: 4 });
    const error = await thrownBy(client.messages.stream(messageRequest("Good morning")).finalMessage());
    expect(String(error)).toMatch(/overloaded/i);
  });
});

test("OpenAI's client throws for an error in the middle of an anthropic target's stream", async () => {
  const target = { provider: "anthropic" };
  const { key } = await gatewayKey("/v1/chat/completions", target, { response_format: "openai" });
  provider.behave({ errorAfterChunks: 4, chunkDelayMs: 20 });
  const stream = await openAi(key).chat.completions.create({ ...chat("Good morning"), stream: true });
  expect(String(await thrownBy(Array.fromAsync(stream)))).toMatch(/overloaded/i);
});
