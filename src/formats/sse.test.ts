// The parser against a naive implementation that reads the whole text at once, and edge cases of the grammar.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatSse, SseParser, SseTooLargeError, type SseEvent } from "./sse.ts";
import { anyCharacter, grapheme } from "../../test/support/characters.ts";
import { runs } from "../../test/support/long-form.ts";

const encoder = new TextEncoder();

function parseChunks(chunks: readonly Uint8Array[], maxEventBytes?: number) {
  const parser = new SseParser(maxEventBytes);
  return chunks.flatMap((chunk) => parser.push(chunk));
}

function parseText(text: string) {
  return parseChunks([encoder.encode(text)]);
}

/** Follows the grammar literally: decodes everything, then splits it into lines. The last piece is an incomplete line. */
function parseNaively(bytes: Uint8Array): SseEvent[] {
  const text = new TextDecoder("utf-8").decode(bytes);
  const lines = text.split(/\r\n|\r|\n/).slice(0, -1);
  const events: SseEvent[] = [];
  let name = "";
  let data = "";
  for (const line of lines) {
    if (line === "") {
      if (data !== "") events.push({ event: name || null, data: data.slice(0, -1) });
      name = "";
      data = "";
    } else if (!line.startsWith(":")) {
      const [, field, value] = /^([^:]*):? ?(.*)$/su.exec(line)!;
      if (field === "data") data += `${value!}\n`;
      if (field === "event") name = value!;
    }
  }
  return events;
}

const streamText = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\r\r"),
      fc.constantFrom(
        "data",
        "data:",
        "data: ",
        "event: ",
        "event:",
        "id: 1",
        "retry: 5",
        ": comment",
        ":",
        " ",
      ),
      fc.constantFrom("\uFEFF", "é", "🌍", "漢字", "data: [DONE]", "\0"),
      fc.string({ unit: grapheme, maxLength: 8 }),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => encoder.encode(pieces.join("")));
// Also invalid UTF-8, which must not change where lines and events end.
const streamBytes = fc.oneof(
  { weight: 4, arbitrary: streamText },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.constantFrom(
          0x0a,
          0x0d,
          0x3a,
          0x20,
          0x64,
          0x61,
          0x74,
          0xe2,
          0x82,
          0xac,
          0xf0,
          0x9f,
          0xef,
          0xbb,
          0xbf,
        ),
      )
      .map((bytes) => Uint8Array.from([...encoder.encode("data:"), ...bytes, 0x0a, 0x0a])),
  },
);

function cutAt(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const cuts = [0, ...positions.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

describe("SseParser", () => {
  test("agrees with the naive implementation, however the bytes are split", () => {
    fc.assert(
      fc.property(streamBytes, fc.array(fc.nat(), { maxLength: 12 }), (bytes, positions) => {
        const expected = parseNaively(bytes);
        expect(parseChunks([bytes])).toEqual(expected);
        expect(parseChunks(cutAt(bytes, positions))).toEqual(expected);
        expect(parseChunks(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toEqual(expected);
      }),
      { numRuns: runs({ short: 400, long: 2000 }) },
    );
  });

  test("parses the output of formatSse", () => {
    const line = fc.string({ unit: anyCharacter }).filter((text) => !/\r/.test(text));
    const name = line.filter((text) => !/\n/.test(text) && !text.startsWith(" ")).map((text) => text || null);
    fc.assert(
      fc.property(fc.array(fc.record({ event: name, data: line })), (events) => {
        // The comment prevents a BOM in the first event from being at the start of the stream.
        expect(parseText(`:\n${events.map(formatSse).join("")}`)).toEqual(
          events.map(({ event, data }) => ({
            event: event?.toWellFormed() ?? null,
            data: data.toWellFormed(),
          })),
        );
      }),
    );
  });

  test.each<[string, string, SseEvent[]]>([
    ["LF", "event: a\ndata: 1\n\n", [{ event: "a", data: "1" }]],
    ["CRLF", "event: a\r\ndata: 1\r\n\r\n", [{ event: "a", data: "1" }]],
    ["CR", "event: a\rdata: 1\r\r", [{ event: "a", data: "1" }]],
    ["several data lines", "data: 1\ndata:\ndata:  2\n\n", [{ event: null, data: "1\n\n 2" }]],
    ["a data line without a colon", "data\n\n", [{ event: null, data: "" }]],
    ["an event without data is dropped", "event: a\n\ndata: 1\n\n", [{ event: null, data: "1" }]],
    [
      "comments and unknown fields",
      ": hi\nid: 7\nretry: 1\nfoo\ndata: 1\n:\n\n",
      [{ event: null, data: "1" }],
    ],
    [
      "a BOM at the start only",
      "\uFEFFdata: 1\n\n\uFEFFdata: 2\n\ndata: \uFEFF3\n\n",
      [
        { event: null, data: "1" },
        { event: null, data: "\uFEFF3" },
      ],
    ],
  ])("%s", (_, text, expected) => {
    expect(parseText(text)).toEqual(expected);
  });

  test("returns an event at the CR that ends it, and skips a LF that arrives later", () => {
    const parser = new SseParser();
    expect(parser.push(encoder.encode("data: 1\r\n\r"))).toEqual([{ event: null, data: "1" }]);
    expect(parser.push(encoder.encode("\ndata: 2\n"))).toEqual([]);
    expect(parser.push(encoder.encode("\n"))).toEqual([{ event: null, data: "2" }]);
  });

  test("does not read the caller's buffer after push", () => {
    const parser = new SseParser();
    const buffer = encoder.encode("data: 1");
    parser.push(buffer);
    buffer.fill(0x78);
    expect(parser.push(encoder.encode("\n\n"))).toEqual([{ event: null, data: "1" }]);
  });

  test("limits the size of each event, not of the stream, whether it arrives whole or byte by byte", () => {
    const fitting = encoder.encode(`data: ${"x".repeat(14)}\n\n`.repeat(50));
    expect(parseChunks([fitting], 20)).toHaveLength(50);
    for (const text of [`data: ${"x".repeat(15)}`, "data: 1\ndata: 2\ndata: 3\n", `: ${"x".repeat(40)}\n`]) {
      const bytes = encoder.encode(text);
      expect(() => parseChunks([bytes], 20)).toThrow(SseTooLargeError);
      expect(() =>
        parseChunks(
          Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
          20,
        ),
      ).toThrow("larger than 20 bytes");
    }
  });

  // With quadratic time this test would time out.
  test("a long event in single bytes and many lines in one chunk take linear time", () => {
    const parser = new SseParser();
    const byte = Uint8Array.of(0x78);
    parser.push(encoder.encode("data: "));
    for (let count = 0; count < 500_000; count += 1) parser.push(byte);
    expect(parser.push(encoder.encode("\n\n"))[0]?.data).toHaveLength(500_000);
    // With CR alone, a parser that searches for an LF in each line takes quadratic time.
    expect(parseText("data: 1\r\r".repeat(200_000))).toHaveLength(200_000);
    expect(parseText("data: 1\n\n".repeat(200_000))).toHaveLength(200_000);
  });
});

describe("formatSse", () => {
  test("writes the name, and a data field for each line", () => {
    expect(formatSse({ event: "a", data: "1\n2\r\n3" })).toBe("event: a\ndata: 1\ndata: 2\ndata: 3\n\n");
    expect(formatSse({ data: "" })).toBe("data: \n\n");
  });

  test("rejects a name with a line break", () => {
    expect(() => formatSse({ event: "a\ndata: x", data: "1" })).toThrow("line break");
  });
});
