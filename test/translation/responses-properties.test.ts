// Properties of the translation: what both formats share survives a round trip, streams do not depend on how they are split,
// and a cut stream never ends cleanly.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../src/base/json.ts";
import type { ReasoningDetail } from "../../src/formats/chat-extensions.ts";
import { openaiInbound } from "../../src/formats/openai/inbound.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatErrorBody,
} from "../../src/formats/openai/wire-types.ts";
import { StreamTranslation } from "../../src/formats/stream-translation.ts";
import { TranslationReport } from "../../src/formats/translation-report.ts";
import { NO_CONTEXT, type ChatStreamSink } from "../../src/formats/translator.ts";
import { responsesInbound } from "../../src/formats/responses/inbound.ts";
import { responsesOutbound } from "../../src/formats/responses/outbound.ts";
import { runs } from "../support/long-form.ts";
import { anyCharacter } from "../support/characters.ts";

const RUNS = { numRuns: runs({ short: 120, long: 8000 }) };
const STREAM_RUNS = { numRuns: runs({ short: 20, long: 2000 }) };

/** The long form takes minutes. */
const TIMEOUT_MS = 30 * 60_000;

const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 });
const name = fc.stringMatching(/^[a-z_]{1,10}$/);
const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })).map((value) => JSON.stringify(value));
const call = fc.record({ id: fc.uuid(), name, json }).map(({ id, name: called, json: given }) => ({
  id,
  type: "function" as const,
  function: { name: called, arguments: given },
}));
const calls = fc.uniqueArray(call, { selector: ({ id }) => id, minLength: 1, maxLength: 3 });

const image = text.map((url) => ({
  type: "image_url",
  image_url: { url: `https://example.com/${encodeURIComponent(url.toWellFormed())}`, detail: "auto" },
}));
const textPart = text.map((value) => ({ type: "text", text: value }));
const userContent = fc.oneof(
  text,
  fc
    .tuple(textPart, fc.array(fc.oneof(textPart, image), { minLength: 1, maxLength: 2 }))
    .map(([one, more]) => [one, ...more]),
);
const user = userContent.map((content): JsonObject[] => [{ role: "user", content }]);
const assistant = text.map((content): JsonObject[] => [{ role: "assistant", content }]);
const toolTurn = fc
  .record({
    content: fc.option(text),
    tool_calls: calls,
    results: fc.array(userContent, { minLength: 3, maxLength: 3 }),
  })
  .map(({ content, tool_calls, results }): JsonObject[] => [
    { role: "assistant", content, tool_calls },
    ...tool_calls.map(({ id }, index) => ({ role: "tool", tool_call_id: id, content: results[index] })),
  ]);
const turns = fc
  .array(fc.tuple(user, fc.oneof(assistant, toolTurn)), { maxLength: 3 })
  .map((pairs) => pairs.flatMap(([one, other]) => [...one, ...other]));
const messages = fc
  .tuple(fc.option(text), turns, user)
  .map(([system, history, last]): JsonObject[] => [
    ...(system === null ? [] : [{ role: "system", content: system }]),
    ...history,
    ...last,
  ]);
const tool = fc.record({ name, description: text, strict: fc.constant(false) }).map((given) => ({
  type: "function",
  function: { ...given, parameters: { type: "object", properties: {} } },
}));
const tools = fc.uniqueArray(tool, { selector: (each) => each.function.name, minLength: 1, maxLength: 3 });
const request = fc
  .record(
    {
      model: fc.constantFrom("gpt-4o", "other"),
      max_tokens: fc.integer({ min: 16, max: 1_000_000 }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      top_p: fc.double({ min: 0, max: 1, noNaN: true }),
      user: fc.string({ maxLength: 64 }),
      verbosity: fc.constantFrom("low", "high"),
      response_format: fc.constantFrom(
        { type: "json_object" },
        { type: "json_schema", json_schema: { name: "n", schema: { type: "object" }, strict: false } },
      ),
    },
    { requiredKeys: ["model"] },
  )
  .chain((fields) =>
    fc.tuple(messages, fc.option(tools), fc.boolean()).map(([given, offered, isStream]): JsonObject => ({
      messages: given,
      ...fields,
      ...(offered === null ? {} : { tools: offered, tool_choice: "required", parallel_tool_calls: false }),
      ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    })),
  );

const usage = fc.record({ input: fc.nat(1e6), output: fc.nat(1e6) }).map(({ input, output }) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: Math.floor(input / 2), cache_write_tokens: Math.floor(input / 4) },
  completion_tokens_details: { reasoning_tokens: Math.floor(output / 2) },
}));
const completion = fc
  .record({
    content: fc.option(text),
    refusal: fc.option(text),
    reasoning: fc.option(text),
    tool_calls: fc.option(calls),
    usage,
  })
  .chain(({ content, refusal, reasoning, tool_calls, usage: counts }) =>
    fc
      .constantFrom("length" as const, tool_calls === null ? ("stop" as const) : ("tool_calls" as const))
      .map((finish_reason): ChatCompletion => ({
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: content ?? (tool_calls === null && refusal === null ? "" : null),
              refusal,
              ...(reasoning === null ? {} : { reasoning_content: reasoning }),
              ...(tool_calls === null ? {} : { tool_calls }),
            },
            logprobs: null,
            finish_reason,
          },
        ],
        usage: counts,
      })),
  );

const detail: fc.Arbitrary<ReasoningDetail> = fc.record(
  {
    type: fc.constantFrom("reasoning.text", "reasoning.encrypted"),
    format: fc.constantFrom("anthropic", "gemini"),
    text: fc.string({ unit: anyCharacter }),
    data: fc.string({ unit: anyCharacter }),
    signature: fc.string({ unit: anyCharacter }),
    id: fc.string(),
  },
  { requiredKeys: ["type", "format"] },
);

const OPTIONS = { createdAt: 1, targetTag: "t" };
const CONTEXT = responsesInbound.contextOf({ model: "m", input: "Hi" });
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The encoder changes the id. */
function withoutId(value: ChatCompletion | null): object | null {
  return value === null ? null : { ...value, id: "" };
}

function streamOf({ choices: [{ message, finish_reason }], usage: counts, ...base }: ChatCompletion): string {
  const stream = responsesInbound.encodeStream(CONTEXT);
  const write = (delta: JsonObject, finish: typeof finish_reason | null = null) =>
    stream.chunk({
      ...base,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    });
  for (const each of message.reasoning_content ?? "") write({ reasoning_content: each });
  for (const each of message.content ?? "") write({ content: each });
  for (const each of message.refusal ?? "") write({ refusal: each });
  for (const [index, each] of (message.tool_calls ?? []).entries()) {
    write({
      tool_calls: [
        { index, id: each.id, type: "function", function: { name: each.function.name, arguments: "" } },
      ],
    });
    for (const piece of each.function.arguments)
      write({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  write({}, finish_reason);
  stream.chunk({ ...base, object: "chat.completion.chunk", choices: [], usage: counts });
  stream.done();
  return stream.take();
}

/** Joins the chunks of a stream. */
class Collector implements ChatStreamSink {
  readonly #calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
  readonly #texts = { content: "", refusal: "", reasoning_content: "" };
  finish: string | null = null;
  usage: unknown = null;
  isDone = false;
  failure: ChatErrorBody | null = null;

  chunk({ choices: [choice], usage: counts }: ChatCompletionChunk): void {
    if (counts !== undefined) this.usage = counts;
    if (choice === undefined) return;
    this.finish = choice.finish_reason ?? this.finish;
    const { content = "", refusal = "", reasoning_content = "", tool_calls = [] } = choice.delta;
    this.#texts.content += content;
    this.#texts.refusal += refusal;
    this.#texts.reasoning_content += reasoning_content;
    for (const { index, id, function: called } of tool_calls) {
      const known = (this.#calls[index] ??= {
        id: id ?? "",
        type: "function",
        function: { name: called.name ?? "", arguments: "" },
      });
      known.function.arguments += called.arguments;
    }
  }

  error(body: ChatErrorBody): void {
    this.failure = body;
  }

  done(): void {
    this.isDone = true;
  }

  get message() {
    return { ...this.#texts, calls: this.#calls, finish: this.finish, usage: this.usage };
  }
}

function expectedMessage({ choices: [{ message, finish_reason }], usage: counts }: ChatCompletion) {
  return {
    content: message.content ?? "",
    refusal: message.refusal ?? "",
    reasoning_content: message.reasoning_content ?? "",
    calls: message.tool_calls ?? [],
    finish: finish_reason,
    usage: counts,
  };
}

const COMPLETION = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  usage: {
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  },
} as const;

describe("round trips", () => {
  test(
    "a chat request that becomes a Responses request and back",
    () => {
      fc.assert(
        fc.property(request, (given) => {
          const report = new TranslationReport();
          const encoded = responsesOutbound.encodeRequest(given, { report, targetTag: "t" });
          const decoded = responsesInbound.decodeRequest({ ...encoded }, report);
          expect(decoded).toEqual(given);
          expect(report.dropped).toEqual([]);
        }),
        RUNS,
      );
    },
    TIMEOUT_MS,
  );

  test(
    "a chat completion that becomes a response and back",
    () => {
      fc.assert(
        fc.property(completion, (given) => {
          const encoded = JSON.parse(JSON.stringify(responsesInbound.encodeResponse(given, CONTEXT)));
          expect(withoutId(responsesOutbound.decodeResponse(encoded, OPTIONS))).toEqual(withoutId(given));
        }),
        RUNS,
      );
    },
    TIMEOUT_MS,
  );

  test(
    "reasoning details come back bit for bit",
    () => {
      fc.assert(
        fc.property(fc.array(detail, { minLength: 1, maxLength: 3 }), (details) => {
          const message = {
            role: "assistant",
            content: "x",
            refusal: null,
            reasoning_details: details,
          } as const;
          const choice = { index: 0, message, logprobs: null, finish_reason: "stop" } as const;
          const given: ChatCompletion = { ...COMPLETION, choices: [choice] };
          const { output } = responsesInbound.encodeResponse(given, CONTEXT) as { output: object[] };
          const input = JSON.parse(JSON.stringify(output));
          const { messages: decoded } = responsesInbound.decodeRequest({ input }, new TranslationReport());
          expect(decoded).toEqual([{ role: "assistant", content: "x", reasoning_details: details }]);
        }),
        RUNS,
      );
    },
    TIMEOUT_MS,
  );
});

describe("streams", () => {
  test(
    "a chat stream that becomes a Responses stream and back, split in two at any byte",
    () => {
      fc.assert(
        fc.property(completion, fc.nat(), (given, position) => {
          const bytes = encoder.encode(streamOf(given));
          const at = position % (bytes.length + 1);
          const sink = new Collector();
          const stream = responsesOutbound.decodeStream(OPTIONS, sink);
          stream.push(bytes.subarray(0, at));
          stream.push(bytes.subarray(at));
          expect(stream.ending()).toBe("complete");
          expect(sink).toMatchObject({ isDone: true, failure: null });
          expect(sink.message).toEqual(expectedMessage(given));
        }),
        STREAM_RUNS,
      );
    },
    TIMEOUT_MS,
  );

  test(
    "a stream that arrives byte by byte is translated to the same text",
    () => {
      fc.assert(
        fc.property(completion, (given) => {
          const bytes = encoder.encode(streamOf(given));
          const translate = (chunks: Uint8Array[]) => {
            const stream = new StreamTranslation(responsesOutbound, openaiInbound, OPTIONS, NO_CONTEXT);
            return chunks.map((chunk) => decoder.decode(stream.push(chunk) ?? undefined)).join("");
          };
          expect(translate(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toBe(
            translate([bytes]),
          );
        }),
        { numRuns: runs({ short: 12, long: 500 }) },
      );
    },
    TIMEOUT_MS,
  );

  test(
    "a stream that is cut anywhere does not end cleanly",
    () => {
      fc.assert(
        fc.property(completion, fc.nat(), (given, position) => {
          const bytes = encoder.encode(streamOf(given));
          // The last byte is the empty line after the last event.
          const cut = bytes.subarray(0, position % bytes.length);
          const sink = new Collector();
          const stream = responsesOutbound.decodeStream(OPTIONS, sink);
          stream.push(cut);
          expect(stream.ending()).toBe("truncated");
          expect(sink.isDone).toBe(false);
          const again = new StreamTranslation(responsesOutbound, responsesInbound, OPTIONS, CONTEXT);
          expect(decoder.decode(again.push(cut) ?? undefined)).not.toMatch(
            /response\.(completed|incomplete|failed)/,
          );
        }),
        STREAM_RUNS,
      );
    },
    TIMEOUT_MS,
  );

  test(
    "every stream numbers its events, announces and closes every item, and has one terminal event",
    () => {
      fc.assert(
        fc.property(completion, (given) => {
          const events: JsonObject[] = streamOf(given)
            .trim()
            .split("\n\n")
            .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)));
          const typesOf = (type: string) => events.filter((event) => event["type"] === type).length;
          expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, index) => index));
          expect(events[0]).toMatchObject({ type: "response.created", response: { status: "in_progress" } });
          const last = events.at(-1) as { type: string; response: { output: unknown[]; status: string } };
          expect(last.type).toBe(`response.${last.response.status}`);
          expect(typesOf("response.output_item.added")).toBe(last.response.output.length);
          const done = events.filter((event) => event["type"] === "response.output_item.done");
          const items = done.sort(
            (one, other) => Number(one["output_index"]) - Number(other["output_index"]),
          );
          expect(items.map(({ item }) => item)).toEqual(last.response.output);
          expect(typesOf("response.content_part.added")).toBe(typesOf("response.content_part.done"));
          expect(typesOf("response.completed") + typesOf("response.incomplete")).toBe(1);
        }),
        STREAM_RUNS,
      );
    },
    TIMEOUT_MS,
  );
});
