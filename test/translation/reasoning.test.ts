// Reasoning of any target returns bit for bit through clients of any format, whether the format has a place for it or not.
import fc from "fast-check";
import { expect, test } from "bun:test";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { ReasoningDetail } from "../../src/formats/chat-extensions.ts";
import { FORMAT_NAMES, HUB_FORMAT, type FormatName } from "../../src/formats/format-names.ts";
import {
  CHAT_STREAM_DONE,
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatDelta,
} from "../../src/formats/openai/wire-types.ts";
import { unpackDetail } from "../../src/formats/reasoning-details.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { SseParser } from "../../src/formats/sse.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { NO_CONTEXT } from "../../src/formats/translator.ts";
import { runs } from "../support/long-form.ts";
import { grapheme } from "../support/characters.ts";

const CLIENTS = FORMAT_NAMES.filter((name) => formatNamed(name).inbound !== null);
const CALL = { id: "call_1", type: "function", function: { name: "now", arguments: "{}" } } as const;

const data = fc.base64String({ minLength: 4, maxLength: 40 });
const text = fc.string({ minLength: 1, maxLength: 20, unit: grapheme });

/** What decoders of each format produce. */
const DETAILS: Readonly<Record<string, fc.Arbitrary<ReasoningDetail>>> = {
  gemini: fc.oneof(
    data.map((each) => ({ type: "reasoning.encrypted", format: "gemini", data: each, id: CALL.id }) as const),
    data.map((each) => ({ type: "reasoning.encrypted", format: "gemini", data: each }) as const),
  ),
  anthropic: fc.oneof(
    fc
      .tuple(text, data)
      .map(
        ([thought, signature]) =>
          ({ type: "reasoning.text", format: "anthropic", text: thought, signature }) as const,
      ),
    data.map((each) => ({ type: "reasoning.encrypted", format: "anthropic", data: each }) as const),
  ),
  responses: data.map(
    (each) =>
      ({ type: "reasoning.encrypted", format: "responses", data: each, target: "t", id: "rs_1" }) as const,
  ),
};

function completionWith(details: readonly ReasoningDetail[]): ChatCompletion {
  return {
    id: "resp_1",
    object: "chat.completion",
    created: 1_760_000_000,
    model: "any-model",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "One moment.",
          refusal: null,
          reasoning_details: details,
          tool_calls: [structuredClone(CALL)],
        },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    },
  };
}

/** Returns the next request of a client that sends the response back unchanged, as SDKs do. */
const NEXT_REQUEST: Readonly<Record<FormatName, ((response: JsonObject) => JsonObject) | null>> = {
  openai: ({ choices }) => ({
    messages: [
      { role: "user", content: "Hi" },
      Array.isArray(choices) && isJsonObject(choices[0]) ? choices[0]["message"] : null,
      { role: "tool", tool_call_id: CALL.id, content: "noon" },
    ],
  }),
  anthropic: ({ content }) => ({
    max_tokens: 9,
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: CALL.id, content: "noon" }] },
    ],
  }),
  responses: ({ output }) => ({
    input: [
      { role: "user", content: "Hi" },
      ...(Array.isArray(output) ? output : []),
      { type: "function_call_output", call_id: CALL.id, output: "noon" },
    ],
  }),
  gemini: null,
};

const CASES = CLIENTS.flatMap((client) => Object.entries(DETAILS).map((each) => [client, ...each] as const));

test.each(CASES)("%s clients return reasoning of %s unchanged", (name, _, detail) => {
  const { inbound } = formatNamed(name);
  const nextRequest = NEXT_REQUEST[name];
  if (inbound === null || nextRequest === null) throw new Error(`describe what clients of ${name} send back`);
  fc.assert(
    fc.property(fc.array(detail, { minLength: 1, maxLength: 3 }), (details) => {
      const response = inbound.encodeResponse(completionWith(details), { ...NO_CONTEXT, model: "any-model" });
      const next = nextRequest(JSON.parse(JSON.stringify(response)));
      const { messages } = inbound.decodeRequest(next, new TranslationReport());
      const assistant = Array.isArray(messages)
        ? messages.filter((each) => isJsonObject(each) && each["role"] === "assistant")
        : [];
      expect(assistant).toHaveLength(1);
      expect(assistant[0]?.reasoning_details).toEqual(details);
      expect(assistant[0]?.tool_calls).toEqual([CALL]);
    }),
    { numRuns: runs({ short: 50, long: 4000 }) },
  );
});

function chunkOf(delta: ChatDelta, finish_reason: "tool_calls" | null = null): ChatCompletionChunk {
  return {
    id: "resp_1",
    object: "chat.completion.chunk",
    created: 1_760_000_000,
    model: "any-model",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  };
}

/** Reads the stream of a client. Reasoning of other formats is packed into the data of the client's format. */
function detailsInStream(name: FormatName, stream: string): ReasoningDetail[] {
  if (name === HUB_FORMAT) return detailsInChunks(stream);
  const found: ReasoningDetail[] = [];
  const reader = formatNamed(name).outbound.decodeStream(
    { createdAt: 1, targetTag: "t" },
    {
      chunk: ({ choices }) => found.push(...choices.flatMap(({ delta }) => delta.reasoning_details ?? [])),
      error: () => undefined,
      done: () => undefined,
    },
  );
  reader.push(Buffer.from(stream));
  expect(reader.ending()).toBe("complete");
  return found.map((detail) => unpackDetail(detail.data ?? "") ?? detail);
}

/** The gateway ignores details in streams of chat targets: only details that it wrote itself go back. */
function detailsInChunks(stream: string): ReasoningDetail[] {
  const events = new SseParser()
    .push(Buffer.from(stream))
    .filter(({ data: each }) => each !== CHAT_STREAM_DONE);
  return events.flatMap((event) => {
    const chunk: ChatCompletionChunk = JSON.parse(event.data);
    return chunk.choices.flatMap(({ delta }) => delta.reasoning_details ?? []);
  });
}

test.each(CASES)("streams to %s clients contain the reasoning of %s unchanged", (name, _, detail) => {
  const { inbound } = formatNamed(name);
  if (inbound === null) throw new Error(`${name} has no clients`);
  fc.assert(
    fc.property(fc.array(detail, { minLength: 1, maxLength: 3 }), (details) => {
      const stream = inbound.encodeStream({ ...NO_CONTEXT, model: "any-model", includeUsage: true });
      stream.chunk(chunkOf({ role: "assistant", content: "" }));
      for (const each of details) {
        if (each.text !== undefined) stream.chunk(chunkOf({ reasoning_content: each.text }));
        stream.chunk(chunkOf({ reasoning_details: [each] }));
      }
      stream.chunk(chunkOf({ content: "One moment." }));
      stream.chunk(chunkOf({ tool_calls: [{ index: 0, ...CALL }] }));
      stream.chunk(chunkOf({}, "tool_calls"));
      stream.done();
      // Chat clients get an index in addition.
      expect(detailsInStream(name, stream.take())).toMatchObject(details);
    }),
    { numRuns: runs({ short: 50, long: 2000 }) },
  );
});
