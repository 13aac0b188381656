// Requests of clients that refer to the items of earlier responses: they arrive as if the items had been
// sent.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../base/json.ts";
import type { ChatCompletion, ChatCompletionChunk } from "../openai/wire-types.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { NO_CONTEXT } from "../translator.ts";
import { responsesInbound } from "./inbound.ts";
import { resolveReferences } from "./item-copies.ts";

const CONTEXT = { ...NO_CONTEXT, copiesItems: true };
const USAGE = {
  prompt_tokens: 1,
  completion_tokens: 1,
  total_tokens: 2,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
};
const DETAIL = { type: "reasoning.text", format: "anthropic", text: "Hm.", signature: "c2ln" } as const;
const CALL = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } } as const;

const DATA = "data: ";

function completionOf(content: string, thinking: "none" | "text" | "signed"): ChatCompletion {
  const reasoning = {
    none: {},
    text: { reasoning_content: "Hm." },
    signed: { reasoning_content: "Hm.", reasoning_details: [DETAIL] },
  }[thinking];
  const message = { role: "assistant", content, refusal: null, ...reasoning, tool_calls: [CALL] } as const;
  return {
    id: "msg_1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { index: 0, message: { ...message, tool_calls: [CALL] }, logprobs: null, finish_reason: "tool_calls" },
    ],
    usage: USAGE,
  };
}

function wholeOutput(completion: ChatCompletion): JsonObject[] {
  const { output } = responsesInbound.encodeResponse(completion, CONTEXT) as { output: JsonObject[] };
  return output;
}

function streamedOutput({ id, created, model, choices: [{ message }], usage }: ChatCompletion): JsonObject[] {
  const encoder = responsesInbound.encodeStream(CONTEXT);
  const chunk = (delta: ChatCompletionChunk["choices"][0]["delta"], rest: object = {}) =>
    encoder.chunk({
      id,
      object: "chat.completion.chunk",
      created,
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
      ...rest,
    });
  const { reasoning_content, reasoning_details, content } = message;
  if (reasoning_content !== undefined) chunk({ reasoning_content });
  if (reasoning_details !== undefined) chunk({ reasoning_details });
  for (const character of content ?? "") chunk({ content: character });
  chunk({ tool_calls: [{ index: 0, ...CALL }] }, { usage });
  encoder.done();
  const lines = encoder.take().split("\n");
  const events = lines.filter((line) => line.startsWith(DATA));
  return events.flatMap((line) => {
    const { type, item } = JSON.parse(line.slice(DATA.length)) as { type: string; item: JsonObject };
    return type === "response.output_item.done" ? [item] : [];
  });
}

/** Returns the request that a client sends after a call, with references where it can. */
function requestWith(output: readonly JsonObject[], isReferring: boolean): JsonObject {
  const items = output.map((item) => {
    return !isReferring ? item : { type: "item_reference", id: item["id"] };
  });
  const result = { type: "function_call_output", call_id: "call_1", output: "1" };
  return { model: "m", input: [{ role: "user", content: "Hi" }, ...items, result] };
}

function decode(request: JsonObject) {
  const report = new TranslationReport();
  return { decoded: responsesInbound.decodeRequest(request, report), dropped: report.dropped };
}

const completions = fc
  .tuple(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("none" as const, "text" as const, "signed" as const),
  )
  .map(([content, thinking]) => completionOf(content, thinking));

describe.each([
  ["whole", wholeOutput],
  ["streamed", streamedOutput],
] as const)("references to the items of a %s response", (_name, outputOf) => {
  test("are what they refer to", () => {
    fc.assert(
      fc.property(completions, (completion) => {
        const output = outputOf(completion);
        const inline = decode(requestWith(output, false));
        expect(decode(requestWith(output, true))).toEqual(inline);
        // Clients that send the items send the copy as well.
        const copies = output.filter(({ id }) => String(id).startsWith("gw1.items."));
        const own = output.filter((item) => !copies.includes(item));
        expect(copies.length).toBeLessThanOrEqual(1);
        expect(decode(requestWith(own, false))).toEqual(inline);
      }),
    );
  });

  // In regular expressions they end a line, but not in JSON or in an event stream.
  test.each(["\u2028", "\u2029"])("have texts with %j", (separator) => {
    const text = `one${separator}two`;
    const request = requestWith(outputOf(completionOf(text, "none")), true);
    const messages = decode(request).decoded.messages as readonly JsonObject[];
    expect(messages.map(({ content }) => content)).toEqual(["Hi", text, "1"]);
  });

  test("keep reasoning for other targets, and lose it for those of the API itself", () => {
    const output = outputOf(completionOf("Hello.", "signed"));
    const request = requestWith(output, true);
    expect(JSON.stringify(decode(request).decoded)).toContain('"signature":"c2ln"');
    const { input } = responsesInbound.withoutForeignReasoning?.(request) ?? {};
    expect(input).toEqual([
      { role: "user", content: "Hi" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello." }] },
      expect.objectContaining({ type: "function_call" }),
      expect.objectContaining({ type: "function_call_output" }),
    ]);
  });
});

test("a copy is used once, so that a small request does not become a large one", () => {
  const output = wholeOutput(completionOf("a".repeat(1000), "none"));
  const references = output.map(({ id }) => ({ type: "item_reference", id }));
  const repeated = new Array(1000).fill(references[0]);
  const resolved = resolveReferences([...references, ...repeated]);
  expect(JSON.stringify(resolved).length).toBeLessThan(100_000);
  expect(() => decode({ input: [...references, ...repeated] })).toThrow(TranslationError);
});

test("references without a copy, and copies that a client has changed, are rejected or ignored", () => {
  for (const id of ["msg_1", "rs_1"])
    expect(() => decode({ input: [{ type: "item_reference", id }] })).toThrow("refers to a stored item");
  fc.assert(
    fc.property(fc.string(), (text) => {
      const copy = { type: "reasoning", id: `gw1.items.${text}`, summary: [] };
      const { decoded } = decode({ input: [{ role: "user", content: "Hi" }, copy] });
      expect(decoded.messages).toEqual([{ role: "user", content: "Hi" }]);
    }),
  );
});

test("responses to clients that do not refer to items, or store nothing, have no copies", () => {
  const completion = completionOf("Hello.", "signed");
  const { output } = responsesInbound.encodeResponse(completion, NO_CONTEXT) as { output: JsonObject[] };
  expect(output.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call"]);
  expect(responsesInbound.contextOf({ store: false }).mayCopyItems).toBe(false);
  expect(responsesInbound.contextOf({}).mayCopyItems).toBe(true);
  for (const agent of [
    "ai/6.0.326 ai-sdk/provider-utils/4.0.65 runtime/node.js/v22",
    "ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/v22",
  ])
    expect(responsesInbound.refersToItems?.(agent)).toBe(true);
  expect(responsesInbound.refersToItems?.("OpenAI/JS 7.53.0")).toBe(false);
  expect(responsesInbound.refersToItems?.(null)).toBe(false);
});
