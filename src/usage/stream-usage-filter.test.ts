// The client gets the provider's stream byte for byte without the usage event, however the stream is split into chunks.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatNamed } from "../formats/registry.ts";
import { StreamUsageFilter } from "./stream-usage-filter.ts";
import { UsageAccumulator } from "./usage-accumulator.ts";
import { runs } from "../../test/support/long-form.ts";

const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const USAGE_EVENT = JSON.stringify({ id: "x", choices: [], usage: USAGE });

const { usage: reader } = formatNamed("openai");

function createFilter(removesUsageEvent: boolean) {
  const accumulator = new UsageAccumulator(reader);
  return { accumulator, filter: new StreamUsageFilter(reader, accumulator, removesUsageEvent) };
}

function relay(removesUsageEvent: boolean, chunks: readonly Uint8Array[], isCut = false) {
  const { accumulator, filter } = createFilter(removesUsageEvent);
  const relayed = chunks.map((chunk) => Buffer.from(filter.push(chunk)));
  relayed.push(Buffer.from(isCut ? filter.abort() : filter.end()));
  return { text: Buffer.concat(relayed).toString("latin1"), usage: accumulator.result(!isCut, true) };
}

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

function splitAt(text: string, positions: readonly number[]): Uint8Array[] {
  const bytes = latin1(text);
  const ends = [...new Set(positions.map((position) => position % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

/** Returns an event with these lines and line ends. */
const lines = (end: string, ...texts: readonly string[]) => [...texts, ""].map((text) => text + end).join("");

function exampleStream(end: string): { whole: string; withoutUsage: string } {
  const content = (text: string) =>
    lines(end, `data: ${JSON.stringify({ choices: [{ delta: { content: text } }], usage: null })}`);
  const before =
    lines(end, ": a comment") +
    content("a") +
    content('"usage":{"prompt_tokens":9},"choices":[]') +
    lines(end, "event: x", "id: 7", "data: {", 'data: "usage": {"prompt_tokens": 1}}') +
    lines(end, 'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":2}}') +
    content("z\u00e4");
  const after = lines(end, "data: [DONE]");
  return { whole: before + lines(end, `data: ${USAGE_EVENT}`) + after, withoutUsage: before + after };
}

describe.each([
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["CR", "\r"],
])("lines that end with %s", (_, end) => {
  const { whole, withoutUsage } = exampleStream(end);
  const usage = { inputTokens: 3, outputTokens: 4, isPartial: false };

  test("split in two at every byte", () => {
    for (let at = 0; at <= whole.length; at++) {
      const chunks = splitAt(whole, [at]);
      expect(relay(true, chunks)).toMatchObject({ text: withoutUsage, usage });
      expect(relay(false, chunks)).toMatchObject({ text: whole, usage });
    }
  });

  test("byte by byte", () => {
    const chunks = splitAt(
      whole,
      Array.from({ length: whole.length }, (_, index) => index),
    );
    expect(relay(true, chunks)).toMatchObject({ text: withoutUsage, usage });
    expect(relay(false, chunks)).toMatchObject({ text: whole, usage });
  });

  test("cut at every byte: the client gets all bytes except a complete usage event", () => {
    const start = withoutUsage.length - lines(end, "data: [DONE]").length;
    const usageEnd = whole.length - lines(end, "data: [DONE]").length;
    for (let at = 0; at <= whole.length; at++) {
      const received = whole.slice(0, at);
      const { text } = relay(true, splitAt(received, [Math.floor(at / 2)]), true);
      // With CRLF, the event ends either at its last CR or at the LF after it.
      if (at < usageEnd - 1) expect(text).toBe(received);
      else if (at >= usageEnd) expect(text).toBe(whole.slice(0, start) + whole.slice(usageEnd, at));
    }
  });
});

describe("any stream", () => {
  const ending = fc.constantFrom("\n", "\r\n", "\r");
  const data = fc.oneof(
    fc.json({ maxDepth: 2 }),
    fc.constantFrom(
      "[DONE]",
      "",
      '{"choices":[],"usage":null}',
      '{"choices":[{}],"usage":{"prompt_tokens":1}}',
      '{"choices":[]}',
      '{"usage":{"prompt_tokens":5}}',
      '"\\"usage\\":{}"',
      "not json",
    ),
  );
  const plain = fc
    .tuple(data, ending, fc.constantFrom("data: ", "data:", ": ", "event: x\ndata: ", "retry: 1\ndata:"))
    .map(([content, end, prefix]) => ({ isUsageEvent: false, text: prefix + content + end + end }));
  const usageEvent = ending.map((end) => ({ isUsageEvent: true, text: `data: ${USAGE_EVENT}${end}${end}` }));
  const events = fc.array(fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: usageEvent }));

  test("loses usage events and nothing else, however it is split", () => {
    fc.assert(
      fc.property(events, fc.array(fc.nat(), { maxLength: 20 }), (stream, positions) => {
        const whole = stream.map((event) => event.text).join("");
        const kept = stream.filter((event) => !event.isUsageEvent).map((event) => event.text);
        const chunks = splitAt(whole, positions);
        expect(relay(true, chunks).text).toBe(Buffer.from(kept.join(""), "latin1").toString("latin1"));
        expect(relay(false, chunks).text).toBe(Buffer.from(whole, "latin1").toString("latin1"));
        if (whole.includes(USAGE_EVENT)) expect(relay(true, chunks).usage).not.toBeNull();
      }),
      { numRuns: runs({ short: 200, long: 1000 }) },
    );
  });

  test("relays complete events immediately and holds back only incomplete ones", () => {
    const { filter } = createFilter(true);
    const event = latin1("data: one\n\n");
    expect(filter.push(event)).toBe(event);
    expect(Buffer.from(filter.push(latin1("data: two\n\ndata: thr"))).toString()).toBe("data: two\n\n");
    expect(Buffer.from(filter.push(latin1("ee\n\n"))).toString()).toBe("data: three\n\n");
    expect(filter.push(event)).toBe(event);
  });

  test("an event that is too large is relayed, and usage after it is read", () => {
    const { accumulator, filter } = createFilter(true);
    const piece = latin1("x".repeat(400_000));
    const relayed = [piece, piece, piece, latin1(`"usage"\n\ndata: ${USAGE_EVENT}\n\ndata: z\n\n`)].map(
      (chunk) => Buffer.from(filter.push(chunk)).toString(),
    );
    expect(relayed.map((text) => text.length)).toEqual([0, 0, 1_200_000, '"usage"\n\ndata: z\n\n'.length]);
    expect(accumulator.result(true, true)).toMatchObject({ inputTokens: 3 });
  });

  test("a usage event without its blank line at the end of the stream is removed too", () => {
    const { text, usage } = relay(true, [latin1(`data: a\n\ndata: ${USAGE_EVENT}\n`)]);
    expect(text).toBe("data: a\n\n");
    expect(usage).toMatchObject({ inputTokens: 3 });
  });
});
