// Malicious providers, over raw TCP: the client gets a 502, a 504, or a broken stream, memory stays bounded, the process
// survives, and no client gets the response of another.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { pluginsDirectory, SCRIPTED_PLUGINS, scripted, scriptedWhole } from "../support/plugin-fixtures.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { unexpectedOutput, MB, measurePeakMemory } from "./process-watch.ts";
import { startRawProvider, type ProviderConnection, type ConnectionScript } from "../support/raw-provider.ts";
import { sendByteByByte } from "../support/slow-client.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** Allowed growth of memory during bounded work, before garbage is collected. */
const ALLOWED_GROWTH = 200 * MB;
setDefaultTimeout(60_000);

/** How a response is handled: unchanged, translated, passed to plugins in pieces or whole, or only read for usage. */
const HANDLINGS = ["plain", "translated", "pieces", "whole", "usage"] as const;
/** One more, with a short first-byte timeout. */
type Handling = (typeof HANDLINGS)[number] | "short_timeout";

const gatehouse = await useGatehouseProcess({ env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) } });
const provider = startRawProvider();
const upstream = {
  targets: [{ provider: "raw", base_url: provider.url, path: "/x" }],
  timeouts: { first_byte: 30_000, idle: 30_000 },
  max_attempts: 1,
};
const [target] = upstream.targets;
const anthropic = { ...upstream, targets: [{ ...target, format: "anthropic" }] };
const withPlugin = (plugin: Record<string, unknown>) => ({
  gateway: { required_plugins: [plugin] },
  upstream,
});
const routes = {
  plain: await seedRoute(gatehouse, { upstream }),
  short_timeout: await seedRoute(gatehouse, { upstream: { ...upstream, timeouts: { first_byte: 500 } } }),
  translated: await seedRoute(gatehouse, { upstream: anthropic, rule: { response_format: "openai" } }),
  pieces: await seedRoute(gatehouse, withPlugin(scripted("pre_response", ""))),
  whole: await seedRoute(gatehouse, withPlugin(scriptedWhole("pre_response", ""))),
  usage: await seedRoute(gatehouse, withPlugin(scripted("post_response", "void context.usage"))),
};
afterAll(() => {
  provider.stop();
});

interface Result {
  /** 0 if the connection broke before a response. */
  readonly status: number;
  readonly bytes: number;
  readonly isBroken: boolean;
  /** The first bytes of the body. */
  readonly text: string;
}

let requests = 0;

interface SendOptions {
  readonly marker?: string;
  /** The client disconnects after this many bytes. */
  readonly upTo?: number;
}

async function send(
  handling: Handling = "plain",
  { marker = `marker-${++requests}-`, upTo = Infinity }: SendOptions = {},
): Promise<Result> {
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: marker }] });
  let status = 0;
  let bytes = 0;
  let text = "";
  try {
    const response = await fetch(`${gatehouse.proxyUrl}${routes[handling].path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Accept-Encoding": "identity" },
      body,
      decompress: false,
    });
    ({ status } = response);
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      if (text.length < 1000) text += Buffer.from(chunk).toString("latin1").slice(0, 1000);
      bytes += chunk.length;
      if (bytes >= upTo) break;
    }
    return { status, bytes, isBroken: false, text };
  } catch {
    return { status, bytes, isBroken: true, text };
  }
}

/** A 502 or 504 of the gateway, in its error format. */
function expectUpstreamError({ status, text }: Result): void {
  expect([502, 504]).toContain(status);
  expect(JSON.parse(text).code).toMatch(/^upstream_/);
}

const OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const EVENTS = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
const markerIn = (request: string) => /marker-\d+-/.exec(request)?.[0] ?? "none";
const validResponse = (body: string) => `${OK}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Responds to every request of a connection with the marker of the request. */
const validProvider: ConnectionScript = async (connection) => {
  for (;;) await connection.write(validResponse(markerIn(await connection.request())));
};

async function expectValidResponses(times = 3): Promise<void> {
  await provider.behave(validProvider);
  for (let turn = 0; turn < times; turn++) {
    const marker = `marker-${++requests}-`;
    expect(await send("plain", { marker })).toMatchObject({ status: 200, text: marker, isBroken: false });
  }
}

/** Writes the first part, then one piece repeatedly, then ends the connection. */
function flood(first: string, piece: string | Uint8Array, times = Infinity): ConnectionScript {
  return async (connection) => {
    await connection.request();
    if (!(await connection.write(first))) return;
    for (let turn = 0; turn < times; turn++) if (!(await connection.write(piece))) return;
    connection.end();
  };
}

const BIG_PIECE = "a".repeat(64 * 1024);

describe("endless headers", () => {
  const floods: [name: string, script: ConnectionScript][] = [
    ["headers", flood(OK, `X-A: ${"a".repeat(1000)}\r\n`)],
    ["one header", flood(`${OK}X-A: `, BIG_PIECE)],
    ["a status line", flood("HTTP/1.1 200 ", BIG_PIECE)],
    ["no HTTP", flood("", BIG_PIECE)],
    ["interim responses", flood("", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(500))],
    ["interim responses, then nothing", flood("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(500), 200)],
  ];
  test.each(floods)("%s: an error, bounded memory, and the connection is closed", async (_, script) => {
    await provider.behave(script);
    const { result, peak, before } = await measurePeakMemory(gatehouse, () => send("short_timeout"));
    expectUpstreamError(result);
    expect(peak - before).toBeLessThan(ALLOWED_GROWTH);
    await waitUntil(() => provider.open() === 0);
    await expectValidResponses(1);
  });

  test("headers that arrive byte by byte are limited by the first-byte timeout", async () => {
    await provider.behave(async (connection) => {
      await connection.request();
      await sendByteByByte(`${OK}X-A: ${"a".repeat(10_000)}`, (byte) => connection.write(byte));
    });
    expect(await send("short_timeout")).toMatchObject({ status: 504 });
    await waitUntil(() => provider.open() === 0);
  });
});

describe("invalid headers", () => {
  const around = (line: string) => `HTTP/1.1 200 OK\r\n${line}\r\nContent-Length: 2\r\n\r\nok`;
  const invalid: [name: string, bytes: string][] = [
    ["CR in a header", around("X-Odd: a\rX-Smuggled: b")],
    ["NUL in a header", around("X-Odd: a\0b")],
    ["NUL in a header name", around("X-\0Odd: a")],
    ["a folded header", around("X-Odd: a\r\n b")],
    ["a header without a colon", around("nonsense")],
    ["a header without a name", around(": a")],
    ["a space before the colon", around("X-Odd : a")],
    ["300 headers", around(Array.from({ length: 300 }, (_, at) => `X-${at}: v`).join("\r\n"))],
    ["two different lengths", around("Content-Length: 9")],
    ["a negative length", around("").replace(": 2", ": -2")],
    ["a length that is not a number", around("").replace(": 2", ": two")],
    ["a length that is too large", around("").replace(": 2", ": 99999999999999999999999")],
    ["an unknown transfer encoding", around("").replace("Content-Length: 2", "Transfer-Encoding: xchunked")],
    ["control characters in the status line", around("").replace("OK", "\x01\x02")],
    ["status 0", around("").replace("200", "0")],
    ["status 99", around("").replace("200", "099")],
    ["status 600", around("").replace("200", "600")],
    ["status 99999", around("").replace("200", "99999")],
    ["another protocol", around("").replace("HTTP/1.1", "ICY")],
    ["another version", around("").replace("HTTP/1.1", "HTTP/2.0")],
    ["a protocol switch that was not requested", around("Upgrade: x").replace("200 OK", "101 Switching")],
  ].map(([name = "", bytes = ""]) => [
    name,
    bytes.replace("\r\n\r\n\r\n", "\r\n\r\n").replace("OK\r\n\r\n", "OK\r\n"),
  ]);

  let current = "";
  beforeAll(() =>
    provider.behave(async (connection) => {
      await connection.request();
      await connection.write(current);
      connection.end();
    }),
  );

  test.each(invalid)("%s: 502", async (_, bytes) => {
    current = bytes;
    expectUpstreamError(await send());
  });

  test("closed at every byte of a response: always 502, never an incomplete response", async () => {
    const response = validResponse("the whole body");
    const cuts = Array.from({ length: response.length }, (_, at) => at);
    let at = 0;
    await provider.behave(async (connection) => {
      await connection.request();
      await connection.write(response.slice(0, at));
      if (at % 2 === 0) connection.end();
      else connection.reset();
    });
    for (const cut of cuts) {
      at = cut;
      const result = await send();
      expect({ cut, status: result.status }).toEqual({ cut, status: 502 });
    }
    at = response.length;
    expect(await send()).toMatchObject({ status: 200, text: "the whole body" });
  });
});

describe("bodies with a wrong length", () => {
  const chunk = (text: string, size = text.length) => `${size.toString(16)}\r\n${text}\r\n`;
  const CHUNKS = "Transfer-Encoding: chunked\r\n\r\n";
  const HUGE = "x".repeat(300_000);
  const wrong: [name: string, bytes: string][] = [
    ["shorter than declared", `${OK}Content-Length: 100\r\n\r\nshort`],
    ["much shorter than declared", `${OK}Content-Length: 999999999\r\n\r\n${HUGE}`],
    ["chunks without a last chunk", `${OK}${CHUNKS}${chunk("first")}`],
    ["an invalid chunk size", `${OK}${CHUNKS}${chunk(HUGE)}zz\r\nrest\r\n0\r\n\r\n`],
    ["a chunk size that is too large", `${OK}${CHUNKS}${chunk(HUGE)}fffffffffffffffff\r\nrest`],
    ["a chunk longer than its size", `${OK}${CHUNKS}${chunk(HUGE)}${chunk("longer than that", 3)}0\r\n\r\n`],
    ["a truncated chunk", `${OK}${CHUNKS}${chunk(HUGE)}ffff\r\nnot all of it`],
    ["a length and truncated chunks", `${OK}Content-Length: 5\r\n${CHUNKS}${chunk(HUGE)}`],
  ];
  let current = "";
  beforeAll(() =>
    provider.behave(async (connection) => {
      await connection.request();
      await connection.write(current);
      connection.end();
    }),
  );

  test.each(wrong)("%s: an error or a broken stream, however it is handled", async (_, bytes) => {
    current = bytes;
    for (const handling of HANDLINGS) {
      const result = await send(handling);
      expect([handling, result.isBroken || result.status >= 500]).toEqual([handling, true]);
    }
  });
});

describe("bytes of one response never reach another client", () => {
  const extra = validResponse("stolen");
  /** Responses after which the provider sends more bytes, in the same write or when the connection is idle. */
  const responses: [name: string, respond: (marker: string) => string][] = [
    ["a second response", (marker) => validResponse(marker)],
    [
      "a length that is too short",
      (marker) => validResponse(marker).replace(/Content-Length: \d+/, "Content-Length: 3"),
    ],
    ["a body on 204", () => "HTTP/1.1 204 No Content\r\n\r\n"],
    ["a body on 304", () => "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
    [
      "chunks and a length",
      (marker) =>
        `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${marker.length.toString(16)}\r\n${marker}\r\n0\r\n\r\n`,
    ],
    ["an HTTP/1.0 response", (marker) => validResponse(marker).replace("HTTP/1.1", "HTTP/1.0")],
  ];

  async function expectOwnResponses(): Promise<void> {
    const markers = Array.from({ length: 4 }, () => `marker-${++requests}-`);
    for (const marker of markers) expect((await send("plain", { marker })).text).toBe(marker);
  }

  test.each(responses)("%s in one write", async (_, respond) => {
    let isFirst = true;
    await provider.behave(async (connection) => {
      for (;;) {
        const marker = markerIn(await connection.request());
        await connection.write(isFirst ? respond(marker) + extra : validResponse(marker));
        isFirst = false;
      }
    });
    expect((await send()).text).not.toContain("stolen");
    await expectOwnResponses();
  });

  test.each(responses)("%s when the connection is idle: the connection is closed", async (_, respond) => {
    const idle = Promise.withResolvers<ProviderConnection>();
    let isFirst = true;
    await provider.behave(async (connection) => {
      for (;;) {
        const marker = markerIn(await connection.request());
        if (isFirst) {
          isFirst = false;
          await connection.write(respond(marker));
          idle.resolve(connection);
        } else await connection.write(validResponse(marker));
      }
    });
    expect((await send()).text).not.toContain("stolen");
    const connection = await idle.promise;
    if (!connection.isClosed) await connection.write(extra);
    await connection.closed;
    await expectOwnResponses();
  });

  test("a response before any request belongs to no particular request", async () => {
    await provider.behave(async (connection) => {
      await connection.write(validResponse("early"));
      await connection.request();
      connection.end();
    });
    for (let turn = 0; turn < 5; turn++) {
      const result = await send();
      if (result.status !== 502) expect(result).toMatchObject({ status: 200, text: "early" });
    }
    await expectValidResponses();
  });
});

describe("huge bodies", () => {
  const bodies: [name: string, headers: string, pieces: number][] = [
    ["one event of 100 MB", `${EVENTS}Connection: close\r\n\r\ndata: `, 1600],
    ["JSON of 40 MB", `${OK}Content-Length: ${640 * BIG_PIECE.length}\r\n\r\n`, 640],
  ];
  test.each(bodies)("%s: bounded memory, however it is handled", async (_, headers, pieces) => {
    await provider.behave(flood(headers, BIG_PIECE, pieces));
    for (const handling of HANDLINGS) {
      const { result, peak, before } = await measurePeakMemory(gatehouse, () => send(handling));
      const isRelayed = !result.isBroken && result.status === 200;
      expect([handling, peak - before < ALLOWED_GROWTH]).toEqual([handling, true]);
      // An error if the whole body is needed, else it is relayed.
      const needsAll = handling === "translated" || handling === "whole";
      expect([handling, isRelayed]).toEqual([handling, !needsAll]);
      if (isRelayed) expect(result.bytes).toBeGreaterThanOrEqual(pieces * BIG_PIECE.length);
    }
  });

  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 24 } };
  const bombs: [encoding: string, make: () => Buffer][] = [
    ["gzip", () => Buffer.concat(Array<Buffer>(32).fill(gzipSync(Buffer.alloc(32 * MB), { level: 1 })))],
    ["br", () => brotliCompressSync(Buffer.alloc(512 * MB), fast)],
    ["zstd", () => zstdCompressSync(Buffer.alloc(512 * MB))],
  ];
  test.each(bombs)(
    "a decompression bomb in %s: bounded memory, however it is handled",
    async (encoding, make) => {
      const bomb = make();
      for (const headers of [OK, EVENTS]) {
        const framing = `Content-Encoding: ${encoding}\r\nContent-Length: ${bomb.length}\r\n\r\n`;
        await provider.behave(flood(headers + framing, bomb, 1));
        for (const handling of ["translated", "whole", "pieces"] as const) {
          // A client that gets pieces disconnects after 16 MB.
          const { result, peak, before } = await measurePeakMemory(gatehouse, () =>
            send(handling, { upTo: 16 * MB }),
          );
          if (handling !== "pieces")
            expect([handling, result.isBroken || result.status === 502]).toEqual([handling, true]);
          expect([handling, peak - before < ALLOWED_GROWTH]).toEqual([handling, true]);
        }
      }
    },
  );

  test.each(["gzip, gzip", "nonsense"])(
    "an unsupported encoding, %s: 502 if the response must be read",
    async (encoding) => {
      await provider.behave(
        flood(`${OK}Content-Encoding: ${encoding}\r\nContent-Length: 5\r\n\r\nhello`, "", 1),
      );
      for (const handling of ["translated", "whole", "pieces"] as const)
        expectUpstreamError(await send(handling));
      expect(await send("plain")).toMatchObject({ status: 200, text: "hello" });
    },
  );

  test("truncated zstd is a 502 if it must be read", async () => {
    const truncated = zstdCompressSync(Buffer.from('{"choices":[]}')).subarray(0, -1);
    const framing = `Content-Encoding: zstd\r\nContent-Length: ${truncated.length}\r\n\r\n`;
    await provider.behave(flood(OK + framing, truncated, 1));
    for (const handling of ["translated", "whole", "pieces"] as const)
      expect(await send(handling)).toMatchObject({ status: 502 });
    expect(await send("plain")).toMatchObject({ status: 200, bytes: truncated.length });
  });

  test("a response that is rejected for its headers is canceled", async () => {
    await provider.behave(
      flood(`${OK}Content-Encoding: nonsense\r\nConnection: keep-alive\r\n\r\n`, BIG_PIECE),
    );
    expectUpstreamError(await send("whole"));
    await waitUntil(() => provider.open() === 0);
  });
});

test("after all of this the gateway still works and has logged no error", async () => {
  await expectValidResponses();
  expect(unexpectedOutput(gatehouse)).toEqual([]);
});
