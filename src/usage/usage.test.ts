// Usage is read from either wire format, however its parts are told, and it is known whether it is all of it.
import { describe, expect, test } from "bun:test";
import { UsageAccumulator } from "./usage.ts";

const openAi = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const complete = true;
const chat = true;

function whole(usage: unknown) {
  const told = new UsageAccumulator();
  told.add(usage, true);
  return told.result(complete, chat);
}

function streamed(events: readonly unknown[], isComplete = true, isChat = true) {
  const told = new UsageAccumulator();
  const taken = events.map((event) => told.addEvent(event));
  return { usage: told.result(isComplete, isChat), taken };
}

describe("a whole answer", () => {
  const of = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens, isPartial: false });

  test.each([
    ["a chat completion", openAi, of(3, 4)],
    ["embeddings, which have no output", { prompt_tokens: 5, total_tokens: 5 }, of(5, 0)],
    ["a message", { input_tokens: 5, output_tokens: 6 }, of(5, 6)],
    [
      "a message whose cached input is counted apart",
      { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 6 },
      of(125, 6),
    ],
    [
      "a chat completion whose cached input is part of the prompt",
      { ...openAi, prompt_tokens_details: { cached_tokens: 2 } },
      of(3, 4),
    ],
    [
      "reasoning that only the total holds",
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 107 },
      of(3, 104),
    ],
    [
      "a response",
      { input_tokens: 5, input_tokens_details: { cached_tokens: 4 }, output_tokens: 6, total_tokens: 11 },
      of(5, 6),
    ],
    ["counts that are null", { input_tokens: 5, cache_read_input_tokens: null, output_tokens: 0 }, of(5, 0)],
  ])("%s", (_, usage, expected) => {
    expect(whole(usage)).toEqual(expected);
  });

  test("of any other shape tells nothing", () => {
    const strange = [
      null,
      "many",
      3,
      [],
      {},
      { prompt_tokens: "3" },
      { prompt_tokens: -1 },
      { input_tokens: 0.5 },
    ];
    for (const usage of [...strange, { prompt_tokens: 1e13 }]) expect(whole(usage)).toBeNull();
  });
});

describe("a stream", () => {
  const content = { choices: [{ index: 0, delta: { content: "x" } }], usage: null };
  const last = { choices: [], usage: openAi };
  const start = { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } };
  const delta = { type: "message_delta", delta: {}, usage: { output_tokens: 8 } };

  test("of chunks, whose last one holds only the usage", () => {
    const { usage, taken } = streamed([content, content, last]);
    expect(usage).toEqual({ inputTokens: 3, outputTokens: 4, isPartial: false });
    expect(taken).toEqual([false, false, true]);
  });

  test("of a message, told in two places", () => {
    const { usage, taken } = streamed([start, { type: "ping" }, delta]);
    expect(usage).toEqual({ inputTokens: 9, outputTokens: 8, isPartial: false });
    expect(taken).toEqual([false, false, false]);
  });

  test("of a response, told at its end", () => {
    const response = { usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 } };
    const events = [{ type: "response.created", response: { usage: null } }];
    expect(streamed([...events, { type: "response.completed", response }]).usage).toEqual({
      inputTokens: 2,
      outputTokens: 3,
      isPartial: false,
    });
  });

  test("whose every chunk tells the count so far: the last word holds", () => {
    const upTo = (tokens: number) => ({ ...content, usage: { prompt_tokens: 3, completion_tokens: tokens } });
    expect(streamed([upTo(1), upTo(2), upTo(3)]).usage).toEqual({
      inputTokens: 3,
      outputTokens: 3,
      isPartial: false,
    });
    expect(streamed([upTo(1), upTo(2)], false).usage).toEqual({
      inputTokens: 3,
      outputTokens: 2,
      isPartial: true,
    });
  });

  test("that ended early is partial, unless all was told before", () => {
    expect(streamed([start], false).usage).toEqual({ inputTokens: 9, outputTokens: 1, isPartial: true });
    expect(streamed([content], false).usage).toEqual({ inputTokens: 0, outputTokens: 0, isPartial: true });
    expect(streamed([content, last], false).usage).toMatchObject({ isPartial: false });
    expect(streamed([start, delta], false).usage).toMatchObject({ isPartial: false });
  });

  test("that ends in order after its first word is partial too", () => {
    expect(streamed([start]).usage).toEqual({ inputTokens: 9, outputTokens: 1, isPartial: true });
  });

  test("that tells nothing is not known, and of what is no chat nothing is expected", () => {
    expect(streamed([content]).usage).toBeNull();
    expect(streamed([], false, false).usage).toBeNull();
  });

  test("with anything else in it tells nothing", () => {
    for (const event of [null, 1, [], "x", { message: null }, { message: {} }, { usage: 1, choices: [] }])
      expect(streamed([event])).toEqual({ usage: null, taken: [false] });
  });
});
