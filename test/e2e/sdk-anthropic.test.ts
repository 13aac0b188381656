// Anthropic's SDK with all its helpers, through the gateway, to targets of every format. Only base URL and key are changed.
import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { CITY, SDK_MODEL, SDK_TARGETS, TOOL_TURNS, type SdkTarget } from "../support/sdk-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();

/** A new object for each use: the tool runner adds to the messages. */
const question = () => ({
  model: SDK_MODEL,
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "Which city?" }],
});
const City = z.object({ city: z.string(), inhabitants: z.number() });

async function connect(target: SdkTarget): Promise<Anthropic> {
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { error_format: "auto" },
    upstream: { targets: [targetAt(provider, { ...target, models: [SDK_MODEL] })], max_attempts: 1 },
    rule: { path: "/v1/*", methods: ["*"] },
  });
  const { key } = await seedKey(gatehouse, gateway);
  return new Anthropic({ apiKey: key, baseURL: gatehouse.proxyUrl, maxRetries: 0 });
}

describe.each(SDK_TARGETS)("to a target of $provider with the format $format", (target) => {
  const connected = connect(target);

  test("messages, whole and streamed", async () => {
    const client = await connected;
    provider.behave({ text: "It is Paris." });
    const message = await client.messages.create(question());
    expect(message.content).toEqual([expect.objectContaining({ type: "text", text: "It is Paris." })]);
    expect([message.stop_reason, message.usage.output_tokens > 0]).toEqual(["end_turn", true]);
    expect(message._request_id).toMatch(/./);
    const stream = client.messages.stream(question());
    const texts: string[] = [];
    stream.on("text", (text) => texts.push(text));
    const final = await stream.finalMessage();
    expect([texts.join(""), await stream.finalText()]).toEqual(["It is Paris.", "It is Paris."]);
    expect(stream.request_id).toMatch(/./);
    expect([final.stop_reason, final.usage.output_tokens > 0]).toEqual(["end_turn", true]);
  });

  test("a parsed response", async () => {
    const client = await connected;
    provider.behave({ text: JSON.stringify(CITY) });
    const output_config = { format: zodOutputFormat(City) };
    const message = await client.messages.parse({ ...question(), output_config });
    expect(message.parsed_output).toEqual(CITY);
  });

  test.each([false, true])("the tool runner (stream: %p)", async (stream) => {
    const client = await connected;
    provider.behave(TOOL_TURNS);
    const asked: unknown[] = [];
    const weather = betaZodTool({
      name: "get_weather",
      description: "The weather of a city",
      inputSchema: z.object({ city: z.string() }),
      run: (input) => {
        asked.push(input);
        return "sunny";
      },
    });
    const runner = client.beta.messages.toolRunner({ ...question(), tools: [weather], stream });
    const last = await runner.runUntilDone();
    // At Anthropic, the runner sends only what is new in the conversation, which then has no turn in the script.
    const text = target.format === "anthropic" ? expect.stringContaining("sunny") : "It is sunny.";
    expect(last.content).toEqual([expect.objectContaining({ type: "text", text })]);
    expect(asked).toEqual([{ city: "Paris" }]);
  });

  test("thinking goes back with the tool's result", async () => {
    const client = await connected;
    provider.behave(TOOL_TURNS);
    const request = {
      ...question(),
      max_tokens: 4000,
      thinking: { type: "enabled" as const, budget_tokens: 2000 },
      tools: [{ name: "get_weather", input_schema: { type: "object" as const } }],
    };
    const first = await client.messages.create(request);
    const call = first.content.find((block) => block.type === "tool_use");
    if (call === undefined) throw new Error("there is no call");
    const result = { type: "tool_result" as const, tool_use_id: call.id, content: "sunny" };
    const second = await client.messages.create({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: first.content },
        { role: "user", content: [result] },
      ],
    });
    expect(second.content.at(-1)).toMatchObject({ type: "text", text: "It is sunny." });
  });

  test("counting tokens", async () => {
    const client = await connected;
    const { input_tokens } = await client.messages.countTokens({
      model: SDK_MODEL,
      messages: question().messages,
    });
    expect(input_tokens).toBeGreaterThan(0);
  });

  test("models", async () => {
    const client = await connected;
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual([SDK_MODEL]);
    expect((await client.models.retrieve(SDK_MODEL)).display_name).toBe(SDK_MODEL);
  });

  test("errors of the gateway and of the provider are typed and carry the request id", async () => {
    const client = await connected;
    provider.behave({ rateLimited: { retryAfter: 3 } });
    const limited: unknown = await client.messages.create(question()).then(null, (error: unknown) => error);
    expect(limited).toBeInstanceOf(Anthropic.RateLimitError);
    const unknownModel: unknown = await client.models.retrieve("none").then(null, (error: unknown) => error);
    expect(unknownModel).toBeInstanceOf(Anthropic.NotFoundError);
    expect(unknownModel).toMatchObject({ type: "not_found_error", requestID: expect.any(String) });
  });
});
