// OpenAI's SDK with all its helpers, through the gateway, to targets of every format. Only base URL and key are changed.
import { describe, expect, test } from "bun:test";
import OpenAI, { toFile } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { CITY, SDK_MODEL, SDK_TARGETS, TOOL_TURNS, type SdkTarget } from "../support/sdk-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();

const QUESTION = [{ role: "user" as const, content: "Which city?" }];
const City = z.object({ city: z.string(), inhabitants: z.number() });
const WEATHER = {
  type: "function" as const,
  name: "get_weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};

async function connect(target: SdkTarget): Promise<OpenAI> {
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { error_format: "auto" },
    upstream: { targets: [targetAt(provider, { ...target, models: [SDK_MODEL] })], max_attempts: 1 },
    rule: { path: "/v1/*", methods: ["*"], operations: ["files"] },
  });
  const { key } = await seedKey(gatehouse, gateway);
  return new OpenAI({ apiKey: key, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 0 });
}

describe.each(SDK_TARGETS)("to a target of $provider with the format $format", (target) => {
  const connected = connect(target);

  test("chat completions, whole and streamed", async () => {
    const client = await connected;
    provider.behave({ text: "It is Paris." });
    const completion = await client.chat.completions.create({ model: SDK_MODEL, messages: QUESTION });
    expect(completion.choices[0]?.message.content).toBe("It is Paris.");
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
    const stream = client.chat.completions.stream({
      model: SDK_MODEL,
      messages: QUESTION,
      stream_options: { include_usage: true },
    });
    expect(await stream.finalContent()).toBe("It is Paris.");
    expect((await stream.totalUsage()).completion_tokens).toBeGreaterThan(0);
  });

  test("chat completions with a parsed response", async () => {
    const client = await connected;
    provider.behave({ text: JSON.stringify(CITY) });
    const request = {
      model: SDK_MODEL,
      messages: QUESTION,
      response_format: zodResponseFormat(City, "city"),
    };
    const completion = await client.chat.completions.parse(request);
    expect(completion.choices[0]?.message.parsed).toEqual(CITY);
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(CITY);
  });

  test.each([false, true])("runs tools (stream: %p)", async (stream) => {
    const client = await connected;
    provider.behave(TOOL_TURNS);
    const asked: unknown[] = [];
    const tools = [
      {
        type: "function" as const,
        function: {
          ...WEATHER,
          parse: JSON.parse,
          function: (input: object) => {
            asked.push(input);
            return "sunny";
          },
        },
      },
    ];
    const request = { model: SDK_MODEL, messages: QUESTION, tools };
    const runner = stream
      ? client.chat.completions.runTools({ ...request, stream })
      : client.chat.completions.runTools(request);
    expect(await runner.finalContent()).toBe("It is sunny.");
    expect(asked).toEqual([{ city: "Paris" }]);
  });

  test("responses, whole, streamed and parsed", async () => {
    const client = await connected;
    provider.behave({ text: JSON.stringify(CITY) });
    const whole = await client.responses.create({ model: SDK_MODEL, input: "Which city?" });
    expect(JSON.parse(whole.output_text)).toEqual(CITY);
    expect(whole.usage?.output_tokens).toBeGreaterThan(0);
    const text = { format: zodTextFormat(City, "city") };
    const parsed = await client.responses.parse({ model: SDK_MODEL, input: "Which city?", text });
    expect(parsed.output_parsed).toEqual(CITY);
    const types: string[] = [];
    const stream = client.responses.stream({ model: SDK_MODEL, input: "Which city?", text });
    for await (const event of stream) types.push(event.type);
    expect((await stream.finalResponse()).output_parsed).toEqual(CITY);
    expect(types.at(0)).toBe("response.created");
    expect(types.at(-1)).toBe("response.completed");
  });

  test.each([false, true])("responses with a tool, the items sent back (stream: %p)", async (stream) => {
    const client = await connected;
    provider.behave(TOOL_TURNS);
    const create = async (input: OpenAI.Responses.ResponseInputItem[]) => {
      const request = { model: SDK_MODEL, input, tools: [WEATHER], store: false };
      return stream ? client.responses.stream(request).finalResponse() : client.responses.create(request);
    };
    const first = await create(QUESTION);
    const [call] = first.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    if (call === undefined) throw new Error("there is no call");
    expect(JSON.parse(call.arguments)).toEqual({ city: "Paris" });
    const result = { type: "function_call_output" as const, call_id: call.call_id, output: "sunny" };
    // As of a client that stores the conversation.
    const items = JSON.parse(JSON.stringify(first.output));
    const second = await create([...QUESTION, ...items, result]);
    expect(second.output_text).toBe("It is sunny.");
  });

  test("embeddings, where the provider has them", async () => {
    const client = await connected;
    const request = client.embeddings.create({ model: SDK_MODEL, input: ["a", "b"] });
    if (target.provider === "anthropic") {
      const error: unknown = await request.then(null, (reason: unknown) => reason);
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error).toMatchObject({ code: "operation_not_supported" });
      return;
    }
    const { data } = await request;
    expect(data.map(({ embedding }) => embedding.length > 0)).toEqual([true, true]);
  });

  test("models", async () => {
    const client = await connected;
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual([SDK_MODEL]);
    expect((await client.models.retrieve(SDK_MODEL)).id).toBe(SDK_MODEL);
  });

  test("files, where the provider has them", async () => {
    const client = await connected;
    const file = await toFile(Buffer.from('{"a":1}\n'), "lines.jsonl");
    const created = client.files.create({ file, purpose: "batch" });
    if (target.provider === "google") {
      expect(await created.then(null, (error: unknown) => error)).toBeInstanceOf(OpenAI.NotFoundError);
      return;
    }
    const { id } = await created;
    expect((await client.files.retrieve(id)).filename).toBe("lines.jsonl");
    expect(await (await client.files.content(id)).text()).toBe('{"a":1}\n');
    expect((await client.files.delete(id)).deleted).toBe(true);
  });

  test("errors of the gateway and of the provider are typed", async () => {
    const client = await connected;
    const create = () => client.chat.completions.create({ model: SDK_MODEL, messages: QUESTION });
    provider.behave({ rateLimited: { retryAfter: 3 } });
    expect(await create().then(null, (error: unknown) => error)).toBeInstanceOf(OpenAI.RateLimitError);
    const unknownModel: unknown = await client.models.retrieve("none").then(null, (error: unknown) => error);
    expect(unknownModel).toBeInstanceOf(OpenAI.NotFoundError);
    expect(unknownModel).toMatchObject({ code: "model_not_found" });
  });
});
