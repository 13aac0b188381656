// The request parser: framing, input split at any byte, and requests that it must reject.
import { describe, expect, test } from "bun:test";
import { type ParserEvent, RequestParser } from "./http-parser.ts";

const CHUNKED =
  "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Two: one\r\nx-two:  two \r\nTransfer-Encoding: chunked\r\n\r\n" +
  "5;note=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Trailer: t\r\n\r\n";
const SIZED = "\r\nPUT /sized HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
const BARE = "GET / HTTP/1.0\r\n\r\n";

function parseAll(pieces: string[]): ParserEvent[] {
  const parser = new RequestParser();
  const events: ParserEvent[] = [];
  for (const piece of pieces) {
    parser.feed(Buffer.from(piece, "latin1"));
    for (let event = parser.next(); event !== null; event = parser.next()) events.push(event);
  }
  return events;
}

function summary(events: ParserEvent[]): unknown[] {
  return events.map((event) => {
    if (event.kind === "head") return [event.head.method, event.head.target, event.head.headers];
    return event.kind === "body" ? Buffer.from(event.body).toString() : event.status;
  });
}

describe("valid requests", () => {
  const whole = summary(parseAll([CHUNKED + SIZED + BARE]));

  test("are parsed with raw headers and decoded bodies, in order", () => {
    expect(whole).toEqual([
      [
        "POST",
        "/a?b=c",
        [
          ["Host", "x"],
          ["X-Two", "one"],
          ["x-two", "two"],
          ["Transfer-Encoding", "chunked"],
        ],
      ],
      "hello world",
      ["PUT", "/sized", [["Content-Length", "3"]]],
      "abc",
      ["GET", "/", []],
      "",
    ]);
  });

  test("give the same events if split in two at any byte", () => {
    const text = CHUNKED + SIZED + BARE;
    for (let at = 1; at < text.length; at++) {
      expect(summary(parseAll([text.slice(0, at), text.slice(at)]))).toEqual(whole);
    }
  });

  test("give the same events if they arrive byte by byte", () => {
    expect(summary(parseAll((CHUNKED + SIZED + BARE).split("")))).toEqual(whole);
  });
});

describe("rejected requests", () => {
  const rejected: [why: string, text: string, status: number][] = [
    ["no request line", "nonsense\r\n\r\n", 400],
    ["another version", "GET / HTTP/2.0\r\n\r\n", 400],
    ["two different lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400],
    ["a length that is not a number", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400],
    [
      "Content-Length and chunked encoding",
      "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      400,
    ],
    ["an unknown transfer encoding", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501],
    ["white space before the colon", "GET / HTTP/1.1\r\nA : b\r\n\r\n", 400],
    ["a folded line", "GET / HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", 400],
    ["a bare line feed in a value", "GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", 400],
    ["endless headers", `GET / HTTP/1.1\r\nA: ${"b".repeat(1 << 21)}`, 431],
    ["an enormous length", "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413],
  ];
  test.each(rejected)("%s", (_why, text, status) => {
    expect(summary(parseAll([text])).at(-1)).toBe(status);
  });

  test("a bad chunk size or a chunk longer than its size", () => {
    const head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(summary(parseAll([`${head}zz\r\n`])).at(-1)).toBe(400);
    expect(summary(parseAll([`${head}2\r\nabc\r\n`])).at(-1)).toBe(400);
  });
});
