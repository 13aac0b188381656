// The Responses API of the fake provider, through the official client.
import OpenAI from "openai";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../server.ts";

const provider = await startFakeProvider({ name: "Ada" });
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

const openai = new OpenAI({ apiKey: "sk-good", baseURL: `${provider.url}/v1`, maxRetries: 0 });
const GREETING = 'Hello from Ada. You said: "Good morning".';
const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: "function",
    name: "get_weather",
    strict: false,
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
];

async function eventsOf(
  body: Omit<OpenAI.Responses.ResponseCreateParamsStreaming, "stream">,
): Promise<OpenAI.Responses.ResponseStreamEvent[]> {
  return Array.fromAsync(await openai.responses.create({ ...body, stream: true }));
}

describe("a response", () => {
  test("has the text and the usage", async () => {
    const response = await openai.responses.create({
      model: "gpt-fake",
      instructions: "Be kind",
      input: "Good morning",
    });
    expect(response.output_text).toBe(GREETING);
    expect(response).toMatchObject({ status: "completed", model: "gpt-fake", error: null, store: true });
    expect(response.usage).toEqual({
      input_tokens: 4,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 11,
    });
  });

  test("is streamed as numbered events that add up to the whole", async () => {
    const events = await eventsOf({ model: "gpt-fake", input: "Good morning" });
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
    expect(events.map((event) => event.type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      ...Array.from({ length: 7 }, () => "response.output_text.delta" as const),
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const streamed = openai.responses.stream({ model: "gpt-fake", input: "Good morning" });
    const final = await streamed.finalResponse();
    expect(final.output_text).toBe(GREETING);
    expect(final.usage?.total_tokens).toBe(9);
  });

  test("calls a function, whole and streamed, then quotes its result", async () => {
    const ask = { model: "gpt-fake", input: "Use a tool", tools };
    const whole = await openai.responses.create(ask);
    const call = whole.output[0]!;
    if (call.type !== "function_call") throw new Error("not a function call");
    expect(JSON.parse(call.arguments)).toEqual({ city: "some city" });

    const events = await eventsOf(ask);
    const deltas = events.flatMap((event) =>
      event.type === "response.function_call_arguments.delta" ? [event.delta] : [],
    );
    expect(deltas.join("")).toBe(call.arguments);
    expect(events.find((event) => event.type === "response.function_call_arguments.done")).toMatchObject({
      name: "get_weather",
      arguments: call.arguments,
    });

    const result = { type: "function_call_output" as const, call_id: call.call_id, output: "21 degrees" };
    const next = await openai.responses.create({
      ...ask,
      input: [{ role: "user", content: "Use a tool" }, call, result],
    });
    expect(next.output_text).toBe('Hello from Ada. The tool returned: "21 degrees".');
  });

  test("calls a custom tool with text", async () => {
    provider.behave({ turns: [{ calls: [{ name: "apply_patch", arguments: { input: "*** Begin" } }] }] });
    const custom = [{ type: "custom" as const, name: "apply_patch" }];
    const events = await eventsOf({ model: "gpt-fake", input: "Go", tools: custom });
    expect(events.at(-2)).toMatchObject({ item: { type: "custom_tool_call", input: "*** Begin" } });
    expect(events.at(-3)).toMatchObject({
      type: "response.custom_tool_call_input.done",
      input: "*** Begin",
    });
  });

  test("has a reasoning item if reasoning is requested, encrypted and summarized on demand", async () => {
    provider.behave({ thinking: "Think twice" });
    const plain = await openai.responses.create({ model: "gpt-fake", input: "Hi", reasoning: {} });
    expect(plain.output[0]).toEqual({ id: expect.any(String), type: "reasoning", summary: [] } as never);
    const events = await eventsOf({
      model: "gpt-fake",
      input: "Hi",
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
    });
    const last = events.at(-1)!;
    if (last.type !== "response.completed") throw new Error("not completed");
    expect(last.response.output[0]).toMatchObject({
      summary: [{ type: "summary_text", text: "Think twice" }],
      encrypted_content: expect.any(String),
    });
    expect(last.response.usage?.output_tokens_details.reasoning_tokens).toBe(2);
    expect(events.map((event) => event.type)).toContain("response.reasoning_summary_text.delta");
  });
});

describe("stored responses", () => {
  test("are returned, continued and deleted", async () => {
    const first = await openai.responses.create({ model: "gpt-fake", input: "Use a tool", tools });
    expect(await openai.responses.retrieve(first.id)).toMatchObject({ id: first.id, output: first.output });
    const items = await Array.fromAsync(openai.responses.inputItems.list(first.id));
    expect(items).toMatchObject([{ role: "user", content: [{ text: "Use a tool" }] }]);

    const call = first.output[0]!;
    if (call.type !== "function_call") throw new Error("not a function call");
    const next = await openai.responses.create({
      model: "gpt-fake",
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "21 degrees" }],
    });
    expect(next.output_text).toContain("21 degrees");
    expect(next.usage!.input_tokens).toBeGreaterThan(5);

    await openai.responses.delete(first.id);
    expect(await openai.responses.retrieve(first.id).catch((e: unknown) => e)).toBeInstanceOf(
      OpenAI.NotFoundError,
    );
  });

  test("are not kept with store: false, and an unknown previous_response_id is an error", async () => {
    const { id } = await openai.responses.create({ model: "gpt-fake", input: "Hi", store: false });
    const retrieved: unknown = await openai.responses.retrieve(id).catch((e: unknown) => e);
    expect(retrieved).toMatchObject({
      status: 404,
      error: { message: `Response with id '${id}' not found.` },
    });
    const continued: unknown = await openai.responses
      .create({ model: "gpt-fake", input: "Hi", previous_response_id: id })
      .catch((e: unknown) => e);
    expect(continued).toMatchObject({
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
  });

  test("have ids that differ between providers", async () => {
    const other = await startFakeProvider({ name: "Grace" });
    const client = openai.withOptions({ baseURL: `${other.url}/v1` });
    const [one, two] = await Promise.all(
      [openai, client].map((one) => one.responses.create({ model: "gpt-fake", input: "Hi" })),
    );
    expect(one!.id).not.toBe(two!.id);
    await other.stop();
  });
});

test("input tokens are counted", async () => {
  const counted = await openai.responses.inputTokens.count({ model: "gpt-fake", input: "one two three" });
  expect(counted).toEqual({ object: "response.input_tokens", input_tokens: 3 });
});

describe("behaviors", () => {
  test("an error status has OpenAI's error and stores nothing", async () => {
    provider.behave({ status: 503 });
    const failure: unknown = await openai.responses
      .create({ model: "gpt-fake", input: "Hi" })
      .catch((e: unknown) => e);
    expect(failure).toMatchObject({ status: 503, type: "server_error" });
    provider.behave({});
    expect(await openai.responses.retrieve("resp_Ada1").catch((e: unknown) => e)).toMatchObject({
      status: 404,
    });
  });

  test("an error in mid-stream is a numbered error event", async () => {
    const response = await fetch(`${provider.url}/v1/responses`, {
      method: "POST",
      body: JSON.stringify({ model: "m", input: "Hi", stream: true }),
      headers: { "x-fake": '{"errorAfterChunks":3}' },
    });
    const events = (await response.text()).trim().split("\n\n");
    expect(events).toHaveLength(4);
    expect(events[3]).toStartWith("event: error\n");
    expect(JSON.parse(events[3]!.split("data: ")[1]!)).toMatchObject({ type: "error", sequence_number: 3 });
  });

  test("a cut stream ends the iteration with an error", async () => {
    provider.behave({ cutAfterChunks: 4 });
    const failure: unknown = await eventsOf({ model: "gpt-fake", input: "Hi" }).catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(Error);
  });

  test("invalid requests get OpenAI's errors", async () => {
    const failure = (body: object): Promise<unknown> =>
      Promise.resolve(openai.responses.create({ model: "gpt-fake", input: "Hi", ...body })).catch(
        (e: unknown) => e,
      );
    expect(await failure({ input: [] })).toMatchObject({ status: 400, param: "input" });
    expect(await failure({ model: "missing-model" })).toMatchObject({ status: 404, code: "model_not_found" });
    const unauthorized = openai.withOptions({ apiKey: "invalid" }).responses;
    const rejected = unauthorized.create({ model: "gpt-fake", input: "Hi" }).catch((e: unknown) => e);
    expect(await rejected).toBeInstanceOf(OpenAI.AuthenticationError);
  });
});
