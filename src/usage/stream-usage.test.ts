// The client's stream is the provider's, byte for byte, less the extra chunk, however it is cut into pieces.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UsageAccumulator } from "./usage.ts";
import { StreamUsage } from "./stream-usage.ts";

const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const EXTRA = JSON.stringify({ id: "x", choices: [], usage: USAGE });

function play(takesOut: boolean, pieces: readonly Uint8Array[], isCut = false) {
  const told = new UsageAccumulator();
  const stream = new StreamUsage(told, takesOut);
  const out = pieces.map((piece) => Buffer.from(stream.push(piece)));
  out.push(Buffer.from(isCut ? stream.broken() : stream.rest()));
  return { text: Buffer.concat(out).toString("latin1"), usage: told.result(!isCut, true), out };
}

const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

function cutAt(text: string, places: readonly number[]): Uint8Array[] {
  const bytes = latin1(text);
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

/** An event as it stands on the wire, with the line ends given. */
const lines = (end: string, ...each: readonly string[]) => [...each, ""].map((line) => line + end).join("");

function exampleStream(end: string): { whole: string; less: string } {
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
  return { whole: before + lines(end, `data: ${EXTRA}`) + after, less: before + after };
}

describe.each([
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["CR", "\r"],
])("lines that end with %s", (_, end) => {
  const { whole, less } = exampleStream(end);
  const usage = { inputTokens: 3, outputTokens: 4, isPartial: false };

  test("cut in two at every byte", () => {
    for (let at = 0; at <= whole.length; at++) {
      const pieces = cutAt(whole, [at]);
      expect(play(true, pieces)).toMatchObject({ text: less, usage });
      expect(play(false, pieces)).toMatchObject({ text: whole, usage });
    }
  });

  test("byte by byte", () => {
    const pieces = cutAt(
      whole,
      Array.from({ length: whole.length }, (_, index) => index),
    );
    expect(play(true, pieces)).toMatchObject({ text: less, usage });
    expect(play(false, pieces)).toMatchObject({ text: whole, usage });
  });

  test("cut off at every byte: the client has all that came, but for a whole extra chunk", () => {
    const start = less.length - lines(end, "data: [DONE]").length;
    const extraEnd = whole.length - lines(end, "data: [DONE]").length;
    for (let at = 0; at <= whole.length; at++) {
      const came = whole.slice(0, at);
      const { text } = play(true, cutAt(came, [Math.floor(at / 2)]), true);
      // The last line end of two bytes may be in doubt until its second byte.
      if (at < extraEnd - 1) expect(text).toBe(came);
      else if (at >= extraEnd) expect(text).toBe(whole.slice(0, start) + whole.slice(extraEnd, at));
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
    .map(([content, end, prefix]) => ({ isExtra: false, text: prefix + content + end + end }));
  const extra = ending.map((end) => ({ isExtra: true, text: `data: ${EXTRA}${end}${end}` }));
  const events = fc.array(fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: extra }));

  test("loses the extra chunks and nothing else, however it is cut", () => {
    fc.assert(
      fc.property(events, fc.array(fc.nat(), { maxLength: 20 }), (stream, places) => {
        const whole = stream.map((event) => event.text).join("");
        const kept = stream.filter((event) => !event.isExtra).map((event) => event.text);
        const pieces = cutAt(whole, places);
        expect(play(true, pieces).text).toBe(Buffer.from(kept.join(""), "latin1").toString("latin1"));
        expect(play(false, pieces).text).toBe(Buffer.from(whole, "latin1").toString("latin1"));
        const isTold = whole.includes(EXTRA);
        if (isTold) expect(play(true, pieces).usage).not.toBeNull();
      }),
      { numRuns: 1000 },
    );
  });

  test("passes on at once what is complete, and holds back only what is not", () => {
    const told = new UsageAccumulator();
    const stream = new StreamUsage(told, true);
    const event = latin1("data: one\n\n");
    expect(stream.push(event)).toBe(event);
    expect(Buffer.from(stream.push(latin1("data: two\n\ndata: thr"))).toString()).toBe("data: two\n\n");
    expect(Buffer.from(stream.push(latin1("ee\n\n"))).toString()).toBe("data: three\n\n");
    expect(stream.push(event)).toBe(event);
  });

  test("an event without end is let through, and the stream is read again after it", () => {
    const told = new UsageAccumulator();
    const stream = new StreamUsage(told, true);
    const piece = latin1("x".repeat(400_000));
    const out = [piece, piece, piece, latin1(`"usage"\n\ndata: ${EXTRA}\n\ndata: z\n\n`)].map((each) =>
      Buffer.from(stream.push(each)).toString(),
    );
    expect(out.map((each) => each.length)).toEqual([0, 0, 1_200_000, '"usage"\n\ndata: z\n\n'.length]);
    expect(told.result(true, true)).toMatchObject({ inputTokens: 3 });
  });

  test("an extra chunk that is not ended is taken out too", () => {
    const { text, usage } = play(true, [latin1(`data: a\n\ndata: ${EXTRA}\n`)]);
    expect(text).toBe("data: a\n\n");
    expect(usage).toMatchObject({ inputTokens: 3 });
  });
});
