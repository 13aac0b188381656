// Whatever a provider reports as usage, in a body or in the events of a stream, the tokens and the cost are amounts that a ledger can hold,
// or they are unknown.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FORMAT_NAMES } from "../formats/format-names.ts";
import { formatNamed } from "../formats/registry.ts";
import { readRealtimeEvent } from "../formats/openai/realtime-events.ts";
import type { TokenCounts } from "../formats/token-counts.ts";
import { CompiledPrice } from "./compiled-price.ts";
import { UsageAccumulator, usageOf } from "./usage-accumulator.ts";
import { runs } from "../../test/support/long-form.ts";

/** The counters of all formats, and the objects and lists that contain some. */
const NAMES = [
  ..."prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens".split(" "),
  ..."cache_write_tokens audio_tokens reasoning_tokens prompt_cache_hit_tokens thinking_tokens".split(" "),
  ..."cache_read_input_tokens cache_creation_input_tokens ephemeral_5m_input_tokens".split(" "),
  ..."ephemeral_1h_input_tokens promptTokenCount cachedContentTokenCount totalTokenCount".split(" "),
  ..."toolUsePromptTokenCount candidatesTokenCount thoughtsTokenCount".split(" "),
];
const OBJECTS = [
  ..."prompt_tokens_details completion_tokens_details input_tokens_details output_tokens_details".split(" "),
  ..."input_token_details output_token_details cached_tokens_details cache_creation".split(" "),
];
const LISTS = ["promptTokensDetails", "cacheTokensDetails", "candidatesTokensDetails"];

/** The text of a value: JSON has numbers that no JavaScript object prints, such as 1e999. */
const number = fc.oneof(
  fc.nat({ max: 2000 }).map(String),
  fc.constantFrom(
    "0",
    "-0",
    "-1",
    "-7",
    "0.5",
    "-0.5",
    "7.0",
    "1e2",
    "1e-7",
    "1e12",
    "1000000000001",
    "1e15",
  ),
  fc.constantFrom("9007199254740991", "9007199254740993", "18446744073709551616", "1e308", "1e999", "-1e999"),
  fc.constantFrom("null", "true", '"12"', '"-5"', '""', "[7]", "{}", '{"tokens":7}'),
);
const pair = (name: string, value: string) => `${JSON.stringify(name)}:${value}`;
const counter = fc.tuple(fc.constantFrom(...NAMES), number).map(([name, value]) => pair(name, value));
const counters = fc.array(counter, { maxLength: 6 }).map((pairs) => `{${pairs.join(",")}}`);
const object = fc.tuple(fc.constantFrom(...OBJECTS), counters).map(([name, value]) => pair(name, value));
const list = fc
  .tuple(fc.constantFrom(...LISTS), number, fc.constantFrom("AUDIO", "TEXT"))
  .map(([name, value, modality]) => pair(name, `[{"modality":"${modality}","tokenCount":${value}}]`));
const iterations = counters.map((text) =>
  pair("iterations", `[${text.replace("{", '{"type":"compaction",').replace(",}", "}")}]`),
);
const usageText = fc
  .array(fc.oneof({ weight: 4, arbitrary: counter }, object, list, iterations), {
    minLength: 1,
    maxLength: 14,
  })
  .map((fields) => `{${fields.join(",")}}`);

const PRICES = [
  { input: "1000000", output: "1000000", cache_write_1h: "999999.999999999", per_request: "1000000" },
  { input: "0.000000001", output: "0", cached_input: "0", reasoning: "1000000" },
  { input: "2.5", output: "10", above: { tokens: 1000, input: "1000000", output: "0.1" } },
].map((price) => new CompiledPrice({ model: "m", ...price }));

const isAmount = (value: number) => Number.isSafeInteger(value) && value >= 0;

/** Counts how many of the usages were known, so that a test that compares nothing fails. */
function check(tokens: TokenCounts | null): number {
  if (tokens === null) return 0;
  const { inputTokens: input, outputTokens: output, ...rest } = tokens;
  const { cachedInputTokens, cacheWrite5mTokens, cacheWrite1hTokens, audioInputTokens } = rest;
  const { reasoningTokens, audioOutputTokens } = rest;
  const ofInput = [cachedInputTokens, cacheWrite5mTokens, cacheWrite1hTokens, audioInputTokens];
  const ofOutput = [reasoningTokens, audioOutputTokens];
  for (const value of [input, output, input + output, ...ofInput, ...ofOutput])
    expect([value, isAmount(value)]).toEqual([value, true]);
  expect(ofInput.reduce((sum, part) => sum + part)).toBeLessThanOrEqual(input);
  expect(ofOutput.reduce((sum, part) => sum + part)).toBeLessThanOrEqual(output);
  for (const price of PRICES) {
    const cost = price.costOf(tokens);
    expect([cost, isAmount(cost)]).toEqual([cost, true]);
  }
  return 1;
}

describe.each(FORMAT_NAMES.map((name) => [name]))("usage of %s", (name) => {
  const { usage: reader } = formatNamed(name);
  const key = name === "gemini" ? "usageMetadata" : "usage";

  test("in a body", () => {
    let known = 0;
    const body = usageText.map((usage) => `{"id":"x",${pair(key, usage)}}`);
    fc.assert(
      fc.property(body, (text) => {
        known += check(usageOf(reader, reader.readBody(Buffer.from(text))));
      }),
      { numRuns: runs({ short: 400, long: 2000 }) },
    );
    expect(known).toBeGreaterThan(20);
  });

  test("in several events of a stream, complete or cut", () => {
    let known = 0;
    const event = usageText.chain((usage) =>
      fc.constantFrom(
        `{${pair(key, usage)},"choices":[]}`,
        `{${pair(key, usage)},"type":"message_delta"}`,
        `{"type":"response.completed","response":{${pair(key, usage)}}}`,
        `{"type":"message_start","message":{${pair(key, usage)}}}`,
      ),
    );
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 4 }), fc.boolean(), (events, isComplete) => {
        const accumulator = new UsageAccumulator(reader);
        for (const text of events) accumulator.addEvent(JSON.parse(text));
        known += check(accumulator.result(isComplete, true));
      }),
      { numRuns: runs({ short: 200, long: 1000 }) },
    );
    expect(known).toBeGreaterThan(20);
  });
});

test("usage of a realtime response", () => {
  let known = 0;
  fc.assert(
    fc.property(usageText, (usage) => {
      const event = readRealtimeEvent(`{"type":"response.done","response":{"usage":${usage}}}`);
      if (event?.type === "done") known += check(event.tokens);
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
  expect(known).toBeGreaterThan(20);
});
