// The official SDK reads what the encoder writes: whole responses, parsed outputs, and streams, which it accumulates.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import type {
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseOutputItem,
} from "openai/resources/responses/responses";
import { z } from "zod";
import type { JsonObject } from "../../base/json.ts";
import type { ChatCompletion, ChatCompletionChunk, ChatDelta } from "../openai/wire-types.ts";
import { TranslationReport } from "../translation-report.ts";
import { responsesInbound } from "./inbound.ts";

const USAGE = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const SIGNED = { type: "reasoning.text", format: "anthropic", text: "Think.", signature: "c2ln" } as const;

type Message = ChatCompletion["choices"][0]["message"];
type Finish = ChatCompletion["choices"][0]["finish_reason"];

/** Returns a client whose requests are answered with the translation of `message`, whole or as a stream. */
function clientWith(message: Partial<Message>, finish: Finish = "stop") {
  const requests: JsonObject[] = [];
  const answer = (body: JsonObject): Response => {
    requests.push(responsesInbound.decodeRequest(body, new TranslationReport()));
    const context = responsesInbound.contextOf(body);
    if (body["stream"] !== true)
      return Response.json(responsesInbound.encodeResponse(completionOf(message, finish), context));
    const encoder = responsesInbound.encodeStream(context);
    for (const chunk of chunksOf(message, finish)) encoder.chunk(chunk);
    encoder.done();
    return new Response(encoder.take(), { headers: { "content-type": "text/event-stream" } });
  };
  const fetch = async (_: unknown, init?: RequestInit) =>
    answer((await new Request("http://gateway.test", init ?? {}).json()) as JsonObject);
  return { client: new OpenAI({ apiKey: "k", baseURL: "http://gateway.test/v1", fetch }), requests };
}

function completionOf(message: Partial<Message>, finish_reason: Finish): ChatCompletion {
  const whole: Message = { role: "assistant", content: null, refusal: null, ...message };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1760000000,
    model: "m-1",
    choices: [{ index: 0, message: whole, logprobs: null, finish_reason }],
    usage: USAGE,
  };
}

function chunksOf(message: Partial<Message>, finish: Finish): ChatCompletionChunk[] {
  const deltas: ChatDelta[] = [{ role: "assistant", content: "" }];
  for (const letter of message.reasoning_content ?? "") deltas.push({ reasoning_content: letter });
  if (message.reasoning_details !== undefined) deltas.push({ reasoning_details: message.reasoning_details });
  for (const letter of message.content ?? "") deltas.push({ content: letter });
  for (const letter of message.refusal ?? "") deltas.push({ refusal: letter });
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const { name, arguments: json } = call.function;
    deltas.push({
      tool_calls: [{ index, id: call.id, type: "function", function: { name, arguments: "" } }],
    });
    for (const letter of json) deltas.push({ tool_calls: [{ index, function: { arguments: letter } }] });
  }
  const base = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1760000000,
    model: "m-1",
  } as const;
  const chunks = deltas.map((delta) => ({
    ...base,
    choices: [{ index: 0 as const, delta, logprobs: null, finish_reason: null }],
  }));
  const last = {
    ...base,
    choices: [{ index: 0 as const, delta: {}, logprobs: null, finish_reason: finish }],
  };
  return [...chunks, last, { ...base, choices: [], usage: USAGE }];
}

const FUNCTION = {
  type: "function" as const,
  name: "weather",
  description: "Weather in a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};
const CALL = {
  id: "call_1",
  type: "function" as const,
  function: { name: "weather", arguments: '{"city":"Rome"}' },
};
const REQUEST: ResponseCreateParamsNonStreaming = {
  model: "m",
  input: "Hi",
  tools: [FUNCTION],
  metadata: { a: "b" },
};

/** The types of the SDK differ in items that no translated response has. */
function toInput(output: ResponseOutputItem[]): ResponseInputItem[] {
  return output as ResponseInputItem[];
}

const MESSAGES: Record<string, [Partial<Message>, Finish]> = {
  text: [{ content: "Hello there" }, "stop"],
  refusal: [{ refusal: "No." }, "stop"],
  "text and calls": [
    { content: "Let me look.", tool_calls: [CALL, { ...CALL, id: "call_2" }] },
    "tool_calls",
  ],
  "reasoning and a call": [
    { reasoning_content: "Think.", reasoning_details: [SIGNED], tool_calls: [CALL] },
    "tool_calls",
  ],
  "a cut text": [{ content: "Hello th" }, "length"],
  nothing: [{}, "stop"],
};

describe.each(Object.entries(MESSAGES))("%s", (_, [message, finish]) => {
  test("the stream that the SDK accumulates equals the whole response", async () => {
    const { client } = clientWith(message, finish);
    const whole = await client.responses.create(REQUEST);
    const stream = client.responses.stream({ ...REQUEST, stream: true });
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const event of stream) {
      types.push(event.type);
      numbers.push(event.sequence_number);
    }
    const accumulated = JSON.parse(JSON.stringify(await stream.finalResponse()));
    // `parsed` and `parsed_arguments` are the SDK's own.
    expect(accumulated).toMatchObject(JSON.parse(JSON.stringify(whole)));
    expect(numbers).toEqual(numbers.map((__, index) => index));
    expect(types.filter((type) => /^response\.(completed|incomplete|failed)$/.test(type))).toHaveLength(1);
    expect(types.at(-1)).toBe(finish === "length" ? "response.incomplete" : "response.completed");
  });
});

test("a response has every field of the API, repeats the request, and is not stored", async () => {
  const { client } = clientWith({ content: "Hello" });
  const response = await client.responses.create({ ...REQUEST, instructions: "Be brief.", temperature: 0.5 });
  expect(response).toMatchObject({
    object: "response",
    status: "completed",
    created_at: 1760000000,
    model: "m-1",
    error: null,
    incomplete_details: null,
    instructions: "Be brief.",
    metadata: { a: "b" },
    parallel_tool_calls: true,
    temperature: 0.5,
    tool_choice: "auto",
    tools: [FUNCTION],
    store: false,
    previous_response_id: null,
    output_text: "Hello",
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    },
  });
  expect(response.id).toMatch(/^resp_/);
  expect(response.output[0]?.id).toMatch(/^msg_/);
});

test("responses.parse reads structured output", async () => {
  const { client, requests } = clientWith({ content: '{"city":"Rome"}' });
  const format = zodTextFormat(z.object({ city: z.string() }), "place");
  const response = await client.responses.parse({ model: "m", input: "Where?", text: { format } });
  expect(response.output_parsed).toEqual({ city: "Rome" });
  expect(requests[0]?.["response_format"]).toMatchObject({
    type: "json_schema",
    json_schema: { name: "place", strict: true, schema: { type: "object" } },
  });
});

test("the output of a turn with reasoning and tools can be sent back as input", async () => {
  const message = {
    reasoning_content: "Think.",
    reasoning_details: [SIGNED],
    content: "I look.",
    tool_calls: [CALL],
  };
  const { client, requests } = clientWith(message, "tool_calls");
  const first = await client.responses.create(REQUEST);
  const result = { type: "function_call_output", call_id: "call_1", output: "Sunny" } as const;
  await client.responses.create({
    ...REQUEST,
    input: [{ role: "user", content: "Hi" }, ...toInput(first.output), result],
  });
  expect(requests[1]?.["messages"]).toEqual([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "I look.", tool_calls: [CALL], reasoning_details: [SIGNED] },
    { role: "tool", tool_call_id: "call_1", content: "Sunny" },
  ]);
});

test("a failed stream ends with response.failed and its code", async () => {
  const encoder = responsesInbound.encodeStream(responsesInbound.contextOf({ model: "m", input: "Hi" }));
  encoder.error({
    error: {
      message: "Too long.",
      type: "invalid_request_error",
      param: null,
      code: "context_length_exceeded",
    },
  });
  const body = encoder.take();
  const client = new OpenAI({
    apiKey: "k",
    fetch: async () =>
      Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } })),
  });
  const events = await Array.fromAsync(
    await client.responses.create({ model: "m", input: "Hi", stream: true }),
  );
  expect(events.map(({ type }) => type)).toEqual([
    "response.created",
    "response.in_progress",
    "response.failed",
  ]);
  expect(events.at(-1)).toMatchObject({
    response: { status: "failed", error: { code: "context_length_exceeded", message: "Too long." } },
  });
});

describe("tools whose calls are no plain function calls", () => {
  const tools: ResponseCreateParamsNonStreaming["tools"] = [
    { type: "custom", name: "patch" },
    {
      type: "namespace",
      name: "agents",
      description: "",
      tools: [
        { type: "function", name: "spawn" },
        { type: "custom", name: "run" },
      ],
    },
    { type: "tool_search", execution: "client", parameters: { type: "object" } },
  ];
  const callOf = (id: string, name: string, json: string) => ({
    id,
    type: "function" as const,
    function: { name, arguments: json },
  });
  const message = {
    tool_calls: [
      callOf("call_1", "patch", '{"input":"*** Begin\\n\\"x\\""}'),
      callOf("call_2", "agents__spawn", ""),
      callOf("call_3", "agents__run", "not JSON"),
      callOf("call_4", "tool_search", '{"query":"x"}'),
    ],
  };
  const expected = [
    { type: "custom_tool_call", call_id: "call_1", name: "patch", input: '*** Begin\n"x"' },
    { type: "function_call", call_id: "call_2", name: "spawn", namespace: "agents", arguments: "{}" },
    { type: "custom_tool_call", call_id: "call_3", name: "run", namespace: "agents", input: "not JSON" },
    { type: "tool_search_call", call_id: "call_4", execution: "client", arguments: { query: "x" } },
  ];

  test("a whole response has the calls that the client knows", async () => {
    const { client } = clientWith(message, "tool_calls");
    const { output } = await client.responses.create({ ...REQUEST, tools });
    expect(output).toMatchObject(expected);
    expect(output.map(({ id }) => id?.split("_")[0])).toEqual(["ctc", "fc", "ctc", "tsc"]);
  });

  test("a stream has them too, and the input of a custom tool", async () => {
    const { client } = clientWith(message, "tool_calls");
    const events = await Array.fromAsync(await client.responses.create({ ...REQUEST, tools, stream: true }));
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { output: expected } });
    const inputs = events.filter(({ type }) => type === "response.custom_tool_call_input.done");
    expect(inputs).toMatchObject([{ input: '*** Begin\n"x"' }, { input: "not JSON" }]);
  });

  test("tools that only an item of the input defines", async () => {
    const { client } = clientWith(message, "tool_calls");
    const item = { type: "additional_tools", role: "developer", tools } as const;
    const { output } = await client.responses.create({
      model: "m",
      input: [item, { role: "user", content: "Hi" }],
    });
    expect(output).toMatchObject(expected);
  });
});

test("calls whose arguments a chat stream interleaves", async () => {
  const encoder = responsesInbound.encodeStream(responsesInbound.contextOf({ model: "m", input: "Hi" }));
  const base = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" } as const;
  const write = (index: number, id: string | undefined, json: string) =>
    encoder.chunk({
      ...base,
      choices: [
        {
          index: 0,
          delta: {
            tool_calls: [
              id === undefined
                ? { index, function: { arguments: json } }
                : { index, id, type: "function", function: { name: "f", arguments: json } },
            ],
          },
          logprobs: null,
          finish_reason: null,
        },
      ],
    });
  write(0, "call_1", '{"a"');
  write(1, "call_2", '{"b"');
  write(0, undefined, ":1}");
  write(1, undefined, ":2}");
  encoder.done();
  const body = encoder.take();
  const client = new OpenAI({
    apiKey: "k",
    fetch: async () =>
      Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } })),
  });
  const stream = client.responses.stream({ model: "m", input: "Hi" });
  expect((await stream.finalResponse()).output).toMatchObject([
    { call_id: "call_1", arguments: '{"a":1}', status: "completed" },
    { call_id: "call_2", arguments: '{"b":2}', status: "completed" },
  ]);
});

test("a stream of a server that reports no usage has counts of 0", () => {
  const encoder = responsesInbound.encodeStream(responsesInbound.contextOf({ model: "m", input: "Hi" }));
  for (const chunk of chunksOf({ content: "Hello" }, "stop").filter(({ choices }) => choices.length > 0))
    encoder.chunk(chunk);
  encoder.done();
  const last = encoder.take().trim().split("\n\n").at(-1)!;
  expect(JSON.parse(last.slice(last.indexOf("data: ") + 6)).response.usage).toEqual({
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  });
});

test("a stream with more text than any model writes is aborted", () => {
  const encoder = responsesInbound.encodeStream(responsesInbound.contextOf({ model: "m", input: "Hi" }));
  const content = "x".repeat(1024 * 1024);
  const write = () => {
    for (let count = 0; count < 33; count++) {
      encoder.chunk({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
      });
      encoder.take();
    }
  };
  expect(write).toThrow("The provider's stream has more than 33554432 characters of text.");
});
