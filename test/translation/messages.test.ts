// Chat and messages express the same requests, responses and streams: translating there and back changes nothing. A stream
// means the same however it is split, and a cut stream is never complete. GATEHOUSE_LONG=1 runs 100,000 inputs each.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { ReasoningDetail } from "../../src/formats/chat-extensions.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatErrorBody,
  ChatFinishReason,
  ChatToolCall,
} from "../../src/formats/openai/wire-types.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import {
  NO_CONTEXT,
  type ChatStreamSink,
  type InboundTranslator,
  type OutboundTranslator,
} from "../../src/formats/translator.ts";
import { runs } from "../support/long-form.ts";
import { grapheme } from "../support/characters.ts";

const RUNS = { numRuns: runs({ short: 120, long: 8000 }) };
// 100,000 requests take about four minutes.
setDefaultTimeout(900_000);
const OPTIONS = { createdAt: 1, targetTag: "t" };

function translatorsOf(name: "anthropic" | "openai"): [InboundTranslator, OutboundTranslator] {
  const { inbound, outbound } = formatNamed(name);
  if (inbound === null) throw new Error(`${name} has no translator for clients`);
  return [inbound, outbound];
}

const text = fc.string({ minLength: 1, maxLength: 20, unit: grapheme }).filter((each) => each.trim() !== "");
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/);
const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
const base64 = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const cacheControl = fc.constantFrom({ type: "ephemeral" }, { type: "ephemeral", ttl: "1h" });
const argumentsText = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((value) => {
  const json = JSON.stringify(value);
  // Once more, because JSON has no -0.
  return JSON.stringify(JSON.parse(json));
});
const detail: fc.Arbitrary<ReasoningDetail> = fc.oneof(
  fc.record({
    type: fc.constant("reasoning.text" as const),
    format: fc.constant("anthropic" as const),
    text: fc.string({ maxLength: 10 }),
    signature: text,
  }),
  fc.record({
    type: fc.constant("reasoning.encrypted" as const),
    format: fc.constant("anthropic" as const),
    data: base64,
  }),
);
const callWithoutId = fc.record({
  type: fc.constant("function" as const),
  function: fc.record({ name, arguments: argumentsText }),
});

describe("a request", () => {
  const cached = (part: fc.Arbitrary<JsonObject>) =>
    fc
      .tuple(part, fc.option(cacheControl, { nil: null }))
      .map(([value, control]): JsonObject =>
        control === null ? value : { ...value, cache_control: control },
      );
  const file = (type: string, data: fc.Arbitrary<string>) =>
    fc.record({
      type: fc.constant("file"),
      file: fc.record({ filename: text, file_data: data.map((each) => `data:${type};base64,${each}`) }),
    });
  const textAsBase64 = text.map((each) => Buffer.from(each).toString("base64"));
  const part = cached(
    fc.oneof(
      fc.record({ type: fc.constant("text"), text }),
      base64.map((data) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } })),
      id.map((path) => ({ type: "image_url", image_url: { url: `https://example.com/${path}` } })),
      id.map((path) => ({ type: "file", file: { file_url: `https://example.com/${path}` } })),
      file("application/pdf", base64),
      file("text/plain", textAsBase64),
    ),
  );
  // One text without a breakpoint is a string.
  const parts = fc
    .array(part, { minLength: 1, maxLength: 3 })
    .map((values) =>
      values.length === 1 && values[0]?.["type"] === "text" && values[0]["cache_control"] === undefined
        ? values[0]["text"]
        : values,
    );
  const toolContent = fc.oneof(fc.constant(""), text, parts);
  const turn = fc.record({
    user: parts,
    answer: fc.option(text, { nil: null }),
    details: fc.array(detail, { maxLength: 2 }),
    calls: fc.array(fc.tuple(callWithoutId, toolContent, fc.boolean()), { maxLength: 2 }),
  });
  const messages = fc
    .tuple(fc.option(text, { nil: null }), fc.array(turn, { maxLength: 3 }), parts)
    .map(([system, turns, last]) => toMessages(system, turns, last));

  function toMessages(
    system: string | null,
    turns: {
      user: unknown;
      answer: string | null;
      details: unknown[];
      calls: [object, unknown, boolean][];
    }[],
    last: unknown,
  ): JsonObject[] {
    const result: JsonObject[] = system === null ? [] : [{ role: "system", content: system }];
    let count = 0;
    for (const { user, answer, details, calls } of turns) {
      result.push({ role: "user", content: user });
      const content = answer ?? (calls.length === 0 ? "Yes" : null);
      const assistant: JsonObject = { role: "assistant", content };
      if (details.length > 0) assistant["reasoning_details"] = details;
      const withIds = calls.map(([call]) => ({ id: `call_${count++}`, ...call }));
      if (withIds.length > 0) assistant["tool_calls"] = withIds;
      result.push(assistant);
      for (const [index, [, value, isError]] of calls.entries()) {
        const message = { role: "tool", tool_call_id: withIds[index]?.id, content: value };
        result.push(isError ? { ...message, is_error: true } : message);
      }
      if (withIds.length > 0) result.push({ role: "assistant", content: "Done" });
    }
    result.push({ role: "user", content: last });
    return result;
  }

  const tool = cached(
    fc.record({
      type: fc.constant("function"),
      function: fc.record(
        { name, description: text, parameters: fc.constant({ type: "object", properties: {} }) },
        { requiredKeys: ["name", "parameters"] },
      ),
    }),
  );
  const tools = fc
    .record(
      {
        tools: fc.array(tool, { minLength: 1, maxLength: 2 }),
        tool_choice: fc.constantFrom("auto", "required", { type: "function", function: { name: "f" } }),
        parallel_tool_calls: fc.constant(false),
      },
      { requiredKeys: ["tools"] },
    )
    .map((fields) =>
      fields.parallel_tool_calls === undefined ? fields : { tool_choice: "auto", ...fields },
    );
  const schema = { type: "object", properties: {}, additionalProperties: false };
  const options = fc.record(
    {
      stop: fc.array(text, { minLength: 1, maxLength: 2 }),
      stream: fc.boolean(),
      user: text,
      response_format: fc.constant({
        type: "json_schema",
        json_schema: { name: "output", strict: true, schema },
      }),
    },
    { requiredKeys: [] },
  );
  const reasoning = fc.oneof(
    fc.record({ reasoning_effort: fc.constantFrom("low", "medium", "high") }),
    fc.record({ temperature: fc.constantFrom(0, 0.5, 1) }),
    fc.record({ top_p: fc.constantFrom(0.5, 1), top_k: fc.nat(100) }),
  );
  const request = fc
    .tuple(messages, fc.option(tools, { nil: {} }), options, reasoning, fc.integer({ min: 1, max: 9999 }))
    .map(([list, ...fields]): JsonObject => {
      const [toolFields, optionFields, reasoningFields, max_tokens] = fields;
      const model = "claude-opus-4-6";
      return { model, messages: list, max_tokens, ...toolFields, ...optionFields, ...reasoningFields };
    });

  test("of a chat client returns from Anthropic's format", () => {
    const [inbound, outbound] = translatorsOf("anthropic");
    fc.assert(
      fc.property(request, (given) => {
        const report = new TranslationReport();
        const encoded = outbound.encodeRequest(given, { report, targetTag: "t" });
        if (!isJsonObject(encoded)) throw new Error("not an object");
        // As it is sent.
        const body: unknown = JSON.parse(JSON.stringify(encoded));
        if (!isJsonObject(body)) throw new Error("not an object");
        // The effort turns adaptive thinking on, which says so in addition.
        const { thinking, ...decoded } = inbound.decodeRequest(body, report);
        expect(decoded).toEqual(given);
        expect(thinking === undefined).toBe(given["reasoning_effort"] === undefined);
        expect(report.dropped).toEqual([]);
      }),
      RUNS,
    );
  });
});

const usage = fc
  .tuple(fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99), fc.nat(99))
  .map(([input, cached, written, output, reasoning]) => ({
    prompt_tokens: input + cached + written,
    completion_tokens: output + reasoning,
    total_tokens: input + cached + written + output + reasoning,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    ...(reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: reasoning } } : {}),
  }));

const completion: fc.Arbitrary<ChatCompletion> = fc
  .record({
    id: text,
    model: text,
    content: fc.option(text, { nil: null }),
    details: fc.array(detail, { maxLength: 3 }),
    calls: fc.array(callWithoutId, { maxLength: 3 }),
    reason: fc.constantFrom<ChatFinishReason>("stop", "length", "content_filter"),
    usage,
  })
  .map(({ content, details, calls, reason, ...rest }) => {
    const reasoning = details.map((each) => each.text ?? "").join("");
    const withIds: ChatToolCall[] = calls.map((call, index) => ({ id: `call_${index}`, ...call }));
    return {
      ...rest,
      object: "chat.completion",
      created: OPTIONS.createdAt,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: content ?? (withIds.length === 0 ? "Yes" : null),
            refusal: null,
            ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
            ...(details.length === 0 ? {} : { reasoning_details: details }),
            ...(withIds.length === 0 ? {} : { tool_calls: withIds }),
          },
          logprobs: null,
          finish_reason: withIds.length > 0 && reason === "stop" ? "tool_calls" : reason,
        },
      ],
    } satisfies ChatCompletion;
  });

/** Chat targets have no reasoning details. */
function withoutDetails(given: ChatCompletion): ChatCompletion {
  const copy = structuredClone(given);
  delete copy.choices[0].message.reasoning_details;
  return copy;
}

describe("a response", () => {
  test("returns from Anthropic's format", () => {
    const [inbound, outbound] = translatorsOf("anthropic");
    fc.assert(
      fc.property(completion, (given) => {
        const body: unknown = JSON.parse(JSON.stringify(inbound.encodeResponse(given, NO_CONTEXT)));
        expect(outbound.decodeResponse(body, OPTIONS)).toEqual(given);
      }),
      RUNS,
    );
  });

  test("is the same in OpenAI's format", () => {
    const [inbound, outbound] = translatorsOf("openai");
    fc.assert(
      fc.property(completion.map(withoutDetails), (given) => {
        const body: unknown = JSON.parse(JSON.stringify(inbound.encodeResponse(given, NO_CONTEXT)));
        expect(outbound.decodeResponse(body, OPTIONS)).toEqual(given);
      }),
      RUNS,
    );
  });
});

/** Puts the deltas of a stream together. */
class Collector implements ChatStreamSink {
  #id = "";
  #model = "";
  #content = "";
  #reasoning = "";
  readonly #details: unknown[] = [];
  readonly #calls: ChatToolCall[] = [];
  #reason: ChatFinishReason | null = null;
  #usage: unknown = null;
  isDone = false;

  chunk({ id: chunkId, model, choices, usage: reported }: ChatCompletionChunk): void {
    this.#id = chunkId;
    this.#model = model;
    this.#usage = reported ?? this.#usage;
    for (const { delta, finish_reason } of choices) {
      this.#content += delta.content ?? "";
      this.#reasoning += delta.reasoning_content ?? "";
      for (const each of delta.reasoning_details ?? []) this.#details.push(each);
      for (const { index, id: callId, function: called } of delta.tool_calls ?? []) {
        const call = (this.#calls[index] ??= {
          id: callId ?? "",
          type: "function",
          function: { name: called.name ?? "", arguments: "" },
        });
        call.function.arguments += called.arguments;
      }
      this.#reason = finish_reason ?? this.#reason;
    }
  }

  error(body: ChatErrorBody): void {
    throw new Error(body.error.message);
  }

  done(): void {
    this.isDone = true;
  }

  /** Empty ones are absent. */
  result(): unknown {
    return {
      id: this.#id,
      model: this.#model,
      message: [this.#content, this.#reasoning, this.#details, this.#calls],
      finish_reason: this.#reason,
      usage: this.#usage,
    };
  }
}

/** Returns the chunks of a completion, with its texts in pieces, and the calls in turns. */
function toChunks(given: ChatCompletion, pieces: number): ChatCompletionChunk[] {
  const [{ message, finish_reason }] = given.choices;
  const head = { id: given.id, object: "chat.completion.chunk" as const, created: 1, model: given.model };
  const chunks: ChatCompletionChunk[] = [];
  const add = (delta: ChatCompletionChunk["choices"][0]["delta"], reason: ChatFinishReason | null = null) =>
    chunks.push({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
  add({ role: "assistant", content: "" });
  for (const each of message.reasoning_details ?? []) {
    for (const piece of split(each.text ?? "", pieces)) add({ reasoning_content: piece });
    add({ reasoning_details: [each] });
  }
  if (message.reasoning_details === undefined)
    for (const piece of split(message.reasoning_content ?? "", pieces)) add({ reasoning_content: piece });
  for (const piece of split(message.content ?? "", pieces)) add({ content: piece });
  const calls = message.tool_calls ?? [];
  for (const [index, { id: callId, function: called }] of calls.entries())
    add({
      tool_calls: [{ index, id: callId, type: "function", function: { name: called.name, arguments: "" } }],
    });
  const texts = calls.map(({ function: called }) => split(called.arguments, pieces));
  for (let at = 0; at < pieces; at += 1)
    for (const [index, parts] of texts.entries()) {
      const piece = parts[at];
      if (piece !== undefined) add({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  add({}, finish_reason);
  chunks.push({ ...head, choices: [], usage: given.usage });
  return chunks;
}

function split(value: string, pieces: number): string[] {
  const size = Math.max(1, Math.ceil(value.length / pieces));
  return Array.from({ length: Math.ceil(value.length / size) }, (_, index) =>
    value.slice(index * size, (index + 1) * size),
  );
}

describe.each(["anthropic", "openai"] as const)("a stream in the format %s", (format) => {
  const [inbound, outbound] = translatorsOf(format);
  const given = format === "openai" ? completion.map(withoutDetails) : completion;
  const stream = fc.tuple(given, fc.integer({ min: 1, max: 4 })).map(([value, pieces]) => {
    const expected = new Collector();
    const encoder = inbound.encodeStream({ ...NO_CONTEXT, includeUsage: true });
    for (const chunk of toChunks(value, pieces)) {
      expected.chunk(chunk);
      encoder.chunk(chunk);
    }
    encoder.done();
    return { expected: expected.result(), bytes: Buffer.from(encoder.take()) };
  });

  test("returns, however it is split", () => {
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 64 }), ({ expected, bytes }, size) => {
        const collector = new Collector();
        const decoder = outbound.decodeStream(OPTIONS, collector);
        for (let at = 0; at < bytes.length; at += size) decoder.push(bytes.subarray(at, at + size));
        expect(decoder.ending()).toBe("complete");
        expect(collector.isDone).toBe(true);
        expect(collector.result()).toEqual(expected);
      }),
      RUNS,
    );
  });

  test("is not complete if it is cut anywhere", () => {
    fc.assert(
      fc.property(stream, fc.nat(), ({ bytes }, at) => {
        const collector = new Collector();
        const decoder = outbound.decodeStream(OPTIONS, collector);
        decoder.push(bytes.subarray(0, at % bytes.length));
        expect(decoder.ending()).toBe("truncated");
        expect(collector.isDone).toBe(false);
      }),
      RUNS,
    );
  });
});
