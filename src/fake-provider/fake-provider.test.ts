// The fake provider through the official OpenAI and Anthropic clients, and the requests that it records.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { type Behavior, startFakeProvider } from "./server.ts";

const provider = await startFakeProvider({ name: "Ada" });
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

const openai = new OpenAI({ apiKey: "sk-good", baseURL: `${provider.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "sk-ant-good", baseURL: provider.url, maxRetries: 0 });

const GREETING = 'Hello from Ada. You said: "Good morning".';
const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" }, days: { type: "integer" }, unit: { enum: ["C", "F"] } },
};
const EXPECTED_ARGUMENTS = { city: "some city", days: 42, unit: "C" };
const openAiTools: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "get_weather", parameters } },
];
const anthropicTools: Anthropic.Tool[] = [{ name: "get_weather", input_schema: parameters }];

function chat(content: string): OpenAI.ChatCompletionCreateParamsNonStreaming {
  return { model: "gpt-fake", messages: [{ role: "user", content }] };
}

function ask(content: string): Anthropic.MessageCreateParamsNonStreaming {
  return { model: "claude-fake", max_tokens: 100, messages: [{ role: "user", content }] };
}

describe("OpenAI client", () => {
  test("receives a JSON response", async () => {
    const response = await openai.chat.completions.create(chat("Good morning"));
    expect(response.choices[0]?.message.content).toBe(GREETING);
    expect(response.choices[0]?.finish_reason).toBe("stop");
    expect(response.model).toBe("gpt-fake");
    expect(response.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 7, total_tokens: 9 });
    expect(response._request_id).toBe("req_fake1");
  });

  test("receives a stream, with usage only if requested", async () => {
    const stream = openai.chat.completions.stream({
      ...chat("Good morning"),
      stream: true,
      stream_options: { include_usage: true },
    });
    const response = await stream.finalChatCompletion();
    expect(response.choices[0]?.message.content).toBe(GREETING);
    expect(response.usage?.total_tokens).toBe(9);

    const chunks = await Array.fromAsync(
      await openai.chat.completions.create({ ...chat("Good morning"), stream: true }),
    );
    expect(chunks.every((chunk) => !("usage" in chunk))).toBe(true);
    expect(chunks).toHaveLength(1 + 7 + 1);
  });

  test("receives tool calls, then a reply that quotes the tool result", async () => {
    const response = await openai.chat.completions.create({ ...chat("Use a tool"), tools: openAiTools });
    const message = response.choices[0]!.message;
    const call = message.tool_calls![0]!;
    expect(response.choices[0]?.finish_reason).toBe("tool_calls");
    if (call.type !== "function") throw new Error("not a function call");
    expect(JSON.parse(call.function.arguments)).toEqual(EXPECTED_ARGUMENTS);

    const result = { role: "tool" as const, tool_call_id: call.id, content: "21 degrees" };
    const messages = [{ role: "user" as const, content: "Use a tool" }, message, result];
    const next = await openai.chat.completions.create({ model: "gpt-fake", messages, tools: openAiTools });
    expect(next.choices[0]?.message.content).toBe('Hello from Ada. The tool returned: "21 degrees".');
  });

  test("receives streamed and parallel tool calls", async () => {
    const stream = openai.chat.completions.stream({
      ...chat("Use tools twice"),
      tools: openAiTools,
      stream: true,
    });
    const response = await stream.finalChatCompletion();
    const calls = response.choices[0]!.message.tool_calls!;
    expect(calls).toHaveLength(2);
    expect(new Set(calls.map((call) => call.id)).size).toBe(2);
    for (const call of calls) {
      if (call.type !== "function") throw new Error("not a function call");
      expect(JSON.parse(call.function.arguments)).toEqual(EXPECTED_ARGUMENTS);
    }
  });

  test("receives no tool call with tool_choice none, and the named one if forced", async () => {
    const tools = openAiTools;
    const none = await openai.chat.completions.create({ ...chat("Use a tool"), tools, tool_choice: "none" });
    expect(none.choices[0]?.message.tool_calls).toBeUndefined();
    const choice = { type: "function" as const, function: { name: "get_weather" } };
    const forced = await openai.chat.completions.create({ ...chat("Hi"), tools, tool_choice: choice });
    expect(forced.choices[0]?.message.tool_calls).toHaveLength(1);
  });

  test("receives OpenAI errors", async () => {
    const unauthorized = new OpenAI({ apiKey: "invalid", baseURL: provider.url, maxRetries: 0 });
    const failure = (promise: PromiseLike<unknown>): Promise<unknown> =>
      Promise.resolve(promise).catch((e: unknown) => e);
    const create = (client: OpenAI, change: object) =>
      failure(client.chat.completions.create({ ...chat("Hi"), ...change }));
    expect(await create(unauthorized, {})).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(await create(openai, { messages: [] })).toBeInstanceOf(OpenAI.BadRequestError);
    const missing = await create(openai, { model: "missing-model" });
    expect(missing).toBeInstanceOf(OpenAI.NotFoundError);
    expect(missing).toMatchObject({ code: "model_not_found" });
    provider.behave({ rateLimited: { retryAfter: 7 } });
    const limited = (await create(openai, {})) as InstanceType<typeof OpenAI.RateLimitError>;
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect(limited.headers?.get("retry-after")).toBe("7");
    expect(limited.headers?.get("x-ratelimit-remaining-requests")).toBe("0");
  });

  test("is recorded as aborted if it disconnects during a stream", async () => {
    const stream = await openai.chat.completions.create(
      { ...chat("Hi"), stream: true },
      { headers: { "x-fake": '{"stallAfterChunks":2}' } },
    );
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content !== "") break;
    await provider.until(() => provider.requests[0]!.aborted);
  });

  test("lists models", async () => {
    const models = await Array.fromAsync(openai.models.list());
    expect(models.map((model) => model.id)).toContain("gpt-fake");
  });
});

describe("Anthropic client", () => {
  test("receives a JSON response", async () => {
    const response = await anthropic.messages.create({ ...ask("Good morning"), system: "Be kind" });
    expect(response.content).toEqual([{ type: "text", text: GREETING }] as never);
    expect(response.stop_reason).toBe("end_turn");
    expect(response.usage).toMatchObject({ input_tokens: 4, output_tokens: 7 });
  });

  test("receives a stream of named events in order", async () => {
    const stream = anthropic.messages.stream(ask("Good morning"));
    const types: string[] = [];
    stream.on("streamEvent", (event) => types.push(event.type));
    const response = await stream.finalMessage();
    expect(response.content[0]).toMatchObject({ type: "text", text: GREETING });
    expect(response.usage.output_tokens).toBe(7);
    expect(types[0]).toBe("message_start");
    expect(types.slice(-3)).toEqual(["content_block_stop", "message_delta", "message_stop"]);
  });

  test("receives tool use, then a reply that quotes the tool result", async () => {
    const firstRequest = { ...ask("Use a tool"), tools: anthropicTools };
    const response = await anthropic.messages.create(firstRequest);
    expect(response.stop_reason).toBe("tool_use");
    const block = response.content[0]!;
    if (block.type !== "tool_use") throw new Error("not a tool use");
    expect(block.input).toEqual(EXPECTED_ARGUMENTS);

    const result = { type: "tool_result" as const, tool_use_id: block.id, content: "21 degrees" };
    const next = await anthropic.messages.create({
      ...firstRequest,
      messages: [
        ...firstRequest.messages,
        { role: "assistant", content: response.content },
        { role: "user", content: [result] },
      ],
    });
    expect(next.content[0]).toMatchObject({ text: 'Hello from Ada. The tool returned: "21 degrees".' });
  });

  test("receives streamed and parallel tool use", async () => {
    const response = await anthropic.messages
      .stream({ ...ask("Use tools twice"), tools: anthropicTools })
      .finalMessage();
    expect(response.content).toHaveLength(2);
    for (const block of response.content) {
      expect(block).toMatchObject({ type: "tool_use", name: "get_weather", input: EXPECTED_ARGUMENTS });
    }
  });

  test("receives Anthropic errors", async () => {
    const failure = (change: object, behavior: Behavior = {}): Promise<unknown> => {
      provider.behave(behavior);
      return Promise.resolve(anthropic.messages.create({ ...ask("Hi"), ...change })).catch((e: unknown) => e);
    };
    expect(await failure({ max_tokens: undefined })).toBeInstanceOf(Anthropic.BadRequestError);
    expect(await failure({ messages: [] })).toBeInstanceOf(Anthropic.BadRequestError);
    expect(await failure({ model: "missing-model" })).toBeInstanceOf(Anthropic.NotFoundError);
    expect(await failure({}, { rateLimited: { retryAfter: 1 } })).toBeInstanceOf(Anthropic.RateLimitError);
    const overloaded = await failure({}, { status: 529 });
    expect(overloaded).toMatchObject({
      status: 529,
      error: { type: "error", error: { type: "overloaded_error" } },
    });
    provider.reset();
    const noVersion = await fetch(`${provider.url}/v1/messages`, { method: "POST", body: "{}" });
    expect(noVersion.status).toBe(400);
    expect(await noVersion.json()).toMatchObject({
      error: { message: "anthropic-version: header is required" },
    });
  });

  test("receives an error in the middle of a stream", async () => {
    provider.behave({ errorAfterChunks: 3 });
    const stream = anthropic.messages.stream(ask("Hi"));
    const error: unknown = await stream.finalMessage().catch((e: unknown) => e);
    expect(String(error)).toContain("overloaded_error");
  });
});

describe("other requests", () => {
  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"])("%s is echoed", async (method) => {
    const body = method === "GET" ? {} : { body: "payload" };
    const response = await fetch(`${provider.url}/some/where?q=1`, {
      method,
      ...body,
      headers: { "X-Case": "kept" },
    });
    const echoed = (await response.json()) as { headers: [string, string][] };
    expect(echoed).toMatchObject({
      method,
      target: "/some/where?q=1",
      body: method === "GET" ? "" : "payload",
    });
    expect(echoed.headers.find(([name]) => name.toLowerCase() === "x-case")?.[1]).toBe("kept");
    expect(response.headers.has("allow")).toBe(method === "OPTIONS");
  });

  test("HEAD returns headers without a body, and the connection stays usable", async () => {
    const head = await fetch(`${provider.url}/v1/models`, { method: "HEAD" });
    const get = await fetch(`${provider.url}/v1/models`);
    const length = (await get.arrayBuffer()).byteLength;
    expect(head.headers.get("content-length")).toBe(String(length));
    expect(await head.text()).toBe("");
  });

  test("a gzip response is decoded by the client", async () => {
    provider.behave({ gzip: true });
    const response = await fetch(`${provider.url}/echo`, { method: "POST", body: "x".repeat(1000) });
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(await response.json()).toMatchObject({ body: "x".repeat(1000) });
    const stream = openai.chat.completions.stream({ ...chat("Good morning"), stream: true });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(GREETING);
  });

  test("a behavior can be a function of the request", async () => {
    provider.behave((request) => (request.target === "/bad" ? { status: 503 } : {}));
    expect((await fetch(`${provider.url}/bad`)).status).toBe(503);
    expect((await fetch(`${provider.url}/good`)).status).toBe(200);
  });

  test("a scripted model, text, and usage are returned", async () => {
    provider.behave({ model: "other", text: "  kept as\nit is ", usage: { input: 1000, output: 2000 } });
    const response = await openai.chat.completions.create(chat("Hi"));
    expect(response.model).toBe("other");
    expect(response.choices[0]?.message.content).toBe("  kept as\nit is ");
    expect(response.usage?.total_tokens).toBe(3000);
  });
});

describe("recorded requests", () => {
  test("keep the request as received", async () => {
    await fetch(`${provider.url}/a?b`, { method: "POST", body: '{"c":1}', headers: { "X-Mixed-Case": "v" } });
    const request = provider.requests[0]!;
    expect(request).toMatchObject({ method: "POST", target: "/a?b", finished: true, aborted: false });
    expect(request.json()).toEqual({ c: 1 });
    expect(request.header("x-mixed-case")).toBe("v");
  });

  test("are bounded by number and bytes; the count is not", async () => {
    const small = await startFakeProvider({ maxRecords: 3, maxRecordedBytes: 25 });
    for (let serial = 1; serial <= 5; serial++) await fetch(`${small.url}/${serial}`);
    expect(small.requests.map((request) => request.target)).toEqual(["/3", "/4", "/5"]);
    for (const body of ["a", "b", "c"]) await fetch(small.url, { method: "POST", body: body.repeat(10) });
    expect(small.requests).toHaveLength(2);
    expect(small.requestCount).toBe(8);
    small.reset();
    expect(small.requestCount).toBe(0);
    expect(small.requests).toHaveLength(0);
    await small.stop();
  });

  test("are not kept with record: false", async () => {
    const silent = await startFakeProvider({ record: false });
    await fetch(silent.url);
    expect(silent.requests).toHaveLength(0);
    expect(silent.requestCount).toBe(1);
    await silent.stop();
  });
});

test("a stopped provider rejects connections and restarts on the same port", async () => {
  const other = await startFakeProvider({ name: "Other" });
  const { url } = other;
  expect((await fetch(url)).status).toBe(200);
  await other.stop();
  expect(other.openConnections()).toBe(0);
  const failure: unknown = await fetch(url).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Error);
  await other.restart();
  expect(other.url).toBe(url);
  expect((await fetch(url)).status).toBe(200);
  await other.stop();
});

test("the command starts a provider and stops it on a signal", async () => {
  const main = `${import.meta.dir}/main.ts`;
  const child = Bun.spawn([process.execPath, main, "--name", "Grace", "--behave", '{"status":503}'], {
    stdout: "pipe",
  });
  const { value } = await child.stdout.getReader().read();
  const url = /http:\S+/.exec(Buffer.from(value!).toString())![0];
  expect((await fetch(url)).status).toBe(503);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  const help = Bun.spawnSync([process.execPath, main, "--help"]);
  expect(help.stdout.toString()).toContain("Usage:");
  expect(Bun.spawnSync([process.execPath, main, "--port", "x"]).exitCode).toBe(2);
});
