// The response parser: the result does not depend on how the bytes are split, and invalid HTTP is rejected.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { InvalidMessage } from "../http/invalid-message.ts";
import type { ParsedResponseHeaders, StatusLine } from "./response-headers.ts";
import { ResponseParser } from "./response-parser.ts";
import { HeaderFieldCache } from "../http/header-field-cache.ts";
import { runs } from "../../test/support/long-form.ts";

interface Parsed {
  readonly responses: ParsedResponseHeaders[];
  readonly body: string;
  readonly isEnded: boolean;
  /** There were bytes after the response. */
  readonly hasMore: boolean;
}

/** Parses the pieces; `null` is the end of the connection. */
function parse(
  pieces: readonly (string | null)[],
  method = "POST",
  cache = new HeaderFieldCache<StatusLine>(),
): Parsed {
  const responses: ParsedResponseHeaders[] = [];
  let body = "";
  let ends = 0;
  let hasMore = false;
  const events = {
    onHeaders: (parsed: ParsedResponseHeaders) => responses.push(parsed),
    onBody: (bytes: Uint8Array) => (body += Buffer.from(bytes).toString("latin1")),
    onEnd: () => ends++,
  };
  const parser = new ResponseParser(events, cache);
  parser.begin(method);
  for (const piece of pieces) {
    if (piece === null) parser.pushEnd();
    else hasMore = parser.push(Buffer.from(piece, "latin1")) || hasMore;
  }
  expect(ends).toBe(parser.isEnded ? 1 : 0);
  return { responses, body, isEnded: parser.isEnded, hasMore };
}

function expectInvalid(text: string, message: string): void {
  expect(() => parse([text])).toThrow(new InvalidMessage(message));
}

const headersOf = (...lines: string[]) =>
  `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;

describe("end of the body", () => {
  test("after Content-Length bytes", () => {
    const { body, isEnded, hasMore } = parse([`${headersOf("Content-Length: 5")}hello`]);
    expect([body, isEnded, hasMore]).toEqual(["hello", true, false]);
    expect(parse([`${headersOf("Content-Length: 5")}hell`])).toMatchObject({ body: "hell", isEnded: false });
    expect(parse([`${headersOf("Content-Length: 5")}hello!`])).toMatchObject({
      body: "hello",
      hasMore: true,
    });
  });

  test("after the last chunk; extensions and trailers are dropped", () => {
    const chunks = "5;a=b\r\nhello\r\nA \r\n 123456789\r\n0\r\nX-Trailer: 1\r\n\r\n";
    expect(parse([headersOf("Transfer-Encoding: chunked") + chunks])).toMatchObject({
      body: "hello 123456789",
      isEnded: true,
    });
  });

  test("with the connection, if there is neither a length nor chunks", () => {
    expect(parse([headersOf("X: 1"), "some ", "bytes"]).isEnded).toBe(false);
    expect(parse([headersOf("X: 1"), "some ", "bytes", null])).toMatchObject({
      body: "some bytes",
      isEnded: true,
    });
    // The end of the connection does not complete a body with a length or chunks.
    expect(parse([`${headersOf("Content-Length: 5")}hell`, null]).isEnded).toBe(false);
    expect(parse([`${headersOf("Transfer-Encoding: chunked")}5\r\nhello\r\n`, null]).isEnded).toBe(false);
  });

  test.each([
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
    ["POST", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
  ])("after the headers, in response to %s: %j", (method, text) => {
    expect(parse([text], method)).toMatchObject({ body: "", isEnded: true, hasMore: false });
  });
});

test("interim responses are skipped, up to a limit", () => {
  const interim = "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n";
  const { responses } = parse([interim.repeat(3) + headersOf("Content-Length: 0")]);
  expect(responses.map(({ status }) => status)).toEqual([200]);
  expectInvalid(interim.repeat(33), "more than 32 interim responses");
  expectInvalid("HTTP/1.1 101 Switching Protocols\r\n\r\n", "101 Switching Protocols without an upgrade");
});

describe("isKeepAlive", () => {
  test.each([
    [true, headersOf("Content-Length: 0")],
    [true, headersOf("Transfer-Encoding: chunked")],
    [true, headersOf("Content-Length: 0", "Connection: keep-alive")],
    [false, headersOf("Content-Length: 0", "Connection: close")],
    [false, headersOf("Content-Length: 0", "Connection: X-Own, Close")],
    [false, headersOf("X: no length")],
    [false, headersOf("Content-Length: 3", "Transfer-Encoding: chunked")],
    [false, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
    [true, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"],
    // All Connection fields count, in any order.
    [false, headersOf("Content-Length: 0", "Connection: close", "Connection: keep-alive")],
    [false, headersOf("Content-Length: 0", "Connection: keep-alive", "Connection: close", "Connection: X")],
    [false, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: X-Own\r\n\r\n"],
    [false, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: not-keep-alive\r\n\r\n"],
    [true, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: X-Own\r\nConnection: Keep-Alive\r\n\r\n"],
    // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings.
    [false, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"],
    // RFC 9110, section 8.6, and RFC 9112, section 6.1: another reader may expect a body.
    [false, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"],
    [false, "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"],
    [true, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"],
    [true, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
  ])("%p: %j", (isKeepAlive, text) => {
    expect(parse([text]).responses[0]?.isKeepAlive).toBe(isKeepAlive);
  });
});

test("header fields keep their order, number, and bytes; names are in lower case", () => {
  const text = headersOf("Set-Cookie: a", "X-Empty:", "set-cookie:b", "X-Bytes:  \xe9\xff \t");
  const [first] = parse([text]).responses;
  expect(first?.headers.names).toEqual(["set-cookie", "x-empty", "set-cookie", "x-bytes"]);
  expect(first?.headers.values).toEqual(["a", "", "b", "\xe9\xff"]);
  expect(first?.headers.get("set-cookie")).toBe("a, b");
  expect(first?.headers.get("x-none")).toBeNull();
});

describe("invalid responses", () => {
  test.each([
    ["HTTP/2 200\r\n\r\n", "invalid status line"],
    ["HTTP/1.1 999 Odd\r\n\r\n", "invalid status line"],
    ["HTTP/1.1 20 OK\r\n\r\n", "invalid status line"],
    ["ICY 200 OK\r\n\r\n", "invalid status line"],
    [headersOf("no colon"), "header field without a colon"],
    [headersOf("Two Words: x"), "invalid header field name"],
    [headersOf("X: a", " folded: b"), "invalid header field name"],
    [headersOf(": no name"), "invalid header field name"],
    [headersOf("X: a\nInjected: b"), "control character in a header field"],
    [headersOf("X: a\rb"), "control character in a header field"],
    [headersOf("X: \0"), "control character in a header field"],
    [headersOf("Content-Length: 5", "Content-Length: 6"), "invalid Content-Length"],
    [headersOf("Content-Length: 5, 6"), "invalid Content-Length"],
    [headersOf("Content-Length: +5"), "invalid Content-Length"],
    [headersOf("Content-Length: 0x5"), "invalid Content-Length"],
    [headersOf("Content-Length:"), "invalid Content-Length"],
    [headersOf("Transfer-Encoding: gzip, chunked"), "unsupported Transfer-Encoding"],
    [headersOf("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "unsupported Transfer-Encoding"],
    [`${headersOf("Transfer-Encoding: chunked")}xyz\r\n`, "invalid chunk size"],
    [`${headersOf("Transfer-Encoding: chunked")}-1\r\n`, "invalid chunk size"],
    [`${headersOf("Transfer-Encoding: chunked")}5\r\nhello!\r\n`, "chunk longer than its size"],
    [headersOf("X : a"), "invalid header field name"],
    [headersOf("X\t: a"), "invalid header field name"],
    [headersOf("Content-Length : 5"), "invalid header field name"],
    [headersOf("X: a", "\tfolded"), "header field without a colon"],
    ["HTTP/1.1 200 OK\nContent-Length: 0\n\r\n\r\n", "control character in a header field"],
    ["\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "invalid status line"],
    ["HTTP/1.1  200 OK\r\n\r\n", "invalid status line"],
    ["HTTP/1.1 200\0OK\r\n\r\n", "invalid status line"],
    [headersOf("Content-Length: -1"), "invalid Content-Length"],
    [headersOf("Content-Length: 5 5"), "invalid Content-Length"],
    [headersOf("Content-Length: 5,"), "invalid Content-Length"],
    [headersOf("Content-Length: 5, +5"), "invalid Content-Length"],
    [headersOf("Content-Length: 5,\xa05"), "invalid Content-Length"],
    [headersOf("Content-Length: 1e1"), "invalid Content-Length"],
    [headersOf(`Content-Length: ${"9".repeat(16)}`), "invalid Content-Length"],
    [headersOf("Transfer-Encoding: chunked\xa0"), "unsupported Transfer-Encoding"],
    [headersOf("Transfer-Encoding: xchunked"), "unsupported Transfer-Encoding"],
    [headersOf("Transfer-Encoding: chunked, identity"), "unsupported Transfer-Encoding"],
    [headersOf("Transfer-Encoding: chunked;x=1"), "unsupported Transfer-Encoding"],
    [headersOf("Transfer-Encoding:"), "unsupported Transfer-Encoding"],
    ["HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n", "interim response with a body"],
    ["HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n", "interim response with a body"],
    [`${headersOf("Transfer-Encoding: chunked")}${"0".repeat(9000)}`, "line longer than 8192 bytes"],
    [
      `${headersOf("Transfer-Encoding: chunked")}0\r\n${`T: ${"x".repeat(4000)}\r\n`.repeat(5)}`,
      "trailers larger than 16384 bytes",
    ],
    [headersOf(...Array.from({ length: 300 }, (_, index) => `X-${index}: 1`)), "more than 256 header fields"],
    [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}`, "headers larger than 65536 bytes"],
  ])("%j", (text, message) => expectInvalid(text, message));

  test.each([
    ...[
      "+5\r\n",
      "0x5\r\n",
      " 5\r\n",
      "\t5\r\n",
      "5_0\r\n",
      "\r\n",
      ";a=b\r\n",
      "5\0\r\n",
      "5 5\r\n",
      "5.0\r\n",
    ],
    ...[
      "5\n",
      "5;a=b\n",
      "5;a=\0\r\n",
      "5;a=\x1f\r\n",
      "5;a=\x7f\r\n",
      "5;a\rb\r\n",
      "5\r\r\n",
      "5\xa0\r\n",
      "0\n",
    ],
    "1000000000000\r\n",
  ])("chunk size %j, also split at every byte", (line) => {
    const text = `${headersOf("Transfer-Encoding: chunked")}${line}`;
    expectInvalid(text, "invalid chunk size");
    expect(() => parse(Array.from(text))).toThrow(new InvalidMessage("invalid chunk size"));
  });

  test.each(["hello\n5\r\n", "hello5\r\n", "hello\r5\r\n", "hello \r\n", "hello\n\r\n"])(
    "end of a chunk %j, also split at every byte",
    (chunk) => {
      const text = `${headersOf("Transfer-Encoding: chunked")}5\r\n${chunk}`;
      expectInvalid(text, "chunk longer than its size");
      expect(() => parse(Array.from(text))).toThrow(InvalidMessage);
    },
  );

  test.each([
    ..."\n|X: 1\n|X: 1\r\n\n|X: \0\r\n|X: a\rb\r\n|X : 1\r\n| X: 1\r\n|no colon\r\n|: 1\r\n".split("|"),
    "HTTP/1.1 200 OK\r\n",
  ])("trailers %j", (trailers) => {
    expectInvalid(`${headersOf("Transfer-Encoding: chunked")}0\r\n${trailers}`, "invalid trailer");
  });

  test("a repeated Content-Length is accepted if the values are equal", () => {
    expect(parse([`${headersOf("Content-Length: 2, 2", "Content-Length: 2")}ok`])).toMatchObject({
      body: "ok",
      isEnded: true,
    });
  });
});

/** A response, its body, and how the body ends. */
const responsesOfAllKinds = fc
  .record({
    interim: fc.boolean(),
    body: fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, "\r")),
    cuts: fc.array(fc.nat(60), { maxLength: 4 }),
    framing: fc.constantFrom("length", "chunked", "close"),
    more: fc.boolean(),
  })
  .map(({ interim, body, cuts, framing, more }) => {
    const before = interim ? "HTTP/1.1 100 Continue\r\n\r\n" : "";
    const rest = more && framing !== "close" ? "HTTP/1.1 500 Another response\r\n\r\n" : "";
    if (framing === "length")
      return {
        text: `${before}${headersOf(`Content-Length: ${body.length}`)}${body}${rest}`,
        body,
        rest,
        framing,
      };
    if (framing === "close") return { text: `${before}${headersOf("X: 1")}${body}`, body, rest, framing };
    const at = [0, ...cuts.map((cut) => Math.min(cut, body.length)).sort((a, b) => a - b), body.length];
    const chunks = at
      .slice(1)
      .map((end, index) => body.slice(at[index], end))
      .filter((chunk) => chunk !== "");
    const encoded = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
    return {
      text: `${before}${headersOf("Transfer-Encoding: chunked")}${encoded}0\r\n\r\n${rest}`,
      body,
      rest,
      framing,
    };
  });

test("property: split at every byte, or anywhere, the result is the same", () => {
  fc.assert(
    fc.property(
      responsesOfAllKinds,
      fc.array(fc.nat(400), { maxLength: 6 }),
      ({ text, body, rest, framing }, cuts) => {
        const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
        const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
        for (const split of [[text], pieces, Array.from(text)]) {
          const parsed = parse([...split, null]);
          expect({ body: parsed.body, isEnded: parsed.isEnded }).toEqual({ body, isEnded: true });
          expect(parsed.hasMore).toBe(rest !== "");
          expect(parsed.responses[0]?.framing).toBe(
            framing === "length" ? body.length : framing === "chunked" ? "chunked" : "until_close",
          );
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("property: throws nothing but InvalidMessage, and reports no body before the headers", () => {
  const bytes = fc.array(
    fc.constantFrom(
      "HTTP/1.1 200 OK",
      "\r\n",
      "\r",
      "\n",
      ":",
      "Content-Length",
      "5",
      "chunked",
      "Transfer-Encoding",
      " ",
      "\0",
      "a",
      "0",
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(bytes, (parts) => {
      try {
        const { responses, body } = parse([...parts, null]);
        if (responses.length === 0) expect(body).toBe("");
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidMessage);
      }
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

test("property: earlier responses in the cache do not change how the next one is parsed", () => {
  const line = fc.constantFrom(
    ...["X: a", "X: ab", "X: a ", "x: a", "X: a\nb", "X: a\r", "X", "X:", " X: a", "X: \0", "Y: a"],
    ...["Content-Length: 5", "Content-Length: 50", "Content-Length: 5, 5", "Connection: close"],
    ...["Transfer-Encoding: chunked", "Transfer-Encoding: chunkeds", `X: ${"a".repeat(5000)}`],
  );
  const first = fc.constantFrom(
    ...["HTTP/1.1 200 OK", "HTTP/1.1 200 OK ", "HTTP/1.1 200", "HTTP/1.1 204 OK", "HTTP/1.0 200 OK"],
    ...["HTTP/1.1 200 OK\nX: b", "HTTP/1.1 200 OK\r", "HTTP/1.1 200 OK\0", "HTTP/1.1 2000", "HTTP/2 200 OK"],
    `HTTP/1.1 200 ${"a".repeat(5000)}`,
  );
  const message = fc.record({ first, lines: fc.array(line, { maxLength: 5 }) });
  const outcome = (text: string, cache: HeaderFieldCache<StatusLine>) => {
    try {
      return parse([text], "POST", cache);
    } catch (error) {
      return error;
    }
  };
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (responses) => {
      const cache = new HeaderFieldCache<StatusLine>();
      for (const { first: statusLine, lines } of responses) {
        const text = `${[statusLine, ...lines].join("\r\n")}\r\n\r\n`;
        expect(outcome(text, cache)).toEqual(outcome(text, new HeaderFieldCache<StatusLine>()));
      }
    }),
    { numRuns: runs({ short: 600, long: 3000 }) },
  );
});

/** A naive reader of chunks: returns the body and what follows the last chunk, or null if the text is not valid or complete. */
function readChunks(text: string): { body: string; rest: string } | null {
  let body = "";
  for (let rest = text; ;) {
    const [line, digits = ""] = /^([0-9a-f]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n/i.exec(rest) ?? [];
    if (line === undefined) return null;
    rest = rest.slice(line.length);
    const size = Number(`0x${digits}`);
    if (size === 0) {
      const [end] = /^(?:[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/.exec(rest) ?? [];
      return end === undefined ? null : { body, rest: rest.slice(end.length) };
    }
    if (rest.length < size || rest.slice(size, size + 2) !== "\r\n") return null;
    body += rest.slice(0, size);
    rest = rest.slice(size + 2);
  }
}

test("property: chunks are complete exactly if a naive reader accepts them", () => {
  const part = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom("2\r\nab\r\n", "1;x\r\na\r\n", "0\r\n\r\n", "0\r\nX: 1\r\n\r\n"),
    },
    fc.constantFrom("\r\n", "\n", "\r", "1", "0", "a", ";", " ", "\0", "+", "0x", "X:", "\xa0"),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const text = parts.join("");
      const expected = readChunks(text);
      for (const split of [[text], Array.from(text)]) {
        let parsed: Parsed | null = null;
        try {
          parsed = parse([headersOf("Transfer-Encoding: chunked"), ...split]);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidMessage);
        }
        expect(parsed?.isEnded ?? false).toBe(expected !== null);
        if (expected !== null)
          expect(parsed).toMatchObject({ body: expected.body, hasMore: expected.rest !== "" });
      }
    }),
    { numRuns: runs({ short: 600, long: 3000 }) },
  );
});
