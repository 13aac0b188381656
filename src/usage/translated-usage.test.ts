// What a translated response reports as its usage is what the gateway counts: clients that compute their costs and the usage report agree.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { formatNamed } from "../formats/registry.ts";
import { StreamTranslation } from "../formats/stream-translation.ts";
import { UsageAccumulator, usageOf, type Usage } from "./usage-accumulator.ts";

/** A format of targets: its counters, a whole response, and the events of a stream whose first and last one report usage. */
interface Target {
  readonly counters: readonly string[];
  readonly body: (usage: JsonObject) => JsonObject;
  readonly events: (first: JsonObject, last: JsonObject) => readonly JsonObject[];
}

const choice = { index: 0, delta: { content: "x" }, finish_reason: null };
const candidate = { content: { parts: [{ text: "x" }] } };
const response = { id: "r", object: "response", model: "m", output: [], status: "completed" };

const TARGETS: Record<"openai" | "anthropic" | "gemini" | "responses", Target> = {
  openai: {
    counters: ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details.cached_tokens"],
    body: (usage) => ({
      choices: [{ index: 0, message: { content: "x" }, finish_reason: "stop" }],
      usage,
    }),
    events: (first, last) => [
      { choices: [choice], usage: first },
      { choices: [], usage: last },
    ],
  },
  anthropic: {
    counters: [
      ...["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
      ...["cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens"],
      "output_tokens_details.thinking_tokens",
    ],
    body: (usage) => ({ type: "message", content: [], stop_reason: "end_turn", usage }),
    events: (first, last) => [
      { type: "message_start", message: { id: "m", model: "m", usage: first } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: last },
      { type: "message_stop" },
    ],
  },
  gemini: {
    counters: [
      ...["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"],
      ...["cachedContentTokenCount", "toolUsePromptTokenCount"],
    ],
    body: (usage) => ({ candidates: [{ ...candidate, finishReason: "STOP" }], usageMetadata: usage }),
    events: (first, last) => [
      { candidates: [candidate], usageMetadata: first },
      { candidates: [{ ...candidate, finishReason: "STOP" }], usageMetadata: last },
    ],
  },
  responses: {
    counters: [
      ...["input_tokens", "output_tokens", "total_tokens", "input_tokens_details.cached_tokens"],
      "output_tokens_details.reasoning_tokens",
    ],
    body: (usage) => ({ ...response, usage }),
    events: (_, last) => [{ type: "response.completed", response: { ...response, usage: last } }],
  },
};

const count = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: 300 }) },
  fc.constantFrom(0, -1, 0.5, 1e13, "7", null),
);

/** A usage object with some of the counters. */
function usageArb(counters: readonly string[]): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(fc.constantFrom(...counters), count), { maxLength: 6 }).map((pairs) => {
    const usage: Record<string, unknown> = {};
    for (const [path, value] of pairs) {
      const [name = "", inner] = path.split(".");
      const group = usage[name];
      usage[name] = inner === undefined ? value : { ...(isJsonObject(group) ? group : {}), [inner]: value };
    }
    return usage;
  });
}

/** Returns the response for the chat client, and what is counted. */
function compare(reported: unknown, counted: Usage | null): void {
  const usage = reported as ChatUsage | undefined;
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage ?? {};
  expect({
    input: usage?.prompt_tokens ?? 0,
    output: usage?.completion_tokens ?? 0,
    total: usage?.total_tokens ?? 0,
    cached: input?.cached_tokens ?? 0,
    written: input?.cache_write_tokens ?? 0,
    reasoning: output?.reasoning_tokens ?? 0,
  }).toEqual({
    input: counted?.inputTokens ?? 0,
    output: counted?.outputTokens ?? 0,
    total: (counted?.inputTokens ?? 0) + (counted?.outputTokens ?? 0),
    cached: counted?.cachedInputTokens ?? 0,
    written: (counted?.cacheWrite5mTokens ?? 0) + (counted?.cacheWrite1hTokens ?? 0),
    reasoning: counted?.reasoningTokens ?? 0,
  });
}

interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number; readonly cache_write_tokens: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

const OPTIONS = { createdAt: 1, targetTag: "t" };
const CONTEXT = { model: "m", includeUsage: true, customTools: [], repeatedFields: null };

/** Translates a stream to that of a chat client, and returns the usage in its last chunk that has one. */
function translatedUsage(name: keyof typeof TARGETS, events: readonly JsonObject[]): unknown {
  const { inbound } = formatNamed("openai");
  if (inbound === null) throw new Error("the chat format has clients");
  const translation = new StreamTranslation(formatNamed(name).outbound, inbound, OPTIONS, CONTEXT);
  const end = name === "openai" ? "data: [DONE]\n\n" : "";
  const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + end;
  const parts = [translation.push(Buffer.from(stream))];
  expect(translation.ending()).toBe("complete");
  parts.push(translation.takeRest());
  const text = parts.map((part) => Buffer.from(part ?? "").toString()).join("");
  const chunks = [...text.matchAll(/^data: (\{[^\n]*)$/gm)].map(([, json = ""]) => JSON.parse(json));
  return chunks.findLast(({ usage }) => isJsonObject(usage))?.usage;
}

describe.each(Object.entries(TARGETS))("the usage of %s", (format, { counters, body, events }) => {
  const name = format as keyof typeof TARGETS;
  const { usage: reader, outbound } = formatNamed(name);

  test("in a whole response", () => {
    fc.assert(
      fc.property(usageArb(counters), (usage) => {
        const json = body(usage);
        const completion = outbound.decodeResponse(json, OPTIONS);
        compare(completion?.usage, usageOf(reader, reader.readBody(Buffer.from(JSON.stringify(json)))));
      }),
      { numRuns: 500 },
    );
  });

  test("in a stream", () => {
    fc.assert(
      fc.property(usageArb(counters), usageArb(counters), (first, last) => {
        const stream = events(first, last);
        const accumulator = new UsageAccumulator(reader);
        for (const event of stream) accumulator.addEvent(event);
        compare(translatedUsage(name, stream), accumulator.result(true, true));
      }),
      { numRuns: 500 },
    );
  });
});
