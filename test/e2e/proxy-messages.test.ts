// Messages clients at chat targets and chat clients at Anthropic targets, with the official client libraries: whole
// responses, streams, tools over several turns, reasoning, errors.
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();

/** Creates a rule for all paths below a prefix that leads to one target. Returns the prefix. */
async function api(target: { provider: string }): Promise<string> {
  const prefix = `/api-${crypto.randomUUID()}`;
  await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, target)], max_attempts: 1 },
    rule: { path: `${prefix}/*`, methods: ["*"] },
  });
  return prefix;
}

async function anthropic(): Promise<Anthropic> {
  const prefix = await api({ provider: "openai" });
  return new Anthropic({ apiKey: "none", baseURL: `${gatehouse.proxyUrl}${prefix}`, maxRetries: 0 });
}

async function openAi(): Promise<OpenAI> {
  const prefix = await api({ provider: "anthropic" });
  return new OpenAI({ apiKey: "none", baseURL: `${gatehouse.proxyUrl}${prefix}/v1`, maxRetries: 0 });
}

async function thrownBy(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("it did not throw");
}

const parameters = { type: "object" as const, properties: { city: { type: "string" } } };

describe("messages clients at chat targets", () => {
  const USER = { role: "user" as const, content: "How warm is it in Rome?" };
  const TOOLS = [{ name: "get_weather", description: "Weather", input_schema: parameters }];
  const REQUEST = { model: "gpt-fake", max_tokens: 100, messages: [USER], tools: TOOLS };

  test.each([
    ["whole", false],
    ["streamed", true],
  ])("call tools over two turns: %s", async (_, isStream) => {
    const client = await anthropic();
    provider.behave({
      turns: [
        { text: "Let me look.", calls: [{ name: "get_weather", arguments: { city: "Rome" } }] },
        { text: "It is 30 °C." },
      ],
      usage: { input: 100, output: 20, cached: 60 },
    });
    const send = async (messages: Anthropic.MessageParam[]) =>
      isStream
        ? await client.messages.stream({ ...REQUEST, messages }).finalMessage()
        : await client.messages.create({ ...REQUEST, messages });
    const first = await send([USER]);
    expect(first).toMatchObject({
      type: "message",
      role: "assistant",
      model: "gpt-fake",
      stop_reason: "tool_use",
      content: [
        { type: "text", text: "Let me look." },
        { type: "tool_use", name: "get_weather", input: { city: "Rome" } },
      ],
      usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 20 },
    });
    const call = first.content[1];
    if (call?.type !== "tool_use") throw new Error("no call");
    const sent = onlyRequest(provider);
    expect(sent.target).toEndWith("/chat/completions");
    expect(sent.json()).toMatchObject({
      model: "gpt-fake",
      messages: [USER],
      max_tokens: 100,
      tools: [{ type: "function", function: { name: "get_weather", parameters } }],
      ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    });
    const result = {
      type: "tool_result" as const,
      tool_use_id: call.id,
      content: "Sensor offline",
      is_error: true,
    };
    const second = await send([
      USER,
      { role: "assistant", content: first.content },
      { role: "user", content: [result] },
    ]);
    expect(second).toMatchObject({
      stop_reason: "end_turn",
      content: [{ type: "text", text: "It is 30 °C." }],
    });
    expect(provider.requests.at(-1)?.json()).toMatchObject({
      messages: [
        USER,
        { role: "assistant", content: "Let me look.", tool_calls: [{ id: call.id, type: "function" }] },
        { role: "tool", tool_call_id: call.id, content: "Error: Sensor offline" },
      ],
    });
  });

  test("get reasoning of compatible servers, which returns to models that need it", async () => {
    const client = await anthropic();
    const reply = { role: "assistant", content: "Hi", reasoning_content: "The user greets." };
    const completion = {
      id: "1",
      object: "chat.completion",
      model: "deepseek-chat",
      choices: [{ message: reply, finish_reason: "stop" }],
    };
    provider.behave({ body: JSON.stringify(completion), headers: [["content-type", "application/json"]] });
    const request = { ...REQUEST, model: "deepseek-chat" };
    const { content } = await client.messages.create(request);
    expect(content).toMatchObject([
      { type: "thinking", thinking: "The user greets." },
      { type: "text", text: "Hi" },
    ]);
    await client.messages.create({ ...request, messages: [USER, { role: "assistant", content }, USER] });
    expect(provider.requests.at(-1)?.json()).toMatchObject({ messages: [USER, reply, USER] });
  });

  test("never get a clean end of a stream that was cut", async () => {
    const prefix = await api({ provider: "openai" });
    provider.behave({ chunks: 6, cutAfterChunks: 3 });
    const body = { ...REQUEST, tools: [], stream: true };
    const response = await rawJson(gatehouse.proxyUrl, `${prefix}/v1/messages`, body);
    const text = response.body.toString();
    expect(text).toContain("event: message_start\n");
    expect(text).toContain('"text_delta"');
    expect(text).not.toContain("message_delta");
    expect(text).not.toContain("message_stop");
  });

  test("get typed errors", async () => {
    const client = await anthropic();
    provider.behave({ rateLimited: { retryAfter: 7 } });
    const limited = await thrownBy(client.messages.create(REQUEST));
    expect(limited).toBeInstanceOf(Anthropic.RateLimitError);
    expect(limited).toMatchObject({ error: { type: "error", error: { type: "rate_limit_error" } } });
    const error = {
      message: "This model's maximum context length is 8192 tokens, but you sent 9000 tokens.",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    };
    const headers: [string, string][] = [["content-type", "application/json"]];
    provider.behave({ status: 400, body: JSON.stringify({ error }), headers });
    const tooLong = await thrownBy(client.messages.create(REQUEST));
    expect(tooLong).toBeInstanceOf(Anthropic.BadRequestError);
    expect(tooLong).toMatchObject({
      error: {
        error: { type: "invalid_request_error", message: "prompt is too long: 9000 tokens > 8192 maximum" },
      },
    });
  });

  test("get 400 untranslatable for tools that only Anthropic has", async () => {
    const prefix = await api({ provider: "openai" });
    const tools = [{ type: "web_search_20250305", name: "web_search" }];
    const response = await rawJson(gatehouse.proxyUrl, `${prefix}/v1/messages`, { ...REQUEST, tools });
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({
      code: "untranslatable",
      details: [{ path: "tools[0].type" }],
    });
    expect(provider.requests).toEqual([]);
  });

  test("learn what was left out", async () => {
    const client = await anthropic();
    const { response } = await client.messages
      .create({
        ...REQUEST,
        system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
        thinking: { type: "enabled", budget_tokens: 1024 },
      })
      .withResponse();
    expect(response.headers.get("x-gw-translated")).toBe("dropped=cache_control,reasoning_effort");
  });
});

describe("chat clients at Anthropic targets", () => {
  const MODEL = "claude-sonnet-4-5";
  const USER = { role: "user" as const, content: "How warm is it in Rome?" };
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: "function", function: { name: "get_weather", parameters } },
  ];
  const REQUEST = { model: MODEL, reasoning_effort: "low" as const, tools };
  const TURNS = [
    { thinking: "I need the weather.", calls: [{ name: "get_weather", arguments: { city: "Rome" } }] },
    { text: "It is 30 °C." },
  ];

  interface Reasoned {
    reasoning_content?: string;
    reasoning_details?: { text?: string; signature?: string }[];
    tool_calls?: OpenAI.ChatCompletionMessageToolCall[];
  }

  /** Returns the message of a stream, with the deltas put together as agents do it. */
  async function readStream(client: OpenAI): Promise<Reasoned & { role: "assistant"; content: null }> {
    const stream = await client.chat.completions.create({ ...REQUEST, messages: [USER], stream: true });
    let reasoning = "";
    const details: { text?: string; signature?: string }[] = [];
    const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
    for await (const { choices } of stream) {
      const delta: (OpenAI.ChatCompletionChunk.Choice.Delta & Omit<Reasoned, "tool_calls">) | undefined =
        choices[0]?.delta;
      reasoning += delta?.reasoning_content ?? "";
      details.push(...(delta?.reasoning_details ?? []));
      for (const { index, id = "", function: called } of delta?.tool_calls ?? []) {
        const call = (calls[index] ??= {
          id,
          type: "function",
          function: { name: called?.name ?? "", arguments: "" },
        });
        call.function.arguments += called?.arguments ?? "";
      }
    }
    return {
      role: "assistant",
      content: null,
      reasoning_content: reasoning,
      reasoning_details: details,
      tool_calls: calls,
    };
  }

  test.each([
    ["whole", false],
    ["streamed", true],
  ])("send the signature of the reasoning back with the result of a tool: %s", async (_, isStream) => {
    const client = await openAi();
    provider.behave({ turns: TURNS });
    const message: Reasoned & OpenAI.ChatCompletionMessageParam = isStream
      ? await readStream(client)
      : (await client.chat.completions.create({ ...REQUEST, messages: [USER] })).choices[0]!.message;
    expect(message.reasoning_content).toBe("I need the weather.");
    const signature = message.reasoning_details?.[0]?.signature;
    expect(signature).toBeString();
    const id = message.tool_calls?.[0]?.id ?? "";
    const result = { role: "tool" as const, tool_call_id: id, content: "30" };
    const { data, response } = await client.chat.completions
      .create({ ...REQUEST, messages: [USER, message, result] })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe("It is 30 °C.");
    expect(response.headers.get("x-gw-translated")).toBeNull();
    expect(provider.requests.at(-1)?.json()).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2048 },
      messages: [
        USER,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "I need the weather.", signature },
            { type: "tool_use", id, name: "get_weather", input: { city: "Rome" } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "30" }] },
      ],
    });
  });

  test("continue a tool turn without its reasoning, with thinking off", async () => {
    const client = await openAi();
    const call = {
      id: "c1",
      type: "function" as const,
      function: { name: "get_weather", arguments: '{"city":' },
    };
    const { response } = await client.chat.completions
      .create({
        ...REQUEST,
        messages: [
          USER,
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: "c1", content: "30" },
        ],
      })
      .withResponse();
    expect(response.headers.get("x-gw-translated")).toBe("dropped=reasoning_effort");
    const sent = onlyRequest(provider).json();
    expect(sent).not.toHaveProperty("thinking");
    expect(sent).toMatchObject({
      messages: [
        USER,
        { content: [{ type: "tool_use", input: { raw_arguments: '{"city":' } }] },
        { content: [{ type: "tool_result" }] },
      ],
    });
  });

  test("recognize a prompt that is too long by its code", async () => {
    const client = await openAi();
    const error = {
      type: "invalid_request_error",
      message: "prompt is too long: 210000 tokens > 200000 maximum",
    };
    const headers: [string, string][] = [["content-type", "application/json"]];
    provider.behave({ status: 400, body: JSON.stringify({ type: "error", error }), headers });
    expect(await thrownBy(client.chat.completions.create({ ...REQUEST, messages: [USER] }))).toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
  });

  test.each([
    ["n", { n: 2 }],
    ["logprobs", { logprobs: true }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["tools[0].type", { tools: [{ type: "web_search" }] }],
  ])("get 400 untranslatable for %s", async (path, fields) => {
    const prefix = await api({ provider: "anthropic" });
    const body = { model: MODEL, messages: [USER], ...fields };
    const response = await rawJson(gatehouse.proxyUrl, `${prefix}/v1/chat/completions`, body);
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({ code: "untranslatable", details: [{ path }] });
  });

  test("learn what was left out", async () => {
    const prefix = await api({ provider: "anthropic" });
    const body = { model: MODEL, messages: [USER], seed: 1, logit_bias: { 5: 1 }, user: "u1", stop: ["\n"] };
    const response = await rawJson(gatehouse.proxyUrl, `${prefix}/v1/chat/completions`, body);
    expect(response.status).toBe(200);
    expect(response.header("x-gw-translated")).toBe("dropped=seed,logit_bias");
    expect(onlyRequest(provider).json()).toMatchObject({ metadata: { user_id: "u1" } });
  });
});
