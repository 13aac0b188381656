// The parser of answers: whatever way the bytes are cut, what comes out is the same, and what HTTP does not know is refused.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MalformedResponse, type ResponseHead } from "./response-headers.ts";
import { ResponseParser } from "./response-parser.ts";
import { HeaderFieldCache } from "./header-field-cache.ts";

interface Parsed {
  readonly heads: ResponseHead[];
  readonly body: string;
  readonly isEnded: boolean;
  readonly isMore: boolean;
}

/** Feeds the pieces; `null` at the end is the end of the connection. */
function parse(pieces: readonly (string | null)[], method = "POST", known = new HeaderFieldCache()): Parsed {
  const heads: ResponseHead[] = [];
  let body = "";
  let ends = 0;
  let isMore = false;
  const events = {
    onHead: (head: ResponseHead) => heads.push(head),
    onBody: (bytes: Uint8Array) => (body += Buffer.from(bytes).toString("latin1")),
    onEnd: () => ends++,
  };
  const parser = new ResponseParser(events, known);
  parser.begin(method);
  for (const piece of pieces) {
    if (piece === null) parser.feedEnd();
    else isMore = parser.feed(Buffer.from(piece, "latin1")) || isMore;
  }
  expect(ends).toBe(parser.isEnded ? 1 : 0);
  return { heads, body, isEnded: parser.isEnded, isMore };
}

function refuses(text: string, sentence: string): void {
  expect(() => parse([text])).toThrow(new MalformedResponse(sentence));
}

const head = (...lines: string[]) => `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;

describe("where the body ends", () => {
  test("after its length", () => {
    const { body, isEnded, isMore } = parse([`${head("Content-Length: 5")}hello`]);
    expect([body, isEnded, isMore]).toEqual(["hello", true, false]);
    expect(parse([`${head("Content-Length: 5")}hell`])).toMatchObject({ body: "hell", isEnded: false });
    expect(parse([`${head("Content-Length: 5")}hello!`])).toMatchObject({ body: "hello", isMore: true });
  });

  test("after its last chunk, extensions and trailers left out", () => {
    const chunks = "5;a=b\r\nhello\r\nA \r\n 123456789\r\n0\r\nX-Trailer: 1\r\n\r\n";
    expect(parse([head("Transfer-Encoding: chunked") + chunks])).toMatchObject({
      body: "hello 123456789",
      isEnded: true,
    });
  });

  test("with the connection, where nothing tells it before", () => {
    expect(parse([head("X: 1"), "some ", "bytes"]).isEnded).toBe(false);
    expect(parse([head("X: 1"), "some ", "bytes", null])).toMatchObject({
      body: "some bytes",
      isEnded: true,
    });
    // A length or chunks that are not there yet are not made up for by the end of the connection.
    expect(parse([`${head("Content-Length: 5")}hell`, null]).isEnded).toBe(false);
    expect(parse([`${head("Transfer-Encoding: chunked")}5\r\nhello\r\n`, null]).isEnded).toBe(false);
  });

  test.each([
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
    ["POST", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
  ])("with its head, in answer to %s: %j", (method, text) => {
    expect(parse([text], method)).toMatchObject({ body: "", isEnded: true, isMore: false });
  });
});

test("interim answers are skipped, a few", () => {
  const interim = "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n";
  const { heads } = parse([interim.repeat(3) + head("Content-Length: 0")]);
  expect(heads.map(({ status }) => status)).toEqual([200]);
  refuses(interim.repeat(40), "it is an answer to something else");
  refuses("HTTP/1.1 101 Switching Protocols\r\n\r\n", "it is an answer to something else");
});

describe("whether the connection can be used again", () => {
  test.each([
    [true, head("Content-Length: 0")],
    [true, head("Transfer-Encoding: chunked")],
    [true, head("Content-Length: 0", "Connection: keep-alive")],
    [false, head("Content-Length: 0", "Connection: close")],
    [false, head("Content-Length: 0", "Connection: X-Own, Close")],
    [false, head("X: no length")],
    [false, head("Content-Length: 3", "Transfer-Encoding: chunked")],
    [false, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
    [true, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"],
  ])("%p: %j", (keepsAlive, text) => {
    expect(parse([text]).heads[0]?.keepsAlive).toBe(keepsAlive);
  });
});

test("headers keep order, number and bytes; names are told in lower case", () => {
  const text = head("Set-Cookie: a", "X-Empty:", "set-cookie:b", "X-Bytes:  \xe9\xff \t");
  const [first] = parse([text]).heads;
  expect(first?.headers.names).toEqual(["set-cookie", "x-empty", "set-cookie", "x-bytes"]);
  expect(first?.headers.values).toEqual(["a", "", "b", "\xe9\xff"]);
  expect(first?.headers.get("set-cookie")).toBe("a, b");
  expect(first?.headers.get("x-none")).toBeNull();
});

describe("what HTTP does not know is refused", () => {
  test.each([
    ["HTTP/2 200\r\n\r\n", "the status line is not one"],
    ["HTTP/1.1 999 Odd\r\n\r\n", "the status line is not one"],
    ["HTTP/1.1 20 OK\r\n\r\n", "the status line is not one"],
    ["ICY 200 OK\r\n\r\n", "the status line is not one"],
    [head("no colon"), "a header has no colon"],
    [head("Two Words: x"), "the name of a header is not one"],
    [head("X: a", " folded: b"), "the name of a header is not one"],
    [head(": no name"), "the name of a header is not one"],
    [head("X: a\nInjected: b"), "a header holds a control character"],
    [head("X: a\rb"), "a header holds a control character"],
    [head("X: \0"), "a header holds a control character"],
    [head("Content-Length: 5", "Content-Length: 6"), "its length is not one number"],
    [head("Content-Length: 5, 6"), "its length is not one number"],
    [head("Content-Length: +5"), "its length is not one number"],
    [head("Content-Length: 0x5"), "its length is not one number"],
    [head("Content-Length:"), "its length is not one number"],
    [head("Transfer-Encoding: gzip, chunked"), "its transfer coding is not known"],
    [head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "its transfer coding is not known"],
    [`${head("Transfer-Encoding: chunked")}xyz\r\n`, "the size of a chunk is not a number"],
    [`${head("Transfer-Encoding: chunked")}-1\r\n`, "the size of a chunk is not a number"],
    [`${head("Transfer-Encoding: chunked")}5\r\nhello!\r\n`, "a chunk is longer than it said"],
    [`${head("Transfer-Encoding: chunked")}${"0".repeat(9000)}`, "a line is too long"],
    [
      `${head("Transfer-Encoding: chunked")}0\r\n${`T: ${"x".repeat(4000)}\r\n`.repeat(5)}`,
      "its trailers are too long",
    ],
    [head(...Array.from({ length: 300 }, (_, index) => `X-${index}: 1`)), "there are too many headers"],
    [`HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}`, "its head is too long"],
  ])("%j", (text, sentence) => refuses(text, sentence));

  test("the same length twice is one length", () => {
    expect(parse([`${head("Content-Length: 2, 2", "Content-Length: 2")}ok`])).toMatchObject({
      body: "ok",
      isEnded: true,
    });
  });
});

/** An answer, its body, and whether it tells its own end. */
const answers = fc
  .record({
    interim: fc.boolean(),
    body: fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, "\r")),
    cuts: fc.array(fc.nat(60), { maxLength: 4 }),
    framing: fc.constantFrom("length", "chunked", "close"),
    more: fc.boolean(),
  })
  .map(({ interim, body, cuts, framing, more }) => {
    const before = interim ? "HTTP/1.1 100 Continue\r\n\r\n" : "";
    const rest = more && framing !== "close" ? "HTTP/1.1 500 Of another\r\n\r\n" : "";
    if (framing === "length")
      return {
        text: `${before}${head(`Content-Length: ${body.length}`)}${body}${rest}`,
        body,
        rest,
        framing,
      };
    if (framing === "close") return { text: `${before}${head("X: 1")}${body}`, body, rest, framing };
    const at = [0, ...cuts.map((cut) => Math.min(cut, body.length)).sort((a, b) => a - b), body.length];
    const chunks = at
      .slice(1)
      .map((end, index) => body.slice(at[index], end))
      .filter((chunk) => chunk !== "");
    const encoded = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
    return {
      text: `${before}${head("Transfer-Encoding: chunked")}${encoded}0\r\n\r\n${rest}`,
      body,
      rest,
      framing,
    };
  });

test("property: cut at every byte, or anywhere, the same comes out", () => {
  fc.assert(
    fc.property(answers, fc.array(fc.nat(400), { maxLength: 6 }), ({ text, body, rest, framing }, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
      for (const way of [[text], pieces, Array.from(text)]) {
        const parsed = parse([...way, null]);
        expect({ body: parsed.body, isEnded: parsed.isEnded }).toEqual({ body, isEnded: true });
        expect(parsed.isMore).toBe(rest !== "");
        expect(parsed.heads[0]?.framing).toBe(
          framing === "length" ? body.length : framing === "chunked" ? "chunked" : "until_close",
        );
      }
    }),
    { numRuns: 300 },
  );
});

test("property: no bytes make it throw anything but its own error, or tell of a body before a head", () => {
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
        const { heads, body } = parse([...parts, null]);
        if (heads.length === 0) expect(body).toBe("");
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedResponse);
      }
    }),
    { numRuns: 2000 },
  );
});

test("property: what the last answers were changes nothing about the next one", () => {
  const line = fc.constantFrom(
    ...["X: a", "X: ab", "X: a ", "x: a", "X: a\nb", "X: a\r", "X", "X:", " X: a", "X: \0", "Y: a"],
    ...["Content-Length: 5", "Content-Length: 50", "Content-Length: 5, 5", "Connection: close"],
    ...["Transfer-Encoding: chunked", "Transfer-Encoding: chunkeds", `X: ${"a".repeat(5000)}`],
  );
  const outcome = (text: string, known: HeaderFieldCache) => {
    try {
      return parse([text], "POST", known);
    } catch (error) {
      return error;
    }
  };
  fc.assert(
    fc.property(fc.array(fc.array(line, { maxLength: 5 }), { maxLength: 12 }), (answered) => {
      const known = new HeaderFieldCache();
      for (const lines of answered)
        expect(outcome(head(...lines), known)).toEqual(outcome(head(...lines), new HeaderFieldCache()));
    }),
    { numRuns: 3000 },
  );
});
