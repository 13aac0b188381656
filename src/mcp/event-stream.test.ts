import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { McpEventParser, type McpEvent } from "./event-stream.ts";

const MAX = 10_000;

type TextEvent = Omit<McpEvent, "data"> & { readonly data: string };

const asText = (event: McpEvent): TextEvent => ({ ...event, data: Buffer.from(event.data).toString() });

/** Reads a whole text by splitting it into blocks, without state. */
function naive(text: string): TextEvent[] {
  const blocks = text
    .replaceAll(/\r\n|\r/g, "\n")
    .split("\n\n")
    .slice(0, -1);
  return blocks.flatMap((block) => {
    const data: string[] = [];
    let id: string | null = null;
    let retry: number | null = null;
    let type = "";
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (name === "data") data.push(value);
      if (name === "id") id = value;
      if (name === "event") type = value;
      if (name === "retry" && /^\d{1,9}$/.test(value)) retry = Number(value);
    }
    const isMessage = (type === "" || type === "message") && data.join("").trim() !== "";
    return !isMessage && id === null && retry === null
      ? []
      : [{ id, retry, data: isMessage ? data.join("\n") : "" }];
  });
}

const line = fc.constantFrom(
  "data: a",
  "data:b",
  "data",
  "id: 7",
  "id",
  "retry: 5",
  "retry: x",
  ": comment",
  "event: message",
  "event: ping",
  "event",
  "data:   ",
  "é: ü",
  "data: ü",
);
const stream = fc
  .array(fc.tuple(fc.array(line, { minLength: 1, maxLength: 4 }), fc.constantFrom("\n", "\r\n", "\r")), {
    maxLength: 5,
  })
  .map((events) => events.map(([lines, end]) => lines.join(end) + end + end).join(""));

test("reads the same events as a parser of the whole text, however the bytes arrive", () => {
  fc.assert(
    fc.property(stream, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (text, sizes) => {
      const bytes = new TextEncoder().encode(text);
      const parser = new McpEventParser(MAX);
      const events: TextEvent[] = [];
      for (let at = 0, step = 0; at < bytes.length; step++) {
        const size = sizes[step % sizes.length] ?? 1;
        events.push(...parser.push(bytes.subarray(at, at + size)).map(asText));
        at += size;
      }
      expect(events).toEqual(naive(text));
    }),
    { numRuns: runs({ short: 200, long: 20_000 }) },
  );
});

test("an event that is too large is an error, also if it never ends", () => {
  const parser = new McpEventParser(100);
  expect(() => {
    for (let count = 0; count < 50; count++) parser.push(Buffer.from("data: abc"));
  }).toThrow("larger than 100 bytes");
});

test("an event with very many lines is an error", () => {
  const parser = new McpEventParser(1_000_000);
  expect(() => parser.push(Buffer.from("data:\n".repeat(60_000)))).toThrow("more than 50000 lines");
});

test.each([
  ["a type that is no message", "event: ping\ndata: {}\n\n", []],
  ["only spaces", "data:   \n\n", []],
  ["another type and an id", "event: ping\nid: 7\ndata: {}\n\n", [{ id: "7", retry: null, data: "" }]],
  [
    "the type of messages last",
    "event: ping\nevent: message\ndata: {}\n\n",
    [{ id: null, retry: null, data: "{}" }],
  ],
])("an event with %s", (_, text, expected) => {
  expect(new McpEventParser(MAX).push(Buffer.from(text)).map(asText)).toEqual(expected);
});
