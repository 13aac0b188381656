// Usage is read in every format from whole bodies and from streams, and is marked partial if the provider may have used more.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../base/json.ts";
import type { FormatName } from "../formats/format-names.ts";
import { formatNamed } from "../formats/registry.ts";
import { UsageAccumulator } from "./usage-accumulator.ts";

const CHAT_USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

function usageOfBody(format: FormatName, usage: JsonObject) {
  const { usage: reader } = formatNamed(format);
  const accumulator = new UsageAccumulator(reader);
  accumulator.add(reader.countersOf(usage), "final");
  return accumulator.result(true, true);
}

function usageOfStream(format: FormatName, events: readonly unknown[], isComplete = true, isChat = true) {
  const accumulator = new UsageAccumulator(formatNamed(format).usage);
  const isUsageOnly = events.map((event) => accumulator.addEvent(event));
  return { usage: accumulator.result(isComplete, isChat), isUsageOnly };
}

const usageOf = (inputTokens: number, outputTokens: number, isPartial = false) => ({
  inputTokens,
  outputTokens,
  isPartial,
});

describe("a whole body", () => {
  test.each([
    ["a chat completion", CHAT_USAGE, usageOf(3, 4)],
    ["embeddings, which have no output", { prompt_tokens: 5, total_tokens: 5 }, usageOf(5, 0)],
    [
      "a chat completion, whose cached input is part of the prompt",
      { ...CHAT_USAGE, prompt_tokens_details: { cached_tokens: 2 } },
      usageOf(3, 4),
    ],
    [
      "reasoning that is counted only in the total",
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 107 },
      usageOf(3, 104),
    ],
    [
      "a response of the Responses API",
      { input_tokens: 5, input_tokens_details: { cached_tokens: 4 }, output_tokens: 6, total_tokens: 11 },
      usageOf(5, 6),
    ],
  ])("openai: %s", (_, usage, expected) => {
    expect(usageOfBody("openai", usage)).toMatchObject(expected);
  });

  test.each([
    ["a message", { input_tokens: 5, output_tokens: 6 }, usageOf(5, 6)],
    [
      "a message, whose cached input is counted separately",
      { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 6 },
      usageOf(125, 6),
    ],
    [
      "counters that are null",
      { input_tokens: 5, cache_read_input_tokens: null, output_tokens: 0 },
      usageOf(5, 0),
    ],
  ])("anthropic: %s", (_, usage, expected) => {
    expect(usageOfBody("anthropic", usage)).toMatchObject(expected);
  });

  test.each([
    {},
    { prompt_tokens: "3", input_tokens: "3" },
    { prompt_tokens: -1, input_tokens: -1 },
    { prompt_tokens: 0.5, input_tokens: 0.5 },
    { prompt_tokens: 1e13, input_tokens: 1e13 },
  ])("without valid counters: %j", (usage) => {
    expect(usageOfBody("openai", usage)).toBeNull();
    expect(usageOfBody("anthropic", usage)).toBeNull();
  });
});

describe("a stream", () => {
  const content = { choices: [{ index: 0, delta: { content: "x" } }], usage: null };
  const usageEvent = { choices: [], usage: CHAT_USAGE };
  const start = { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } };
  const delta = { type: "message_delta", delta: {}, usage: { output_tokens: 8 } };

  test("of chat chunks, the last of which has only usage", () => {
    const { usage, isUsageOnly } = usageOfStream("openai", [content, content, usageEvent]);
    expect(usage).toMatchObject(usageOf(3, 4));
    expect(isUsageOnly).toEqual([false, false, true]);
  });

  test("of a message, which reports usage in two events", () => {
    const { usage, isUsageOnly } = usageOfStream("anthropic", [start, { type: "ping" }, delta]);
    expect(usage).toMatchObject(usageOf(9, 8));
    expect(isUsageOnly).toEqual([false, false, false]);
  });

  test("of the Responses API, which reports usage at the end", () => {
    const response = { usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 } };
    const events = [
      { type: "response.created", response: { usage: null } },
      { type: "response.completed", response },
    ];
    expect(usageOfStream("openai", events).usage).toMatchObject(usageOf(2, 3));
  });

  test("that reports the counts so far in every chunk: the last ones are used", () => {
    const upTo = (tokens: number) => ({ ...content, usage: { prompt_tokens: 3, completion_tokens: tokens } });
    expect(usageOfStream("openai", [upTo(1), upTo(2), upTo(3)]).usage).toMatchObject(usageOf(3, 3));
    expect(usageOfStream("openai", [upTo(1), upTo(2)], false).usage).toMatchObject(usageOf(3, 2, true));
  });

  test("that reports 0 tokens afterwards: what was reported before has been used", () => {
    const zero = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } };
    expect(usageOfStream("openai", [content, usageEvent, zero]).usage).toMatchObject(usageOf(3, 4));
    const end = { type: "message_delta", usage: { input_tokens: 0, output_tokens: 12 } };
    expect(usageOfStream("anthropic", [start, end]).usage).toMatchObject(usageOf(9, 12));
  });

  test("that reports fewer tokens afterwards: the first number was an estimate", () => {
    const end = { type: "message_delta", usage: { input_tokens: 7, output_tokens: 12 } };
    expect(usageOfStream("anthropic", [start, end]).usage).toMatchObject(usageOf(7, 12));
  });

  test("that was cut is partial, unless the final usage was reported before", () => {
    expect(usageOfStream("anthropic", [start], false).usage).toMatchObject(usageOf(9, 1, true));
    expect(usageOfStream("openai", [content], false).usage).toMatchObject(usageOf(0, 0, true));
    expect(usageOfStream("openai", [content, usageEvent], false).usage).toMatchObject({ isPartial: false });
    expect(usageOfStream("anthropic", [start, delta], false).usage).toMatchObject({ isPartial: false });
  });

  test.each([
    "response.completed",
    "response.incomplete",
    "response.failed",
    "image_generation.completed",
    "transcript.text.done",
  ])("whose client disconnects after %s is not partial", (type) => {
    const usage = { input_tokens: 2, output_tokens: 3, total_tokens: 5 };
    const event = type.startsWith("response.") ? { type, response: { usage } } : { type, usage };
    expect(usageOfStream("openai", [event], false).usage).toMatchObject(usageOf(2, 3, false));
  });

  test("that ends normally after message_start is partial too", () => {
    expect(usageOfStream("anthropic", [start]).usage).toMatchObject(usageOf(9, 1, true));
  });

  test("that reports no usage has none; a cut stream that is not a chat neither", () => {
    expect(usageOfStream("openai", [content]).usage).toBeNull();
    expect(usageOfStream("openai", [], false, false).usage).toBeNull();
  });

  test.each([[null], [1], [[]], ["x"], [{ message: null }], [{ message: {} }], [{ usage: 1, choices: [] }]])(
    "with an event of another kind: %j",
    (event) => {
      for (const format of ["openai", "anthropic"] as const)
        expect(usageOfStream(format, [event])).toEqual({ usage: null, isUsageOnly: [false] });
    },
  );
});
