// The grammar of request lines and framing fields (RFC 9112).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { HeaderFieldCache } from "../header-field-cache.ts";
import { InvalidMessage } from "../invalid-message.ts";
import { parseRequestHead, type RequestHead, type RequestLine } from "./request-head.ts";
import { runs } from "../../../test/support/long-form.ts";

const parse = (...lines: string[]): RequestHead =>
  parseRequestHead(lines.join("\r\n"), new HeaderFieldCache<RequestLine>());
const withFields = (...fields: string[]) => parse("POST / HTTP/1.1", "Host: a", ...fields);

describe("request lines", () => {
  test.each([
    ["GET / HTTP/1.1", "GET", "/"],
    ["get / HTTP/1.1", "get", "/"],
    ["M-SEARCH /a?b#c HTTP/1.0", "M-SEARCH", "/a?b#c"],
    ["GET http://a/b HTTP/1.1", "GET", "http://a/b"],
    ["GET HTTPS://a?b HTTP/1.1", "GET", "HTTPS://a?b"],
    ["OPTIONS * HTTP/1.1", "OPTIONS", "*"],
    ["GET /\xc3\xa9 HTTP/1.1", "GET", "/%C3%A9"],
    ["GET //a HTTP/1.1", "GET", "//a"],
  ])("%j is valid", (line, method, target) => {
    expect(parse(line, "Host: a")).toMatchObject({ method, target });
  });

  test.each([
    "GET /",
    "GET / HTTP/0.9",
    "GET / HTTP/1.2",
    "GET / HTTP/1.1 ",
    "GET / HTTP/1.10",
    "GET / HTTP/2",
    "GET / http/1.1",
    "GET / HTTP/1,1",
    "PRI * HTTP/2.0",
    "GET  / HTTP/1.1",
    "GET /  HTTP/1.1",
    "GET\t/ HTTP/1.1",
    " GET / HTTP/1.1",
    "GET /a b HTTP/1.1",
    "GET /\0 HTTP/1.1",
    "GET /\x7f HTTP/1.1",
    "GET /\t HTTP/1.1",
    "GET / HTTP/1.1\rX: 1",
    "GET / HTTP/1.1\nX: 1",
    "GET * HTTP/1.1",
    "GET a HTTP/1.1",
    "GET ftp://a/ HTTP/1.1",
    "GET http:///a HTTP/1.1",
    "GET ?a HTTP/1.1",
    "CONNECT a:443 HTTP/1.1",
    "G(T / HTTP/1.1",
    `${"G".repeat(65)} / HTTP/1.1`,
    "",
  ])("%j is invalid", (line) => {
    expect(() => parse(line, "Host: a")).toThrow(InvalidMessage);
  });

  test("HTTP/1.1 needs Host, HTTP/1.0 does not", () => {
    expect(() => parse("GET / HTTP/1.1")).toThrow("the Host header is missing");
    expect(parse("GET / HTTP/1.0")).toMatchObject({ isHttp10: true, isKeepAlive: false });
  });
});

describe("framing", () => {
  test.each([
    [[], 0],
    [["Content-Length: 0"], 0],
    [["Content-Length: 5"], 5],
    [["content-LENGTH:\t 005 "], 5],
    [["Content-Length: 999999999999999"], 999_999_999_999_999],
    [["Transfer-Encoding: chunked"], "chunked"],
    [["transfer-encoding:\tChunked\t"], "chunked"],
  ] as const)("%j", (fields, framing) => {
    expect(withFields(...fields).framing).toBe(framing);
  });

  const INVALID = [
    ["Content-Length:"],
    ["Content-Length: +5"],
    ["Content-Length: -5"],
    ["Content-Length: 0x5"],
    ["Content-Length: 5 5"],
    ["Content-Length: 5.0"],
    ["Content-Length: 5e0"],
    ["Content-Length: 5,"],
    ["Content-Length: 5, 5"],
    ["Content-Length: 5, 6"],
    ["Content-Length: 5", "Content-Length: 5"],
    ["Content-Length: 5", "Content-Length: 6"],
    ["Content-Length: 1000000000000000"],
    ["Content-Length: \xb2"],
    ["Content-Length : 5"],
    ["Content-Length: 5", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Content-Length: 0"],
    ["Transfer-Encoding:"],
    ["Transfer-Encoding: identity"],
    ["Transfer-Encoding: xchunked"],
    ["Transfer-Encoding: chunkedx"],
    ["Transfer-Encoding: chunked;a=b"],
    ['Transfer-Encoding: "chunked"'],
    ["Transfer-Encoding: chunked, chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    ["Transfer-Encoding: gzip, chunked"],
    ["Transfer-Encoding: chunked,"],
    ["Transfer-Encoding: \x0bchunked"],
    ["Transfer-Encoding: \xa0chunked"],
    ["Transfer-Encoding:", " chunked"],
  ];
  test.each(INVALID.map((fields) => ({ fields })))("$fields is invalid", ({ fields }) => {
    expect(() => withFields(...fields)).toThrow(InvalidMessage);
  });

  test("Transfer-Encoding in HTTP/1.0 is invalid", () => {
    expect(() => parse("POST / HTTP/1.0", "Transfer-Encoding: chunked")).toThrow(InvalidMessage);
  });
});

test("property: earlier requests in the cache do not change how the next one is parsed", () => {
  const first = fc.constantFrom(
    ...["POST / HTTP/1.1", "POST / HTTP/1.0", "POST / HTTP/1.10", "POST /a HTTP/1.1", "GET / HTTP/1.1"],
    ...["POST / HTTP/1.1\r", "POST / HTTP/1.1\n", "POST / HTTP/1.1\rX", "POST / HTTP/1.1\nX: b", "POST / "],
    ...["POST /\xe9 HTTP/1.1", "POST / HTTP/1.1 ", "", `GET /${"a".repeat(5000)} HTTP/1.1`],
  );
  const line = fc.constantFrom("Host: a", "Host: ab", "X: a", "Content-Length: 5", "Connection: close", "X");
  const message = fc.record({ first, lines: fc.array(line, { maxLength: 4 }) });
  const outcome = (text: string, cache: HeaderFieldCache<RequestLine>) => {
    try {
      const { headers, ...head } = parseRequestHead(text, cache);
      return { ...head, fields: [...headers.entries()] };
    } catch (error) {
      return error;
    }
  };
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (requests) => {
      const cache = new HeaderFieldCache<RequestLine>();
      for (const { first: requestLine, lines } of requests) {
        const text = [requestLine, ...lines].join("\r\n");
        expect(outcome(text, cache)).toEqual(outcome(text, new HeaderFieldCache<RequestLine>()));
      }
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

describe("fields", () => {
  test.each([
    "X-A : b",
    " X-A: b",
    "\tX-A: b",
    "X A: b",
    "X\0A: b",
    "X-\xe9: b",
    ": b",
    "X-A",
    "X-A: b\0",
    "X-A: b\x08",
    "X-A: b\x7f",
    "X-A: b\rc",
    "X-A: b\nc",
    "X-A: b\r",
    "X-A: b\n",
    "",
  ])("%j is invalid, also if the same fields were received before", (field) => {
    const cache = new HeaderFieldCache<RequestLine>();
    parseRequestHead("GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\nY: c", cache);
    expect(() => parseRequestHead(`GET / HTTP/1.1\r\nHost: a\r\n${field}\r\nY: c`, cache)).toThrow(
      InvalidMessage,
    );
  });

  test("a cached field does not hide that the line is longer", () => {
    const cache = new HeaderFieldCache<RequestLine>();
    parseRequestHead("GET / HTTP/1.1\r\nHost: a\r\nX: 1", cache);
    const { headers } = parseRequestHead("GET / HTTP/1.1\r\nHost: ab\r\nX: 1, 2", cache);
    expect([...headers.entries()]).toEqual([
      ["host", "ab"],
      ["x", "1, 2"],
    ]);
  });

  test("fields of thousands of requests keep a bounded part of them in memory", () => {
    const cache = new HeaderFieldCache<RequestLine>();
    const request = (at: number) =>
      [
        "GET / HTTP/1.1",
        "Host: a",
        ...Array.from({ length: 60 }, (_, field) => `X-${field}: ${at % 60 === field ? at : 0}`),
        `P: ${"p".repeat(2000)}`,
      ].join("\r\n");
    for (let at = 0; at < 1000; at++) {
      const { headers } = parseRequestHead(request(at), cache);
      expect(headers.get(`x-${at % 60}`)).toBe(String(at));
    }
    expect(cache.keptLength).toBeLessThan(36 * 1024);
  });
});
