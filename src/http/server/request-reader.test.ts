// The reader of requests: the same requests wherever their bytes are split, and no request that llhttp reads differently.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readWithLlhttp, type ReadRequest, type ReadRequests } from "../../../test/support/llhttp.ts";
import { runs } from "../../../test/support/long-form.ts";
import { GatehouseError } from "../../base/errors.ts";
import { InvalidMessage } from "../invalid-message.ts";
import { RequestReader } from "./request-reader.ts";

/** Reads pieces as a connection whose handler reads every body at once. */
function read(...pieces: string[]): ReadRequests {
  const requests: ReadRequest[] = [];
  let current: ReadRequest | null = null;
  let isComplete = false;
  let isClosed = false;
  const reader = new RequestReader({
    takesBody: true,
    onRequest: ({ method, target, headers, framing, isKeepAlive }, body) => {
      isClosed = !isKeepAlive;
      const fields = headers.names.map((name, index) => [name, headers.values[index] ?? ""] as const);
      current = { method, target, headers: fields, body: Buffer.from(body ?? []).toString("latin1") };
      isComplete = body !== null || framing === 0;
    },
    onBody: (bytes) => {
      if (current !== null)
        current = { ...current, body: current.body + Buffer.from(bytes).toString("latin1") };
    },
    onBodyEnd: () => {
      isComplete = true;
    },
  });
  const take = () => {
    while (isComplete && current !== null) {
      requests.push(current);
      isComplete = false;
      current = null;
      if (isClosed) throw new InvalidMessage("the connection is closed");
      reader.next();
    }
  };
  try {
    for (const piece of pieces) {
      reader.push(Buffer.from(piece, "latin1"));
      take();
    }
  } catch (error) {
    if (error instanceof InvalidMessage || error instanceof GatehouseError)
      return { requests, error: error.message };
    throw error;
  }
  return { requests, error: null };
}

const chunked = (body: string) => `POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;

const PIPELINE = [
  "GET /1?a=b HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nX-Spaces: \t a b \t\r\n\r\n",
  "\r\n\r\nPOST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhe\r\nl",
  chunked("5;a=b\r\nhello\r\nA \r\n0123456789\r\n00\r\nTrailer: 1\r\n\r\n"),
  chunked("0\r\n\r\n"),
  "HEAD http://h/3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  `PATCH /4 HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n${"x".repeat(2000)}`,
].join("");
const INVALID_END = `${chunked("3\r\nabcd\r\n0\r\n\r\n")}GET /never HTTP/1.1\r\nHost: a\r\n\r\n`;

describe("the same requests", () => {
  const whole = read(PIPELINE);

  test("are read from one piece", () => {
    expect(whole.error).toBeNull();
    expect(
      whole.requests.map(({ method, target, body }) => `${method} ${target} ${body.slice(0, 20)}`),
    ).toEqual([
      "GET /1?a=b ",
      "POST /2 he\r\nl",
      "POST /c hello0123456789",
      "POST /c ",
      "HEAD http://h/3 ",
      `PATCH /4 ${"x".repeat(20)}`,
    ]);
    expect(whole.requests[0]?.headers).toEqual([
      ["host", "a"],
      ["x-empty", ""],
      ["x-spaces", "a b"],
    ]);
  });

  test("are read from two pieces, wherever they are split", () => {
    const bytes = PIPELINE.slice(0, -1900);
    const expected = read(bytes);
    for (let at = 0; at <= bytes.length; at++)
      expect(read(bytes.slice(0, at), bytes.slice(at))).toEqual(expected);
  });

  test("are read byte by byte", () => {
    expect(read(...Array.from(PIPELINE))).toEqual(whole);
  });

  test("are rejected at the same place, wherever they are split", () => {
    const expected = read(INVALID_END);
    expect(expected).toEqual({ requests: [], error: "chunk longer than its size" });
    for (let at = 0; at <= INVALID_END.length; at++)
      expect(read(INVALID_END.slice(0, at), INVALID_END.slice(at))).toEqual(expected);
  });

  test("are read from random pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(PIPELINE.length), { maxLength: 20 }), (splits) => {
        const places = [0, ...splits.toSorted((a, b) => a - b), PIPELINE.length];
        expect(read(...places.slice(1).map((end, index) => PIPELINE.slice(places[index], end)))).toEqual(
          whole,
        );
      }),
      { numRuns: runs({ short: 50, long: 2000 }) },
    );
  });
});

describe("limits", () => {
  const head = (bytes: number) => `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(bytes - 28)}\r\n\r\n`;
  const fields = (count: number) => `GET / HTTP/1.1\r\nHost: a\r\n${"X: 1\r\n".repeat(count - 1)}\r\n`;

  test("64 KiB of headers", () => {
    expect(read(head(65_536)).error).toBeNull();
    expect(read(head(65_537)).error).toBe("The request line and headers are larger than 65536 bytes.");
    expect(read(`GET / HTTP/1.1\r\nX: ${"x".repeat(65_536)}`).error).toStartWith(
      "The request line and headers",
    );
    expect(read(`GET /${"x".repeat(65_536)}`).error).toStartWith("The request line and headers");
    expect(read("\r\n".repeat(100_000)).error).toBeNull();
  });

  test("256 fields", () => {
    expect(read(fields(256)).error).toBeNull();
    expect(read(fields(257)).error).toBe("more than 256 header fields");
  });

  test("8 KiB of a chunk extension, 16 KiB of trailers", () => {
    expect(read(chunked(`1;${"x".repeat(8000)}\r\na\r\n0\r\n\r\n`)).requests).toHaveLength(1);
    expect(read(chunked(`1;${"x".repeat(9000)}`)).error).toBe("line longer than 8192 bytes");
    expect(read(chunked(`0\r\n${"X: 1\r\n".repeat(3000)}`)).requests).toHaveLength(0);
    expect(read(chunked(`0\r\n${"X: 1\r\n".repeat(4000)}`)).error).toBe("trailers larger than 16384 bytes");
  });
});

describe("bytes that wait", () => {
  const request = (body: number) =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body}\r\n\r\n${"x".repeat(body)}`;

  test("are no part of the memory of a body, and the body is no part of theirs", () => {
    const bodies: Uint8Array[] = [];
    const reader = new RequestReader({
      takesBody: true,
      onRequest: (_, body) => void bodies.push(body ?? new Uint8Array(0)),
      onBody: () => undefined,
      onBodyEnd: () => undefined,
    });
    reader.push(Buffer.from(request(2000) + request(3000).repeat(50)));
    expect(bodies.map(({ buffer }) => buffer.byteLength)).toEqual([2000]);
    for (let count = 1; count < 51; count++) reader.next();
    expect(bodies.map(({ byteLength }) => byteLength)).toEqual([
      2000,
      ...Array.from({ length: 50 }, () => 3000),
    ]);
  });
});

test("a part of a body that other bytes follow has its own memory, because the body may free it", () => {
  const parts: Uint8Array[] = [];
  const reader = new RequestReader({
    takesBody: true,
    onRequest: () => undefined,
    onBody: (bytes) => {
      parts.push(bytes);
      if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
    },
    onBodyEnd: () => parts.push(Buffer.from("end")),
  });
  const chunk = `5000\r\n${"x".repeat(0x5000)}\r\n`;
  reader.push(Buffer.from(chunked(`${chunk}${chunk}0\r\n\r\n`)));
  expect(parts).toHaveLength(3);
});

test.each([0, 10_000])(
  "a body that another request follows has its own memory, after %d bytes in another piece",
  (early) => {
    const targets: string[] = [];
    const free = ({ buffer }: Uint8Array) => {
      if (buffer instanceof ArrayBuffer) buffer.transfer(0);
    };
    const reader = new RequestReader({
      takesBody: true,
      onRequest: ({ target }, body) => {
        targets.push(target);
        if (body !== null) free(body);
      },
      onBody: free,
      onBodyEnd: () => undefined,
    });
    const request = (target: string) =>
      `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 20480\r\n\r\n${"x".repeat(20_480)}`;
    const pipeline = Buffer.from(["/1", "/2", "/3"].map(request).join(""));
    if (early > 0) reader.push(Buffer.from(pipeline.subarray(0, early)));
    reader.push(Buffer.from(pipeline.subarray(early)));
    reader.next();
    reader.next();
    expect(targets).toEqual(["/1", "/2", "/3"]);
  },
);

describe.skipIf(Bun.which("node") === null)("llhttp", () => {
  const valid = fc
    .record({
      method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS"),
      target: fc.constantFrom("/", "/v1/chat?x=1", "/a%20b//c;d", "http://h:1/x"),
      version: fc.constantFrom("1.1", "1.1", "1.1", "1.0"),
      fields: fc.array(
        fc.constantFrom("X-A: b", "x-a:  b\t", "Accept: */*", "X-Latin: \xe9", "Expect: 100-continue"),
        { maxLength: 3 },
      ),
      body: fc.constantFrom("", "hello", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "0\r\n\r\n"),
      chunks: fc.constantFrom(0, 1, 3, 100),
      extension: fc.constantFrom("", ";a", ";a=b", ';a="b"'),
    })
    .map(({ method, target, version, fields, body, chunks, extension }) => {
      const lines = [`${method} ${target} HTTP/${version}`, "Host: a", ...fields];
      if (version === "1.0") lines.push("Connection: keep-alive");
      if (chunks === 0 || version === "1.0") {
        if (body !== "") lines.push(`Content-Length: ${body.length}`);
        return `${lines.join("\r\n")}\r\n\r\n${body}`;
      }
      const parts = body.match(new RegExp(`[^]{1,${chunks}}`, "g")) ?? [];
      const coded = parts.map((part) => `${part.length.toString(16)}${extension}\r\n${part}\r\n`).join("");
      return `${lines.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n${coded}0\r\n\r\n`;
    });
  const pipelined = fc.array(valid, { minLength: 1, maxLength: 3 }).map((requests) => requests.join(""));

  /** Inserted or replaced: what parsers are known to disagree on. */
  const HOSTILE = [
    "\r",
    "\n",
    "\r\n",
    "\0",
    "\t",
    " ",
    ":",
    ",",
    ";",
    "+",
    "-",
    "0",
    "0x",
    "5",
    "\x0b",
    "\xa0",
    "\x7f",
    "\r\n ",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 5, 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding:\tchunked \r\n",
    "Transfer-Encoding : chunked\r\n",
    "Transfer-Encoding: chunked, chunked\r\n",
    "X: 1\r\n",
    "\r\n\r\n",
    "HTTP/1.1",
  ];
  const mutation = fc.record({
    at: fc.nat(10_000),
    removed: fc.constantFrom(0, 0, 1, 1, 2, 5),
    inserted: fc.constantFrom("", ...HOSTILE),
  });
  const mutated = fc
    .tuple(pipelined, fc.array(mutation, { minLength: 1, maxLength: 2 }))
    .map(([bytes, mutations]) =>
      mutations.reduce((text, { at, removed, inserted }) => {
        // Half of the mutations are at a line start, where fields begin.
        const place = at % 2 === 0 ? at % text.length : text.indexOf("\n", at % text.length) + 1;
        return text.slice(0, place) + inserted + text.slice(place + removed);
      }, bytes),
    );

  const NODE_METHODS = new Set(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"]);
  const withLlhttp = (inputs: string[]) => {
    const results = readWithLlhttp(inputs);
    return (results ?? []).map((expected, index) => ({
      input: inputs[index] ?? "",
      expected,
      actual: read(inputs[index] ?? ""),
    }));
  };

  test("reads the same valid requests", () => {
    for (const { input, expected, actual } of withLlhttp(
      fc.sample(pipelined, runs({ short: 100, long: 5000 })),
    ))
      expect({ input, ...actual }).toEqual({ input, ...expected });
  });

  test("reads the same from every mutated request, up to where one of both rejects it", () => {
    let accepted = 0;
    for (const { input, expected, actual } of withLlhttp(
      fc.sample(mutated, runs({ short: 500, long: 50_000 })),
    )) {
      // The gateway knows no methods; llhttp rejects those that it does not know.
      if (actual.requests.some(({ method }) => !NODE_METHODS.has(method))) continue;
      const isAccepted = actual.error === null && expected.error === null;
      if (isAccepted) accepted++;
      const both = Math.min(actual.requests.length, expected.requests.length);
      const compared = (requests: readonly ReadRequest[]) =>
        isAccepted ? requests : requests.slice(0, both);
      expect({ input, requests: compared(actual.requests) }).toEqual({
        input,
        requests: compared(expected.requests),
      });
    }
    expect(accepted).toBeGreaterThan(5);
  });
});
