// Providers that mean harm, over raw TCP: the client gets a 502, a 504 or a broken stream, memory stays bounded, the
// process lives, and no client ever sees what belongs to another.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { startGatehouseProcess, waitFor, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { pluginsDirectory, SCRIPTED_PLUGINS, scripted, scriptedWhole } from "../support/plugin-fixtures.ts";
import { seedRoute, type SeededRoute } from "../support/proxy-fixtures.ts";
import { complaints, MB, peakWhile } from "./process-watch.ts";
import { startRawProvider, type RawProvider, type Wire, type WireScript } from "./raw-provider.ts";

/** What a bounded amount of work may cost at its height, with a garbage collector that takes its time. */
const ALLOWED_GROWTH = 200 * MB;
setDefaultTimeout(60_000);

/** The ways in which an answer is handled: untouched, translated, seen by plugins in pieces or whole, looked at for usage. */
const HANDLINGS = ["plain", "translated", "pieces", "whole", "usage"] as const;
/** One more, for those who must not be waited for long. */
type Handling = (typeof HANDLINGS)[number] | "hasty";

let gatehouse: GatehouseProcess;
let provider: RawProvider;
let routes: Record<Handling, SeededRoute>;

beforeAll(async () => {
  gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) } });
  provider = startRawProvider();
  const upstream = {
    targets: [{ provider: "raw", base_url: provider.url, path: "/x" }],
    timeouts: { first_byte: 30_000, idle: 30_000 },
    max_attempts: 1,
  };
  const [target] = upstream.targets;
  const anthropic = { ...upstream, targets: [{ ...target, format: "anthropic" }] };
  const seen = (plugin: Record<string, unknown>) => ({ gateway: { required_plugins: [plugin] }, upstream });
  routes = {
    plain: await seedRoute(gatehouse, { upstream }),
    hasty: await seedRoute(gatehouse, { upstream: { ...upstream, timeouts: { first_byte: 500 } } }),
    translated: await seedRoute(gatehouse, { upstream: anthropic, rule: { response_format: "openai" } }),
    pieces: await seedRoute(gatehouse, seen(scripted("pre_response", ""))),
    whole: await seedRoute(gatehouse, seen(scriptedWhole("pre_response", ""))),
    usage: await seedRoute(gatehouse, seen(scripted("post_response", "void context.usage"))),
  };
});
afterAll(async () => {
  await gatehouse.stop();
  provider.stop();
});

interface Result {
  /** 0 where the connection broke before an answer. */
  readonly status: number;
  readonly bytes: number;
  readonly isBroken: boolean;
  /** The beginning of what came. */
  readonly text: string;
}

let asked = 0;

interface AskOptions {
  readonly marker?: string;
  /** The client leaves after so many bytes. */
  readonly upTo?: number;
}

async function ask(
  handling: Handling = "plain",
  { marker = `marker-${++asked}-`, upTo = Infinity }: AskOptions = {},
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

/** A 502 or 504 of ours, in the error shape. */
function expectRefused({ status, text }: Result): void {
  expect([502, 504]).toContain(status);
  expect(JSON.parse(text).code).toMatch(/^upstream_/);
}

const OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const EVENTS = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
const marked = (request: string) => /marker-\d+-/.exec(request)?.[0] ?? "none";
const sound = (body: string) => `${OK}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Answers every request of a connection with its own marker. */
const honest: WireScript = async (wire) => {
  for (;;) await wire.write(sound(marked(await wire.request())));
};

async function expectHonestAnswers(times = 3): Promise<void> {
  await provider.behave(honest);
  for (let turn = 0; turn < times; turn++) {
    const marker = `marker-${++asked}-`;
    expect(await ask("plain", { marker })).toMatchObject({ status: 200, text: marker, isBroken: false });
  }
}

/** Writes the first part, then one piece again and again, then ends in order. */
function flood(first: string, piece: string | Uint8Array, times = Infinity): WireScript {
  return async (wire) => {
    await wire.request();
    if (!(await wire.write(first))) return;
    for (let turn = 0; turn < times; turn++) if (!(await wire.write(piece))) return;
    wire.end();
  };
}

const BIG_PIECE = "a".repeat(64 * 1024);

describe("heads without end", () => {
  const floods: [name: string, script: WireScript][] = [
    ["headers", flood(OK, `X-A: ${"a".repeat(1000)}\r\n`)],
    ["one header", flood(`${OK}X-A: `, BIG_PIECE)],
    ["a status line", flood("HTTP/1.1 200 ", BIG_PIECE)],
    ["anything but HTTP", flood("", BIG_PIECE)],
    ["interim answers", flood("", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(500))],
    ["interim answers, then nothing", flood("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(500), 200)],
  ];
  test.each(floods)("%s: refused, within bounds, and the provider is let go of", async (_, script) => {
    await provider.behave(script);
    const { result, peak, before } = await peakWhile(gatehouse, () => ask("hasty"));
    expectRefused(result);
    expect(peak - before).toBeLessThan(ALLOWED_GROWTH);
    await waitFor(() => (provider.open() === 0 ? true : null));
    await expectHonestAnswers(1);
  });

  test("headers that drip are given the time until the first byte", async () => {
    await provider.behave(async (wire) => {
      await wire.request();
      for (const letter of `${OK}X-A: ${"a".repeat(10_000)}`) {
        if (!(await wire.write(letter))) return;
        await Bun.sleep(20);
      }
    });
    expect(await ask("hasty")).toMatchObject({ status: 504 });
    await waitFor(() => (provider.open() === 0 ? true : null));
  });
});

describe("heads that are none", () => {
  const around = (line: string) => `HTTP/1.1 200 OK\r\n${line}\r\nContent-Length: 2\r\n\r\nok`;
  const refused: [name: string, bytes: string][] = [
    ["CR in a header", around("X-Odd: a\rX-Smuggled: b")],
    ["NUL in a header", around("X-Odd: a\0b")],
    ["NUL in a header's name", around("X-\0Odd: a")],
    ["a folded header", around("X-Odd: a\r\n b")],
    ["a header without a colon", around("nonsense")],
    ["a header without a name", around(": a")],
    ["a blank before the colon", around("X-Odd : a")],
    ["300 headers", around(Array.from({ length: 300 }, (_, at) => `X-${at}: v`).join("\r\n"))],
    ["two lengths that differ", around("Content-Length: 9")],
    ["a negative length", around("").replace(": 2", ": -2")],
    ["a length that is no number", around("").replace(": 2", ": two")],
    ["a length beyond all numbers", around("").replace(": 2", ": 99999999999999999999999")],
    ["an unknown transfer encoding", around("").replace("Content-Length: 2", "Transfer-Encoding: xchunked")],
    ["control characters in the status line", around("").replace("OK", "\x01\x02")],
    ["status 0", around("").replace("200", "0")],
    ["status 99", around("").replace("200", "099")],
    ["status 600", around("").replace("200", "600")],
    ["status 99999", around("").replace("200", "99999")],
    ["another protocol", around("").replace("HTTP/1.1", "ICY")],
    ["another version", around("").replace("HTTP/1.1", "HTTP/2.0")],
    ["a switch of protocols that nobody asked for", around("Upgrade: x").replace("200 OK", "101 Switching")],
  ].map(([name = "", bytes = ""]) => [
    name,
    bytes.replace("\r\n\r\n\r\n", "\r\n\r\n").replace("OK\r\n\r\n", "OK\r\n"),
  ]);

  let current = "";
  beforeAll(() =>
    provider.behave(async (wire) => {
      await wire.request();
      await wire.write(current);
      wire.end();
    }),
  );

  test.each(refused)("%s: 502", async (_, bytes) => {
    current = bytes;
    expectRefused(await ask());
  });

  test("closed at every byte of a head: 502 each time, and never half an answer", async () => {
    const answer = sound("the whole body");
    const cuts = Array.from({ length: answer.length }, (_, at) => at);
    let at = 0;
    await provider.behave(async (wire) => {
      await wire.request();
      await wire.write(answer.slice(0, at));
      if (at % 2 === 0) wire.end();
      else wire.reset();
    });
    for (const cut of cuts) {
      at = cut;
      const result = await ask();
      expect({ cut, status: result.status }).toEqual({ cut, status: 502 });
    }
    at = answer.length;
    expect(await ask()).toMatchObject({ status: 200, text: "the whole body" });
  });
});

describe("bodies that lie about their length", () => {
  const chunk = (text: string, size = text.length) => `${size.toString(16)}\r\n${text}\r\n`;
  const CHUNKS = "Transfer-Encoding: chunked\r\n\r\n";
  const HUGE = "x".repeat(300_000);
  const lies: [name: string, bytes: string][] = [
    ["shorter than it says", `${OK}Content-Length: 100\r\n\r\nshort`],
    ["much shorter than it says", `${OK}Content-Length: 999999999\r\n\r\n${HUGE}`],
    ["chunks without a last one", `${OK}${CHUNKS}${chunk("first")}`],
    ["a chunk size that is none", `${OK}${CHUNKS}${chunk(HUGE)}zz\r\nrest\r\n0\r\n\r\n`],
    ["a chunk size beyond all numbers", `${OK}${CHUNKS}${chunk(HUGE)}fffffffffffffffff\r\nrest`],
    ["a chunk longer than its size", `${OK}${CHUNKS}${chunk(HUGE)}${chunk("longer than that", 3)}0\r\n\r\n`],
    ["a chunk cut in the middle", `${OK}${CHUNKS}${chunk(HUGE)}ffff\r\nnot all of it`],
    ["a length and chunks that break off", `${OK}Content-Length: 5\r\n${CHUNKS}${chunk(HUGE)}`],
  ];
  let current = "";
  beforeAll(() =>
    provider.behave(async (wire) => {
      await wire.request();
      await wire.write(current);
      wire.end();
    }),
  );

  test.each(lies)("%s: an error or a broken stream, whoever reads it", async (_, bytes) => {
    current = bytes;
    for (const handling of HANDLINGS) {
      const result = await ask(handling);
      expect([handling, result.isBroken || result.status >= 500]).toEqual([handling, true]);
    }
  });
});

describe("nobody's bytes go to anybody else", () => {
  const stray = sound("stolen");
  /** What follows the answer, together with it or while the connection waits for its next use. */
  const behind: [name: string, answer: (marker: string) => string][] = [
    ["a second answer", (marker) => sound(marker)],
    [
      "a length that is too short",
      (marker) => sound(marker).replace(/Content-Length: \d+/, "Content-Length: 3"),
    ],
    ["a body on 204", () => "HTTP/1.1 204 No Content\r\n\r\n"],
    ["a body on 304", () => "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
    [
      "chunks and a length",
      (marker) =>
        `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n${marker.length.toString(16)}\r\n${marker}\r\n0\r\n\r\n`,
    ],
    ["an answer to HTTP/1.0", (marker) => sound(marker).replace("HTTP/1.1", "HTTP/1.0")],
  ];

  async function expectOwn(): Promise<void> {
    const markers = Array.from({ length: 4 }, () => `marker-${++asked}-`);
    for (const marker of markers) expect((await ask("plain", { marker })).text).toBe(marker);
  }

  test.each(behind)("%s in one piece", async (_, answer) => {
    let isFirst = true;
    await provider.behave(async (wire) => {
      for (;;) {
        const marker = marked(await wire.request());
        await wire.write(isFirst ? answer(marker) + stray : sound(marker));
        isFirst = false;
      }
    });
    expect((await ask()).text).not.toContain("stolen");
    await expectOwn();
  });

  test.each(behind)("%s once the connection is idle: the connection is given up", async (_, answer) => {
    const strayed = Promise.withResolvers<Wire>();
    let isFirst = true;
    await provider.behave(async (wire) => {
      for (;;) {
        const marker = marked(await wire.request());
        if (isFirst) {
          isFirst = false;
          await wire.write(answer(marker));
          strayed.resolve(wire);
        } else await wire.write(sound(marker));
      }
    });
    expect((await ask()).text).not.toContain("stolen");
    const wire = await strayed.promise;
    if (!wire.isGone) await wire.write(stray);
    await wire.gone;
    await expectOwn();
  });

  test("an answer before there is a request is nobody's in particular", async () => {
    await provider.behave(async (wire) => {
      await wire.write(sound("early"));
      await wire.request();
      wire.end();
    });
    for (let turn = 0; turn < 5; turn++) {
      const result = await ask();
      if (result.status !== 502) expect(result).toMatchObject({ status: 200, text: "early" });
    }
    await expectHonestAnswers();
  });
});

describe("bodies beyond all bounds", () => {
  const bodies: [name: string, head: string, pieces: number][] = [
    ["one event of 100 MB", `${EVENTS}Connection: close\r\n\r\ndata: `, 1600],
    ["JSON of 40 MB", `${OK}Content-Length: ${640 * BIG_PIECE.length}\r\n\r\n`, 640],
  ];
  test.each(bodies)("%s: bounded memory, whoever reads it", async (_, head, pieces) => {
    await provider.behave(flood(head, BIG_PIECE, pieces));
    for (const handling of HANDLINGS) {
      const { result, peak, before } = await peakWhile(gatehouse, () => ask(handling));
      const isPassed = !result.isBroken && result.status === 200;
      expect([handling, peak - before < ALLOWED_GROWTH]).toEqual([handling, true]);
      // What needs all of it refuses it; for all others it passes.
      const needsAll = handling === "translated" || handling === "whole";
      expect([handling, isPassed]).toEqual([handling, !needsAll]);
      if (isPassed) expect(result.bytes).toBeGreaterThanOrEqual(pieces * BIG_PIECE.length);
    }
  });

  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 24 } };
  const bombs: [encoding: string, make: () => Buffer][] = [
    ["gzip", () => Buffer.concat(Array<Buffer>(32).fill(gzipSync(Buffer.alloc(32 * MB), { level: 1 })))],
    ["br", () => brotliCompressSync(Buffer.alloc(512 * MB), fast)],
    ["zstd", () => zstdCompressSync(Buffer.alloc(512 * MB))],
  ];
  test.each(bombs)("a bomb of %s: bounded memory, whoever reads it", async (encoding, make) => {
    const bomb = make();
    for (const head of [OK, EVENTS]) {
      const framing = `Content-Encoding: ${encoding}\r\nContent-Length: ${bomb.length}\r\n\r\n`;
      await provider.behave(flood(head + framing, bomb, 1));
      for (const handling of ["translated", "whole", "pieces"] as const) {
        // Read by nobody in full: who is content with pieces leaves after some.
        const { result, peak, before } = await peakWhile(gatehouse, () => ask(handling, { upTo: 16 * MB }));
        if (handling !== "pieces")
          expect([handling, result.isBroken || result.status === 502]).toEqual([handling, true]);
        expect([handling, peak - before < ALLOWED_GROWTH]).toEqual([handling, true]);
      }
    }
  });

  test.each(["gzip, gzip", "nonsense"])(
    "an encoding that was not asked for and is not known, %s: 502 where it must be read",
    async (encoding) => {
      await provider.behave(
        flood(`${OK}Content-Encoding: ${encoding}\r\nContent-Length: 5\r\n\r\nhello`, "", 1),
      );
      for (const handling of ["translated", "whole", "pieces"] as const) expectRefused(await ask(handling));
      expect(await ask("plain")).toMatchObject({ status: 200, text: "hello" });
    },
  );

  test("truncated zstd is a 502 if it must be read", async () => {
    const truncated = zstdCompressSync(Buffer.from('{"choices":[]}')).subarray(0, -1);
    const framing = `Content-Encoding: zstd\r\nContent-Length: ${truncated.length}\r\n\r\n`;
    await provider.behave(flood(OK + framing, truncated, 1));
    for (const handling of ["translated", "whole", "pieces"] as const)
      expect(await ask(handling)).toMatchObject({ status: 502 });
    expect(await ask("plain")).toMatchObject({ status: 200, bytes: truncated.length });
  });

  test("an answer that is refused for its head is not left to come", async () => {
    await provider.behave(
      flood(`${OK}Content-Encoding: nonsense\r\nConnection: keep-alive\r\n\r\n`, BIG_PIECE),
    );
    expectRefused(await ask("whole"));
    await waitFor(() => (provider.open() === 0 ? true : null));
  });
});

test("whatever they did, the gateway serves and had nothing to complain of", async () => {
  await expectHonestAnswers();
  expect(complaints(gatehouse)).toEqual([]);
});
