// The response parser: the result does not depend on how the bytes are split, and invalid HTTP is rejected.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { InvalidResponse, type ParsedResponseHeaders } from "./response-headers.ts";
import { ResponseParser } from "./response-parser.ts";
import { HeaderFieldCache } from "./header-field-cache.ts";

interface Parsed {
  readonly responses: ParsedResponseHeaders[];
  readonly body: string;
  readonly isEnded: boolean;
  /** There were bytes after the response. */
  readonly hasMore: boolean;
}

/** Parses the pieces; `null` is the end of the connection. */
function parse(pieces: readonly (string | null)[], method = "POST", cache = new HeaderFieldCache()): Parsed {
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
  expect(() => parse([text])).toThrow(new InvalidResponse(message));
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
    [`${headersOf("Transfer-Encoding: chunked")}${"0".repeat(9000)}`, "line longer than 8192 bytes"],
    [
      `${headersOf("Transfer-Encoding: chunked")}0\r\n${`T: ${"x".repeat(4000)}\r\n`.repeat(5)}`,
      "trailers larger than 16384 bytes",
    ],
    [headersOf(...Array.from({ length: 300 }, (_, index) => `X-${index}: 1`)), "more than 256 header fields"],
    [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}`, "headers larger than 65536 bytes"],
  ])("%j", (text, message) => expectInvalid(text, message));

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

test("property: throws nothing but InvalidResponse, and reports no body before the headers", () => {
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
        expect(error).toBeInstanceOf(InvalidResponse);
      }
    }),
    { numRuns: 2000 },
  );
});

test("property: earlier responses in the cache do not change how the next one is parsed", () => {
  const line = fc.constantFrom(
    ...["X: a", "X: ab", "X: a ", "x: a", "X: a\nb", "X: a\r", "X", "X:", " X: a", "X: \0", "Y: a"],
    ...["Content-Length: 5", "Content-Length: 50", "Content-Length: 5, 5", "Connection: close"],
    ...["Transfer-Encoding: chunked", "Transfer-Encoding: chunkeds", `X: ${"a".repeat(5000)}`],
  );
  const outcome = (text: string, cache: HeaderFieldCache) => {
    try {
      return parse([text], "POST", cache);
    } catch (error) {
      return error;
    }
  };
  fc.assert(
    fc.property(fc.array(fc.array(line, { maxLength: 5 }), { maxLength: 12 }), (responses) => {
      const cache = new HeaderFieldCache();
      for (const lines of responses)
        expect(outcome(headersOf(...lines), cache)).toEqual(
          outcome(headersOf(...lines), new HeaderFieldCache()),
        );
    }),
    { numRuns: 3000 },
  );
});
