// Emulated stop sequences against a naive oracle: whole responses, and streams that are split at every byte
// and at any character.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject } from "../../src/base/json.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { StopSearch, stopCompletion } from "../../src/formats/stop-sequences.ts";
import { StreamTranslation } from "../../src/formats/stream-translation.ts";
import { NO_CONTEXT, type InboundTranslator } from "../../src/formats/translator.ts";
import { runs } from "../support/long-form.ts";

const RUNS = { numRuns: runs({ short: 150, long: 20_000 }) };
const OPTIONS = { createdAt: 1_760_000_000, targetTag: "t" };

/** The text before the sequence that ends first; of several that end there, before the longest. */
function oracle(text: string, sequences: readonly string[]): { text: string; found: string | null } {
  for (let end = 1; end <= text.length; end++) {
    const ended = sequences.filter((each) => text.slice(0, end).endsWith(each));
    const longest = ended.sort((one, other) => other.length - one.length)[0];
    if (longest !== undefined) return { text: text.slice(0, end - longest.length), found: longest };
  }
  return { text, found: null };
}

// Few characters, so that sequences overlap themselves and each other.
const fewCharacters = fc.string({
  unit: fc.constantFrom("a", "b", "\n", "\u2028"),
  minLength: 1,
  maxLength: 5,
});
const anyCharacters = fc.string({ unit: "grapheme", minLength: 1, maxLength: 4 });
const sequences = fc.array(fc.oneof(fewCharacters, anyCharacters), { minLength: 1, maxLength: 4 });
const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "\n", "\u2028"), maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
);
/** A text that often contains a sequence. */
const cases = fc.tuple(texts, sequences, fc.nat(), fc.boolean()).map(([text, stop, at, isInserted]) => {
  const middle = at % (text.length + 1);
  const inserted = isInserted ? (stop[at % stop.length] ?? "") : "";
  return { text: text.slice(0, middle) + inserted + text.slice(middle), stop };
});

function split(text: string, cuts: readonly number[]): string[] {
  const places = [
    0,
    ...cuts.map((cut) => cut % (text.length + 1)).sort((one, other) => one - other),
    text.length,
  ];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}

describe("the search", () => {
  test("finds the sequence that ends first, wherever the text is split", () => {
    fc.assert(
      fc.property(cases, fc.array(fc.nat(), { maxLength: 6 }), ({ text, stop }, cuts) => {
        for (const pieces of [
          split(text, cuts),
          Array.from({ length: text.length }, (_, at) => text.charAt(at)),
        ]) {
          const search = new StopSearch(stop);
          let passed = "";
          for (const piece of pieces) passed += search.push(piece);
          if (search.found === null) passed += search.takeHeld();
          expect({ text: passed, found: search.found }).toEqual(oracle(text, stop));
        }
      }),
      RUNS,
    );
  });

  test("holds back no more than the beginning of a sequence", () => {
    const search = new StopSearch(["END", "\n\n"]);
    expect(search.push("one\n")).toBe("one");
    expect(search.push("two E")).toBe("\ntwo ");
    expect(search.push("N")).toBe("");
    expect(search.push("ded")).toBe("ENded");
    expect([search.takeHeld(), search.found]).toEqual(["", null]);
  });

  test("takes time in proportion to the text, and not to how often a sequence begins", () => {
    const search = new StopSearch([`${"a".repeat(500)}b`]);
    // A naive search compares 500 characters at each of these.
    const text = "a".repeat(2_000_000);
    expect(search.push(text).length).toBe(2_000_000 - 500);
    expect(search.found).toBeNull();
  });
});

function inboundOf(format: "openai" | "anthropic"): InboundTranslator {
  const { inbound } = formatNamed(format);
  if (inbound === null) throw new Error(`${format} has no translator`);
  return inbound;
}

const USAGE = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 99,
  output_tokens_details: { reasoning_tokens: 7 },
  total_tokens: 102,
};
const CALL = { id: "fc", type: "function_call", call_id: "c", name: "f", arguments: '{"END":"END"}' };

/** A response of the Responses API with reasoning before the text and a call after it. */
function responseOf(text: string, reasoning: string, calls: readonly object[]) {
  const output = [
    { id: "rs", type: "reasoning", summary: [{ type: "summary_text", text: reasoning }] },
    {
      id: "m",
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text, annotations: [] }],
    },
    ...calls,
  ];
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: "completed",
    output,
    usage: USAGE,
  };
}

function eventsOf(response: ReturnType<typeof responseOf>, pieces: readonly string[]): Uint8Array {
  const started = { ...response, status: "in_progress", output: [], usage: null };
  const [reasoning, message, ...calls] = response.output;
  const events: object[] = [
    { type: "response.created", response: started },
    { type: "response.output_item.added", output_index: 0, item: { ...reasoning, summary: [] } },
    { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0 },
    { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "The END is near" },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    { type: "response.output_item.added", output_index: 1, item: { ...message, content: [] } },
    ...pieces.map((delta) => ({ type: "response.output_text.delta", output_index: 1, delta })),
    { type: "response.output_item.done", output_index: 1, item: message },
    ...calls.map((item, at) => ({ type: "response.output_item.done", output_index: at + 2, item })),
    { type: "response.completed", response },
  ];
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

function translated(
  format: "openai" | "anthropic",
  bytes: Uint8Array,
  stop: readonly string[],
  step: number,
) {
  const context = { ...NO_CONTEXT, includeUsage: true, emulatedStop: stop };
  const stream = new StreamTranslation(
    formatNamed("responses").outbound,
    inboundOf(format),
    OPTIONS,
    context,
  );
  let written = "";
  const take = (chunk: Uint8Array | null) => {
    if (chunk !== null) written += Buffer.from(chunk).toString();
  };
  for (let at = 0; at < bytes.length; at += step) take(stream.push(bytes.subarray(at, at + step)));
  expect(stream.ending()).toBe("complete");
  take(stream.takeRest());
  // Not by a regular expression: texts may have U+2028, which ends a line there, but not in a stream.
  const lines = written.split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as unknown).filter(isJsonObject);
}

/** Returns what a messages client reads from a stream. */
function messageOf(events: ReturnType<typeof translated>) {
  const read = { text: "", thinking: "", calls: 0, stop: {} as unknown, usage: 0 as unknown };
  for (const { delta, content_block: block, usage } of events) {
    if (isJsonObject(block) && block["type"] === "tool_use") read.calls += 1;
    if (!isJsonObject(delta)) continue;
    if (delta["type"] === "text_delta") read.text += String(delta["text"]);
    if (delta["type"] === "thinking_delta") read.thinking += String(delta["thinking"]);
    if (delta["stop_reason"] !== undefined) read.stop = [delta["stop_reason"], delta["stop_sequence"]];
    if (isJsonObject(usage)) read.usage = usage["output_tokens"];
  }
  return read;
}

/** Returns what a chat client reads from a stream. */
function completionOf(events: ReturnType<typeof translated>) {
  const read = { text: "", thinking: "", calls: 0, reasons: [] as unknown[], usage: 0 as unknown };
  for (const { choices, usage } of events) {
    if (isJsonObject(usage)) read.usage = usage["completion_tokens"];
    const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
    if (!isJsonObject(choice) || !isJsonObject(choice["delta"])) continue;
    const { content = "", reasoning_content: thinking = "", tool_calls: calls } = choice["delta"];
    read.text += String(content);
    read.thinking += String(thinking);
    if (Array.isArray(calls)) read.calls += 1;
    if (choice["finish_reason"] !== null) read.reasons.push(choice["finish_reason"]);
  }
  return read;
}

const THINKING = "The END is near";

describe("streams of the Responses API", () => {
  test("end before the first sequence for messages and chat clients, split at every byte", () => {
    const input = fc.tuple(cases, fc.array(fc.nat(), { maxLength: 4 }), fc.boolean());
    fc.assert(
      fc.property(input, fc.constantFrom(1, 2, 7, 1000), ([{ text, stop }, cuts, hasCall], step) => {
        const calls = hasCall ? [CALL] : [];
        const bytes = eventsOf(responseOf(text, THINKING, calls), split(text, cuts));
        const expected = oracle(text, stop);
        const isFound = expected.found !== null;
        const callCount = isFound ? 0 : calls.length;
        const plainStop = hasCall ? "tool_use" : "end_turn";
        const common = { text: expected.text, thinking: THINKING, usage: 99 };
        const message = messageOf(translated("anthropic", bytes, stop, step));
        const reason = isFound ? "stop_sequence" : plainStop;
        expect(message).toEqual({ ...common, calls: callCount, stop: [reason, expected.found] });
        const completion = completionOf(translated("openai", bytes, stop, step));
        const reasons = [!isFound && hasCall ? "tool_calls" : "stop"];
        expect({ ...completion, calls: Math.min(completion.calls, 1) }).toEqual({
          ...common,
          calls: callCount,
          reasons,
        });
      }),
      RUNS,
    );
  });

  test("pass on their errors, after the text that was held back", () => {
    const response = responseOf("", THINKING, []);
    const whole = Buffer.from(eventsOf(response, ["one EN"])).toString();
    const cut = whole.slice(0, whole.indexOf('data: {"type":"response.output_item.done","output_index":1'));
    const error = {
      type: "error",
      code: "server_error",
      message: "Failed.",
      param: null,
      sequence_number: 9,
    };
    const bytes = Buffer.from(`${cut}data: ${JSON.stringify(error)}\n\n`);
    const context = { ...NO_CONTEXT, emulatedStop: ["END"] };
    const { outbound } = formatNamed("responses");
    const stream = new StreamTranslation(outbound, inboundOf("anthropic"), OPTIONS, context);
    const written = Buffer.from(stream.push(bytes) ?? []).toString();
    expect(stream.ending()).toBe("error");
    expect(written).toContain('"text":"EN"');
    expect(written).toContain("Failed.");
  });
});

test("a whole response ends before the first sequence, keeps its usage, and loses the calls that follow", () => {
  const { outbound } = formatNamed("responses");
  fc.assert(
    fc.property(cases, fc.boolean(), ({ text, stop }, hasCall) => {
      const completion = outbound.decodeResponse(responseOf(text, THINKING, hasCall ? [CALL] : []), OPTIONS);
      if (completion === null) throw new Error("no response");
      const stopped = stopCompletion(completion, stop);
      const expected = oracle(text, stop);
      const [{ message, finish_reason, stop_sequence }] = stopped.choices;
      expect(stop_sequence ?? null).toBe(expected.found);
      expect(stopped.usage).toEqual(completion.usage);
      if (expected.found === null) expect(stopped).toEqual(completion);
      else {
        expect([message.content, message.reasoning_content, finish_reason]).toEqual([
          expected.text,
          THINKING,
          "stop",
        ]);
        expect(message.tool_calls).toBeUndefined();
      }
    }),
    RUNS,
  );
});
