// Stop sequences at targets whose API or model has none: the response ends before the first of them, with
// the stop reason of the client's format, and the charge is that of the provider.
import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { totalAfter } from "../support/usage-fixtures.ts";

const {
  gatehouse,
  providers: [provider],
} = await startWithProviders("Ada");

const TARGETS = [
  { provider: "openai", format: "responses", model: "gpt-4o" },
  { provider: "openai", format: "responses", model: "gpt-5.6" },
  // Chat completions of a model that rejects stop sequences.
  { provider: "openai", format: "openai", model: "o3" },
];
const USAGE = { input: 11, output: 222, reasoning: 20 };
const TEXT = "One two END three four five.";
const QUESTION = [{ role: "user" as const, content: "Count." }];

async function connect({ model, ...target }: (typeof TARGETS)[number]) {
  const route = await seedRoute(gatehouse, {
    gateway: { error_format: "auto" },
    upstream: { targets: [targetAt(provider, { ...target, models: [model] })], max_attempts: 1 },
    rule: { path: "/v1/*", methods: ["*"] },
  });
  const { key } = await seedKey(gatehouse, route.gateway);
  provider.behave({ text: TEXT, usage: USAGE });
  return {
    route,
    anthropic: new Anthropic({ apiKey: key, baseURL: gatehouse.proxyUrl, maxRetries: 0 }),
    openai: new OpenAI({ apiKey: key, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 0 }),
  };
}

describe.each(TARGETS)("at $model of a target with the format $format", (target) => {
  const { model } = target;

  test("a message ends with stop_sequence, whole and streamed", async () => {
    const { anthropic, route } = await connect(target);
    const request = { model, max_tokens: 1000, messages: QUESTION, stop_sequences: ["###", "END"] };
    const whole = await anthropic.messages.create(request);
    const streamed = await anthropic.messages.stream(request).finalMessage();
    for (const message of [whole, streamed]) {
      expect(message.content.filter(({ type }) => type === "text")).toMatchObject([
        { type: "text", text: "One two " },
      ]);
      expect([message.stop_reason, message.stop_sequence]).toEqual(["stop_sequence", "END"]);
      expect(message.usage.output_tokens).toBe(USAGE.output);
    }
    const total = await totalAfter(gatehouse, route, 2);
    expect(total).toMatchObject({ output_tokens: 2 * USAGE.output, partial_requests: 0 });
  });

  test("a message without the sequence ends as it would", async () => {
    const { anthropic } = await connect(target);
    const request = { model, max_tokens: 1000, messages: QUESTION, stop_sequences: ["NEVER", "five.."] };
    const streamed = await anthropic.messages.stream(request).finalMessage();
    expect(streamed.content.at(-1)).toMatchObject({ type: "text", text: TEXT });
    expect([streamed.stop_reason, streamed.stop_sequence]).toEqual(["end_turn", null]);
  });
});

test.each([false, true])("a chat completion ends with stop (stream: %p)", async (stream) => {
  const { openai, route } = await connect({ provider: "openai", format: "responses", model: "gpt-4o" });
  const request = { model: "gpt-4o", messages: QUESTION, stop: "END" };
  if (stream) {
    const chunks = await openai.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const reasons: unknown[] = [];
    let output = 0;
    for await (const { choices, usage } of chunks) {
      text += choices[0]?.delta.content ?? "";
      if ((choices[0]?.finish_reason ?? null) !== null) reasons.push(choices[0]?.finish_reason);
      output = usage?.completion_tokens ?? output;
    }
    expect([text, reasons, output]).toEqual(["One two ", ["stop"], USAGE.output]);
  } else {
    const { choices, usage } = await openai.chat.completions.create(request);
    expect([choices[0]?.message.content, choices[0]?.finish_reason]).toEqual(["One two ", "stop"]);
    expect(usage?.completion_tokens).toBe(USAGE.output);
  }
  const total = await totalAfter(gatehouse, route, 1);
  expect(total).toMatchObject({ output_tokens: USAGE.output, partial_requests: 0 });
});
