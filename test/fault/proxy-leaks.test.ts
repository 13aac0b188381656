// Many clients that disconnect, providers that break off, and slow readers: no connection stays open, no memory leaks, and
// no truncated stream ends as if it were complete. GATEHOUSE_LEAK_N and GATEHOUSE_LEAK_M set the numbers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { startFakeProvider, type Behavior, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  accessLines,
  anthropicTargetOf,
  connectionsTo,
  CHAT_REQUEST,
  residentBytes,
  seedUpstream,
  servedBy,
  strayOutput,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { randomPause, untilStable, waitFor, waitUntil } from "../support/waiting.ts";
import { lowestMemory } from "./process-watch.ts";

const N = Number(process.env["GATEHOUSE_LEAK_N"] ?? 100);
const M = Number(process.env["GATEHOUSE_LEAK_M"] ?? 10);
const MB = 1 << 20;
const STREAM_BYTES = 50 * MB;
const ALLOWED_GROWTH = 20 * MB;
const PARALLEL = 25;
const DEADLINE_MS = 20_000 + 100 * N + 2000 * M;

let gatehouse: GatehouseProcess;
/** No request to this provider succeeds, so no connection may stay open. */
let faulty: FakeProvider;
let steady: FakeProvider;
let plain: Route;
let translated: Route;
let big: Route;
/** For normal traffic at the same time, which is not counted. */
let ordinary: Route;
let baseline = { memory: 0, files: 0 };
const measurements: string[] = [];

beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
  faulty = await startFakeProvider({ name: "faulty" });
  steady = await startFakeProvider({ name: "steady" });
  plain = await seedUpstream(gatehouse, [targetOf(faulty)]);
  // Not held: the streams are cut before their first content, too.
  const unheld = { commit: { max_ms: 0 } };
  translated = await seedUpstream(gatehouse, [anthropicTargetOf(faulty)], unheld, {
    response_format: "openai",
  });
  big = await seedUpstream(gatehouse, [targetOf(steady)]);
  ordinary = await seedUpstream(gatehouse, [targetOf(steady)]);
  steady.behave({ closeConnection: true });
  for (let times = 0; times < 300; times++) await servedBy(ordinary, { stream: times % 2 === 0 });
  await disconnectOften(Math.ceil(N / 10));
  await cutOften(Math.ceil(N / 10));
  await readSlowly(Math.ceil(M / 10));
  await settle();
  baseline = { memory: await settledMemory(), files: openFiles() };
  measurements.push(`baseline ${inMb(baseline.memory)}`);
}, DEADLINE_MS);

afterAll(async () => {
  if (N > 100 || process.env["GATEHOUSE_REPORT"] !== undefined) {
    process.stdout.write(`${measurements.join("\n")}\n`);
  }
  await gatehouse.stop();
  await Promise.all([faulty.stop(), steady.stop()]);
});

function inMb(bytes: number): string {
  return `${(bytes / MB).toFixed(1)} MB`;
}

function openFiles(): number {
  return readdirSync(`/proc/${gatehouse.pid}/fd`).length;
}

/** Waits until no connection between the gateway and its providers is open. */
async function settle(): Promise<void> {
  const isQuiet = () =>
    [faulty, steady].every(
      (provider) => provider.openConnections() === 0 && connectionsTo(provider.port) === 0,
    );
  await waitUntil(() => isQuiet());
}

/** Garbage of the warm-up must not count. */
const settledMemory = () => lowestMemory(gatehouse, () => servedBy(ordinary));

async function inParallel(times: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < times; at = next++) await work(at);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

interface Reader {
  readonly bytes: number;
  /** The last bytes received. */
  readonly tail: string;
  /** Whether `[DONE]` was received. */
  readonly sawDone: boolean;
}

interface CountingClient {
  readonly started: Promise<void>;
  readonly ended: Promise<Reader>;
  disconnect(reset: boolean): void;
  pause(): void;
  resume(): void;
}

/** Counts the received bytes and keeps only the last ones, so that the test can read gigabytes. */
async function openCounting(
  route: Route,
  stream: boolean,
  fake: Behavior,
  pauseMs = 0,
): Promise<CountingClient> {
  const started = Promise.withResolvers<undefined>();
  const ended = Promise.withResolvers<Reader>();
  const state = { bytes: 0, tail: "", sawDone: false };
  let sincePause = 0;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(route.url).port),
    socket: {
      data(self, bytes) {
        state.bytes += bytes.length;
        state.tail = (state.tail + bytes.subarray(-64).toString("latin1")).slice(-64);
        if (state.tail.includes("[DONE]")) state.sawDone = true;
        started.resolve(undefined);
        sincePause += bytes.length;
        if (pauseMs === 0 || sincePause < MB) return;
        sincePause = 0;
        self.pause();
        setTimeout(() => self.resume(), pauseMs);
      },
      close() {
        started.resolve(undefined);
        ended.resolve(state);
      },
    },
  });
  const body = JSON.stringify({ ...CHAT_REQUEST, stream });
  socket.write(
    `POST ${route.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `x-fake: ${JSON.stringify(fake)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return {
    started: started.promise,
    ended: ended.promise,
    disconnect: (reset) => {
      if (reset) socket.terminate();
      else socket.end();
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
}

const DISCONNECTING: [stream: boolean, fake: Behavior][] = [
  [true, { delayMs: 600_000 }],
  [true, { chunks: 100_000, chunkDelayMs: 5 }],
  [true, { stallAfterChunks: 2 }],
  [false, { bigStream: { bytes: 1000 * MB, chunkBytes: 1 << 16 } }],
  [false, { headers: [["Content-Length", "9000"]], body: ["{"], stallAfterChunks: 1 }],
];

async function disconnectOften(times: number): Promise<void> {
  await inParallel(times, async (at) => {
    const [stream, fake] = DISCONNECTING[at % DISCONNECTING.length]!;
    const client = await openCounting(at % 2 === 0 ? plain : translated, stream, fake);
    // At different moments: before the request is read, while it waits, and during the stream.
    await Promise.race([client.started, randomPause(40)]);
    client.disconnect(at % 3 === 0);
    await client.ended;
  });
  // A busy gateway has not accepted all of these connections yet, or not written their log lines. It does both in order.
  const lines = ordinaryLines();
  await servedBy(ordinary);
  await waitUntil(() => ordinaryLines() > lines);
}

const CUTTING: Behavior[] = [
  { cutAfterChunks: 3, chunkDelayMs: 5 },
  { cutAfterChunks: 3, chunkDelayMs: 5, reset: true },
  { cutAfterBytes: 500, chunkDelayMs: 5 },
  { malformedChunk: "size", chunkDelayMs: 5 },
  { malformedChunk: "overrun", chunkDelayMs: 5 },
];

async function cutOften(times: number): Promise<string[]> {
  const cleanEnds: string[] = [];
  await inParallel(times, async (at) => {
    const client = await openCounting(at % 2 === 0 ? plain : translated, true, CUTTING[at % CUTTING.length]!);
    const { tail, sawDone } = await client.ended;
    if (sawDone || tail.endsWith("\r\n0\r\n\r\n")) cleanEnds.push(tail);
  });
  return cleanEnds;
}

async function readSlowly(times: number): Promise<{ read: Reader[]; peak: number }> {
  const fake: Behavior = { bigStream: { bytes: STREAM_BYTES, chunkBytes: 1 << 16 }, closeConnection: true };
  const clients = await Promise.all(
    Array.from({ length: times }, (_, at) => openCounting(big, at % 2 === 0, fake, 5)),
  );
  await Promise.all(clients.map((client) => client.started));
  for (const client of clients) client.pause();
  await untilStable(() => steady.requests.reduce((sum, { bytesSent }) => sum + bytesSent, 0));
  const peak = residentBytes(gatehouse);
  for (const client of clients) client.resume();
  return { read: await Promise.all(clients.map((client) => client.ended)), peak };
}

/** Number of access log lines that were already checked. */
let seenLines = 0;
async function newOutcomes(expected: number): Promise<Record<string, number>> {
  const lines = await waitFor(() => {
    const fresh = countedLines().slice(seenLines);
    return fresh.length >= expected ? fresh : null;
  });
  const counts: Record<string, number> = {};
  for (const line of lines) counts[line.outcome as string] = (counts[line.outcome as string] ?? 0) + 1;
  return counts;
}

function countedLines(): ReturnType<typeof accessLines> {
  return accessLines(gatehouse).filter((line) => line.path !== ordinary.path);
}

function ordinaryLines(): number {
  return accessLines(gatehouse).length - countedLines().length;
}

function skipLines(): void {
  seenLines = countedLines().length;
}

async function expectNoLeak(what: string): Promise<void> {
  await settle();
  await waitUntil(() => openFiles() <= baseline.files + 2);
  let memory = 0;
  try {
    await waitUntil(async () => {
      // A little traffic, because an idle process does not collect garbage.
      await servedBy(ordinary);
      memory = residentBytes(gatehouse);
      return memory <= baseline.memory + ALLOWED_GROWTH;
    });
  } finally {
    measurements.push(`after ${what}: ${inMb(memory)}, ${openFiles()} files (${baseline.files} before)`);
  }
}

describe("no leak", () => {
  test(
    `after ${N} clients that disconnect`,
    async () => {
      skipLines();
      faulty.reset();
      await disconnectOften(N);
      await settle();
      expect(faulty.requests.filter((request) => !request.aborted && !request.finished)).toEqual([]);
      // A client that disconnected before its request was read has not sent a request, and on a busy machine that may be nearly all.
      const outcomes = await newOutcomes(Math.max(1, faulty.requestCount));
      expect(Object.keys(outcomes)).toEqual(["client_left"]);
      expect(outcomes["client_left"]).toBeGreaterThanOrEqual(faulty.requestCount);
      await expectNoLeak(`${N} clients that disconnected`);
    },
    DEADLINE_MS,
  );

  test(
    `after ${N} truncated streams, none of which ends as if it were complete`,
    async () => {
      skipLines();
      expect(await cutOften(N)).toEqual([]);
      const { incomplete = 0, failed = 0, ...others } = await newOutcomes(N);
      expect(others).toEqual({});
      // On a busy machine, the first chunk may arrive together with the break: then the client gets an error response.
      expect(incomplete + failed).toBe(N);
      expect(incomplete).toBeGreaterThan(N / 2);
      await expectNoLeak(`${N} cut streams`);
    },
    DEADLINE_MS,
  );

  test(
    `after ${M} slow readers of ${STREAM_BYTES / MB} MB each, which get every byte`,
    async () => {
      skipLines();
      const { read, peak } = await readSlowly(M);
      expect(read.filter(({ bytes }) => bytes < STREAM_BYTES)).toEqual([]);
      expect(read.filter(({ tail }) => !tail.endsWith("\r\n0\r\n\r\n"))).toEqual([]);
      expect(await newOutcomes(M)).toEqual({ complete: M });
      measurements.push(`while ${M} readers paused: ${inMb(peak)}`);
      await expectNoLeak(`${M} slow readers`);
      // A few chunks per reader and uncollected garbage, but not the whole streams.
      expect(peak - baseline.memory).toBeLessThan(128 * MB + 4 * M * MB);
    },
    DEADLINE_MS,
  );

  test("nothing but log lines was printed", () => {
    expect(strayOutput(gatehouse)).toEqual([]);
  });
});
