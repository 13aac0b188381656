// The usage in events and bodies that are too large to be kept is read while they are relayed, wherever it is.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatNamed } from "../formats/registry.ts";
import { JsonOutline } from "./json-outline.ts";
import { StreamUsageFilter } from "./stream-usage-filter.ts";
import { UsageAccumulator } from "./usage-accumulator.ts";
import { tapResponse, type UsageTap } from "./usage-tap.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { FormatName } from "../formats/format-names.ts";
import { runs } from "../../test/support/long-form.ts";

const MEDIA = "A".repeat(1_600_000);
const TEXT = 'a "quoted" word, {"usage":{"input_tokens":1}} \\ '.repeat(40_000);
const MANY = Array.from({ length: 80_000 }, (_, at) => ({ token: `t${at}`, logprob: -0.5 }));
const USAGE = { input_tokens: 5000, output_tokens: 4000, total_tokens: 9000 };
const EXPECTED = { inputTokens: 5000, outputTokens: 4000, isPartial: false };

/** Pieces of this size, so that names, escapes and numbers are cut anywhere. */
function split(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
}

function relay(name: FormatName, pieces: readonly Buffer[], isRemoved: boolean) {
  const { usage: reader } = formatNamed(name);
  const usage = new UsageAccumulator(reader);
  const filter = new StreamUsageFilter(reader, usage, isRemoved);
  const relayed = [...pieces.map((piece) => Buffer.from(filter.push(piece))), Buffer.from(filter.end())];
  return { text: Buffer.concat(relayed).toString(), usage: usage.result(true, true) };
}

const image = (large: unknown) => ({ type: "image_generation.completed", b64_json: large, usage: USAGE });
const EVENTS: Record<string, readonly [FormatName, object]> = {
  "usage after an image": ["openai", image(MEDIA)],
  "usage before an image": ["openai", { usage: USAGE, type: "image_generation.completed", b64_json: MEDIA }],
  "usage beside a text with escapes": ["openai", image(TEXT)],
  "usage beside very many values": ["openai", image(MANY)],
  "usage of a response": [
    "responses",
    { type: "response.completed", response: { id: "r", output: [{ result: MEDIA }], usage: USAGE } },
  ],
  "usage of a response, before its output": [
    "responses",
    {
      type: "response.completed",
      response: { usage: USAGE, instructions: TEXT, output: [{ result: MEDIA }] },
    },
  ],
  "usage of Gemini": [
    "gemini",
    {
      candidates: [{ content: { parts: [{ inlineData: { data: MEDIA } }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 5000, candidatesTokenCount: 4000, totalTokenCount: 9000 },
    },
  ],
};

describe.each(Object.keys(EVENTS))("%s", (name) => {
  const [format, event] = EVENTS[name] ?? ["openai", {}];

  test.each([Infinity, 65_536, 1021])("in pieces of %p bytes", (size) => {
    for (const [lead, line, isRemoved] of [
      ["event: x\ndata: ", "\n", false],
      ["data:", "\r\n", true],
    ] as const) {
      const stream = `data: {"a":1}${line}${line}${lead}${JSON.stringify(event)}${line}${line}data: [DONE]${line}${line}`;
      const { text, usage } = relay(format, split(stream, Math.min(size, stream.length)), isRemoved);
      expect(text === stream).toBe(true);
      expect(usage).toMatchObject(EXPECTED);
    }
  });
});

test("a large event without usage of its own reports none", () => {
  const event = { type: "x", text: TEXT, list: [{ usage: USAGE }], in: { deep: { usage: USAGE } } };
  const pieces = split(`data: ${JSON.stringify(event)}\n\n`, 10_000);
  expect(relay("openai", pieces, false).usage).toBeNull();
});

test("an event with more members than are kept reports none, and the next one does", () => {
  const members = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`m${at}`, at]));
  const event = JSON.stringify({ ...members, usage: USAGE });
  const next = JSON.stringify(image("A"));
  expect(relay("openai", split(`data: ${event}\n\n`, 10_000), false).usage).toBeNull();
  expect(relay("openai", split(`data: ${event}\n\ndata: ${next}\n\n`, 10_000), false).usage).toMatchObject(
    EXPECTED,
  );
});

describe("a whole body", () => {
  function usageOf(body: string, push: (tap: UsageTap, body: Buffer) => void) {
    const tap = tapResponse({
      upstreamResponse: { ok: true, headers: new Headers() } as unknown as UpstreamResponse,
      body: null,
      reader: {
        next: () => Promise.resolve(null),
        peek: () => Promise.resolve(null),
        cancel: () => undefined,
      },
      isStream: false,
      isDecoded: false,
      isChat: false,
      hidesUsage: false,
      usageReader: formatNamed("openai").usage,
      details: null,
    });
    if (tap === null) return null;
    push(tap, Buffer.from(body));
    return tap.result(true);
  }
  const chunks = (tap: UsageTap, body: Buffer) => {
    for (const piece of split(body.toString(), 50_000)) void tap.push(piece);
    void tap.end();
  };
  const whole = (tap: UsageTap, body: Buffer) => void tap.pushWhole(body);
  const data = [{ b64_json: MEDIA }];

  test.each([
    ["before the data", { created: 1, usage: USAGE, data }],
    ["after the data", { created: 1, data, usage: USAGE }],
    ["between large members", { data, usage: USAGE, more: data }],
  ])("with usage %s", (_, body) => {
    for (const push of [chunks, whole]) expect(usageOf(JSON.stringify(body), push)).toMatchObject(EXPECTED);
  });

  test("that is cut has none", () => {
    const json = JSON.stringify({ usage: USAGE, data });
    for (const push of [chunks, whole]) expect(usageOf(json.slice(0, -1), push)).toBeNull();
  });
});

test("an outline has the members of the object, however it is split", () => {
  const name = fc.constantFrom("usage", "usageMetadata", "response", "type", "a\\b", '"', "é");
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(1, -2.5e-7, true, null, "", "x", '\\"{[', "\\\\", "]}", "é".repeat(300)),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    ),
  }));
  const keep = (each: unknown, depth: number, isUsage: boolean): unknown => {
    if (typeof each === "string") return Buffer.byteLength(JSON.stringify(each)) > 258 ? "" : latin1(each);
    if (typeof each !== "object" || each === null) return each;
    if (Array.isArray(each))
      return isUsage ? each.map((item) => keep(item, depth + 1, true)) : each.length === 0 ? [] : [0];
    const entries = Object.entries(each).map(([key, own]) => {
      const isOwn = isUsage || (depth < 2 && isObject(own) && key.startsWith("usage"));
      return [latin1(key), isObject(own) && !isOwn && depth >= 1 ? {} : keep(own, depth + 1, isOwn)];
    });
    return Object.fromEntries(entries);
  };
  const isObject = (each: unknown) => typeof each === "object" && each !== null && !Array.isArray(each);
  const latin1 = (text: string) => Buffer.from(text).toString("latin1");
  fc.assert(
    fc.property(
      fc.dictionary(name, value, { maxKeys: 5 }),
      fc.integer({ min: 1, max: 40 }),
      (object, size) => {
        const outline = new JsonOutline();
        for (const piece of split(JSON.stringify(object), size)) outline.push(piece);
        expect(JSON.parse(outline.take() ?? "")).toEqual(keep(object, 0, false) as never);
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});
