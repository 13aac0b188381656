// Reasoning of any target returns bit for bit through clients of any format, whether the format has a place for it or not.
import fc from "fast-check";
import { expect, test } from "bun:test";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { ReasoningDetail } from "../../src/formats/chat-extensions.ts";
import { FORMAT_NAMES, type FormatName } from "../../src/formats/format-names.ts";
import type { ChatCompletion } from "../../src/formats/openai/wire-types.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { NO_CONTEXT } from "../../src/formats/translator.ts";
import { runs } from "../support/long-form.ts";

const CLIENTS = FORMAT_NAMES.filter((name) => formatNamed(name).inbound !== null);
const CALL = { id: "call_1", type: "function", function: { name: "now", arguments: "{}" } } as const;

const data = fc.base64String({ minLength: 4, maxLength: 40 });
const text = fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" });

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
    { numRuns: runs({ short: 50, long: 20_000 }) },
  );
});
