// Counts that a provider has not reported, or not in a usable way, are unknown and not 0: they are derived from the total, or estimated.
import { describe, expect, test } from "bun:test";
import type { FormatName } from "../formats/format-names.ts";
import { tokensOfText } from "../formats/text-tokens.ts";
import { formatNamed } from "../formats/registry.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { Usage } from "./usage-accumulator.ts";
import { tapResponse, usageOfBody } from "./usage-tap.ts";

const TEXT = "The quick brown fox jumps over the lazy dog. ".repeat(100);
const TOKENS = tokensOfText(TEXT);

/** A response as it is sent as a whole and as a stream, with the same text and usage. */
interface Api {
  readonly format: FormatName;
  readonly body: (text: string, usage: unknown) => object;
  readonly events: (text: string, usage: unknown) => readonly object[];
}

const candidate = (text: string) => ({ content: { parts: [{ text }] }, finishReason: "STOP" });
const message = (text: string) => [{ type: "message", content: [{ type: "output_text", text }] }];

const APIS: Record<string, Api> = {
  chat: {
    format: "openai",
    body: (content, usage) => ({ choices: [{ message: { content } }], usage }),
    events: (content, usage) => [{ choices: [{ delta: { content } }] }, { choices: [], usage }],
  },
  responses: {
    format: "responses",
    body: (text, usage) => ({ output: message(text), usage }),
    events: (delta, usage) => [
      { type: "response.output_text.delta", delta },
      { type: "response.completed", response: { output: [], usage } },
    ],
  },
  messages: {
    format: "anthropic",
    body: (text, usage) => ({ type: "message", content: [{ type: "text", text }], usage }),
    events: (text, usage) => [
      { type: "message_start", message: { usage: { output_tokens: 0 } } },
      { type: "content_block_delta", delta: { type: "text_delta", text } },
      { type: "message_delta", usage },
    ],
  },
  gemini: {
    format: "gemini",
    body: (text, usageMetadata) => ({ candidates: [candidate(text)], usageMetadata }),
    events: (text, usageMetadata) => [{ candidates: [candidate(text)], usageMetadata }],
  },
};

const NAMES: Record<string, readonly [input: string, output: string, total: string | null]> = {
  chat: ["prompt_tokens", "completion_tokens", "total_tokens"],
  responses: ["input_tokens", "output_tokens", "total_tokens"],
  messages: ["input_tokens", "output_tokens", null],
  gemini: ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"],
};

function tapped(format: FormatName, body: Uint8Array | null, isStream: boolean) {
  return {
    upstreamResponse: { ok: true, headers: new Headers() } as unknown as UpstreamResponse,
    body,
    reader: { next: () => Promise.resolve(null), peek: () => Promise.resolve(null), cancel: () => undefined },
    isStream,
    isDecoded: false,
    isChat: true,
    hidesUsage: false,
    usageReader: formatNamed(format).usage,
    details: null,
  };
}

/** Returns the usage of a response that is in memory, is relayed whole, and is streamed. */
function usages(name: string, text: string, usage: unknown): readonly (Usage | null)[] {
  const { format, body, events } = APIS[name] ?? never();
  const bytes = Buffer.from(JSON.stringify(body(text, usage)));
  const stream = events(text, usage).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  const relayed = [[bytes.subarray(0, 30), bytes.subarray(30)], stream.map((event) => Buffer.from(event))];
  return [
    usageOfBody(tapped(format, bytes, false)),
    ...relayed.map((chunks, at) => {
      const tap = tapResponse(tapped(format, null, at === 1)) ?? never();
      for (const chunk of chunks) void tap.push(chunk);
      void tap.end();
      return tap.result(true);
    }),
  ];
}

function never(): never {
  throw new Error("does not happen");
}

function expectEach(name: string, text: string, usage: unknown, expected: Partial<Usage>): void {
  for (const found of usages(name, text, usage)) expect(found).toMatchObject(expected);
}

const UNUSABLE = ["1000", -5, 1000.5, 1e30, null, undefined, true, [7], {}];

describe.each(Object.keys(APIS))("%s", (name) => {
  const [input, output, total] = NAMES[name] ?? never();

  test.each(UNUSABLE.map((value) => [value]))("an output of %p is that of the text", (value) => {
    const expected = { inputTokens: 10, isPartial: true, unknown: "output" as const };
    for (const usage of usages(name, TEXT, { [input]: 10, [output]: value })) {
      expect(usage).toMatchObject(expected);
      // Estimates of streams read samples.
      expect(Math.abs((usage?.outputTokens ?? 0) / TOKENS - 1)).toBeLessThan(0.05);
    }
  });

  test.each(UNUSABLE.map((value) => [value]))(
    "an input of %p is unknown, and the output is known",
    (value) => {
      const usage = { [input]: value, [output]: 700 };
      expectEach(name, TEXT, usage, { outputTokens: 700, isPartial: true, unknown: "input" });
    },
  );

  test("of only zeros nothing is known, unless there is no text", () => {
    const zeros = { [input]: 0, [output]: 0, ...(total !== null && { [total]: 0 }) };
    for (const usage of usages(name, TEXT, zeros)) {
      expect(usage).toMatchObject({ inputTokens: 0, isPartial: true, unknown: "both" });
      expect(usage?.outputTokens).toBeGreaterThan(900);
    }
    expectEach(name, "", zeros, { inputTokens: 0, outputTokens: 0, isPartial: false });
  });

  test("no output for an empty text is as reported", () => {
    expectEach(
      name,
      "",
      { [input]: 10, [output]: 0 },
      { inputTokens: 10, outputTokens: 0, isPartial: false },
    );
  });

  test("the total says what is missing", () => {
    if (total === null) return;
    const of = (usage: Record<string, unknown>) => ({ ...usage, [total]: 510 });
    const expected = { inputTokens: 10, outputTokens: 500, isPartial: false };
    for (const value of UNUSABLE) {
      expectEach(name, TEXT, of({ [input]: 10, [output]: value }), expected);
      expectEach(name, TEXT, of({ [input]: value, [output]: 500 }), expected);
      const neither = of({ [input]: value, [output]: value });
      expectEach(name, TEXT, neither, { inputTokens: 510, isPartial: true, unknown: "split" });
    }
  });
});

test.each(["1000", 0])("%p at the end does not confirm the number of an earlier event", (last) => {
  const events = [
    { choices: [{ delta: { content: TEXT } }], usage: { prompt_tokens: 10, completion_tokens: 1 } },
    { choices: [], usage: { prompt_tokens: 10, completion_tokens: last } },
  ];
  const tap = tapResponse(tapped("openai", null, true));
  for (const event of events) void tap?.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  void tap?.end();
  const usage = tap?.result(true);
  expect(usage).toMatchObject({ inputTokens: 10, isPartial: true, unknown: "output" });
  expect(usage?.outputTokens).toBeGreaterThan(900);
});

test("embeddings have no output, whatever is in them", () => {
  const body = Buffer.from(
    JSON.stringify({ data: [{ embedding: [0.5, 0.25] }], usage: { prompt_tokens: 8, total_tokens: 8 } }),
  );
  expect(usageOfBody({ ...tapped("openai", body, false), isChat: false })).toMatchObject({
    inputTokens: 8,
    outputTokens: 0,
    isPartial: false,
  });
});
