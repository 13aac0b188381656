// Streams: unbuffered, at the client's pace, canceled if the client disconnects, and cut where the provider cut them.
import { describe, expect, test } from "bun:test";
import { connectRaw, type RawClient } from "../support/raw-client.ts";
import type { Behavior } from "../../src/fake-provider/server.ts";
import {
  accessLine,
  anthropicTargetOf,
  sendChat,
  sendRawChat,
  endedCleanly,
  inFlightCount,
  outcomeOf,
  residentBytes,
  seedUpstream,
  servedBy,
  strayOutput,
  targetOf,
  unchunk,
  type Route,
} from "../support/balancing-fixtures.ts";
import { useFakeProvider, useGatehouse, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { untilStable, waitFor, waitUntil } from "../support/waiting.ts";

const MB = 1 << 20;

const gatehouse = await useGatehouse({ env: { MAX_BODY_BYTES: String(64 * MB) } });
/** For the measurement of memory. */
const measured = await useGatehouseProcess();
const one = await useFakeProvider({ name: "one" });
const two = await useFakeProvider({ name: "two" });
// Routes that relay the provider's format, and that translate it to OpenAI chat.
const plain = await seedUpstream(gatehouse, [targetOf(one)]);
const translated = await seedUpstream(gatehouse, [anthropicTargetOf(one)], {}, { response_format: "openai" });
const measuredPlain = await seedUpstream(measured, [targetOf(one)]);
const measuredTranslated = await seedUpstream(
  measured,
  [anthropicTargetOf(one)],
  {},
  { response_format: "openai" },
);

const EVENTS = [
  "data: one\n\n",
  "data: two\r\n\r\n",
  ": a comment\n\n",
  "event: x\ndata: three\n\n",
  "data: 4\n\n",
];

function headOf(received: string): string {
  return received.slice(0, received.indexOf("\r\n\r\n"));
}

describe("streams are unbuffered", () => {
  test.each([1, 2, 3, 4])("after %d chunks of a stream, the client has all of them", async (chunks) => {
    one.behave({ body: EVENTS, stallAfterChunks: chunks });
    const client = await sendRawChat(plain, { stream: true });
    const sent = EVENTS.slice(0, chunks).join("");
    await client.until((received) => unchunk(received) === sent);
    client.disconnect();
  });

  test("also bodies that are not event streams", async () => {
    one.behave({ bigStream: { bytes: 5000, chunkBytes: 1000 }, stallAfterChunks: 2 });
    const client = await sendRawChat(plain, { stream: false });
    await client.until((received) => unchunk(received).length === 2000);
    client.disconnect();
  });

  test("also translated streams", async () => {
    one.behave({ text: "alpha beta gamma", stallAfterChunks: 4 });
    const client = await sendRawChat(translated, { stream: true });
    await client.until((received) => received.includes("alpha"));
    expect(client.received()).not.toContain("gamma");
    expect(one.requests[0]!.finished).toBe(false);
    client.disconnect();
  });

  test("a compressed stream stays compressed and arrives in pieces", async () => {
    one.behave({ body: EVENTS.map((event) => event.repeat(50)), gzip: true, chunkDelayMs: 150 });
    const client = await sendRawChat(plain, { stream: true, fake: { headers: [["X-Own", "yes"]] } });
    await client.until((received) => unchunk(received).length > 0);
    expect(one.requests[0]!.finished).toBe(false);
    const received = await client.until(endedCleanly);
    client.disconnect();
    expect(headOf(received)).toMatch(/^content-encoding: gzip\r?$/im);
    const bytes = Buffer.from(unchunk(received), "latin1");
    expect(Buffer.from(Bun.gunzipSync(bytes)).toString()).toBe(
      EVENTS.map((event) => event.repeat(50)).join(""),
    );
  });

  test("only streams have X-Accel-Buffering: no", async () => {
    const whole = await sendChat(plain);
    const stream = await sendChat(plain, { stream: true });
    const inOtherWords = await sendChat(translated, { stream: true });
    expect(whole.headers.get("x-accel-buffering")).toBeNull();
    expect(stream.headers.get("x-accel-buffering")).toBe("no");
    expect(inOtherWords.headers.get("x-accel-buffering")).toBe("no");
    await Promise.all([whole.text(), stream.text(), inOtherWords.text()]);
  });

  test("a stream is relayed byte for byte and logged as complete", async () => {
    const odd = [
      "data: caf",
      "\u00e9 \u{1f600}\n",
      "\n\n\ndata:x\r",
      "\n\r\n",
      "data: \0\n\n",
      "no newline at its end",
    ];
    one.behave({ body: odd.map((piece) => Buffer.from(piece)) });
    const requestId = crypto.randomUUID();
    const response = await sendChat(plain, { stream: true, headers: { "X-Request-Id": requestId } });
    expect(await response.text()).toBe(odd.join(""));
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("complete");
  });

  test("no [DONE] is added if the provider sends none", async () => {
    one.behave({ body: EVENTS });
    expect(await (await sendChat(plain, { stream: true })).text()).toBe(EVENTS.join(""));
  });
});

describe("a client that does not read", () => {
  const SIZE = 300 * MB;
  const shapes: [string, () => Route, boolean][] = [
    ["a body", () => measuredPlain, false],
    ["a stream", () => measuredPlain, true],
    ["a translated stream", () => measuredTranslated, true],
  ];
  test.each(shapes)(
    "of %s slows down the provider, and uses bounded memory",
    async (_, route, stream) => {
      one.behave({ bigStream: { bytes: SIZE, chunkBytes: 1 << 16 } });
      const before = residentBytes(measured);
      const client = await sendRawChat(route(), { stream });
      await client.until((received) => received.length > 0);
      client.pause();
      const sent = await untilStable(() => one.requests[0]!.bytesSent);
      expect(one.requests[0]!.finished).toBe(false);
      // What two loopback connections may buffer in the kernel, with a margin.
      expect(sent).toBeLessThan(40 * MB);
      expect(residentBytes(measured) - before).toBeLessThan(64 * MB);
      client.resume();
      client.disconnect(true);
      await one.until(() => one.requests[0]?.aborted === true);
    },
    60_000,
  );

  test("and then reads, gets every byte", async () => {
    const bytes = 30 * MB;
    one.behave({ bigStream: { bytes, chunkBytes: 1 << 16 } });
    const client = await sendRawChat(plain, { stream: false });
    await client.until((received) => received.length > 0);
    client.pause();
    await untilStable(() => one.requests[0]!.bytesSent);
    client.resume();
    await one.until(() => one.requests[0]?.finished === true);
    await waitUntil(() => client.received().endsWith("\r\n0\r\n\r\n"));
    expect(unchunk(client.received()).length).toBe(bytes);
    client.disconnect();
  });
});

describe("if the client disconnects, the request to the provider is canceled", () => {
  const stalledBody: Behavior = {
    headers: [["Content-Length", "5000"]],
    body: ["{"],
    stallAfterChunks: 1,
  };
  const begun = (client: RawClient) => client.until((received) => received.includes("\r\n\r\n"));
  const arrived = () => one.until(() => one.requestCount === 1);
  const midBody = () => one.until(() => (one.requests[0]?.bytesSent ?? 0) > 0);

  type Phase = [string, () => Route, boolean, Behavior, (client: RawClient) => Promise<unknown>];
  const PHASES: Phase[] = [
    ["while it waits", () => plain, true, { delayMs: 60_000 }, arrived],
    ["while the headers arrive", () => plain, true, { headerDelayMs: 60_000 }, midBody],
    ["in a stream that flows", () => plain, true, { chunks: 5000, chunkDelayMs: 10 }, begun],
    ["in a stream that is silent", () => plain, true, { stallAfterChunks: 1 }, begun],
    ["in a stream that has not begun", () => plain, true, { stallAfterChunks: 0 }, midBody],
    ["in a translated stream that flows", () => translated, true, { chunks: 5000, chunkDelayMs: 10 }, begun],
    ["in a translated stream that is silent", () => translated, true, { stallAfterChunks: 4 }, begun],
    ["in a whole response that is arriving", () => plain, false, stalledBody, midBody],
    ["in a whole response to be translated", () => translated, false, stalledBody, midBody],
    [
      "in a large body while the provider is silent",
      () => plain,
      false,
      { bigStream: { bytes: MB, chunkBytes: 1 << 16 }, stallAfterChunks: 3 },
      begun,
    ],
    [
      "in a large body that is arriving",
      () => plain,
      false,
      { bigStream: { bytes: 4000 * MB, chunkBytes: 1 << 16 } },
      begun,
    ],
  ];
  const WAYS: [string, boolean][] = [
    ["orderly", false],
    ["with a reset", true],
  ];
  const CASES = PHASES.flatMap(([name, ...phase]) =>
    WAYS.map(([way, reset]) => [`${name}, ${way}`, reset, ...phase] as const),
  );

  test.each(CASES)("%s", async (_name, reset, route, stream, behavior, until) => {
    one.behave(behavior);
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(route(), { stream, requestId });
    await until(client);
    expect(one.requests[0]!.aborted).toBe(false);
    client.disconnect(reset);
    await one.until(() => one.requests[0]?.aborted === true);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("client_left");
    expect(one.requestCount).toBe(1);
  });

  test("while it uploads: no request is sent, and it is logged", async () => {
    const requestId = crypto.randomUUID();
    const client = await connectRaw(Number(new URL(plain.url).port));
    client.send(
      `POST ${plain.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n` +
        `X-Request-Id: ${requestId}\r\nContent-Length: 5000\r\n\r\n{"messages":[`,
    );
    await waitUntil(async () => (await inFlightCount(gatehouse)) === 1);
    client.disconnect();
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("client_left");
    expect(one.requestCount).toBe(0);
  });

  test("while its body is sent to a provider that reads slowly", async () => {
    const size = 48 * MB;
    const seen = { bytes: 0, isClosed: false };
    const taking: { socket: Bun.Socket | null } = { socket: null };
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket, bytes) {
          seen.bytes += bytes.length;
          taking.socket = socket;
          socket.pause();
        },
        close() {
          seen.isClosed = true;
        },
      },
    });
    const target = { provider: "slow", base_url: `http://127.0.0.1:${listener.port}`, path: "/v1" };
    const route = await seedUpstream(gatehouse, [target]);
    const leaving = new AbortController();
    const requestId = crypto.randomUUID();
    const sending = fetch(route.url, {
      method: "POST",
      headers: { "X-Request-Id": requestId },
      body: new Uint8Array(size),
      signal: leaving.signal,
    });
    await waitFor(() => taking.socket);
    leaving.abort();
    await sending.catch(() => null);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("client_left");
    // The provider can still read what the kernel had buffered, then the connection ends.
    await waitUntil(() => {
      if (!seen.isClosed) taking.socket!.resume();
      return seen.isClosed;
    });
    expect(seen.bytes).toBeLessThan(size);
    listener.stop(true);
  });

  test("during a further attempt", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two, { priority: 2 })]);
    one.behave({ status: 503 });
    two.behave({ delayMs: 60_000 });
    const client = await sendRawChat(route, { stream: true });
    await two.until(() => two.requestCount === 1);
    client.disconnect();
    await two.until(() => two.requests[0]?.aborted === true);
    expect([one.requestCount, two.requestCount]).toEqual([1, 1]);
  });

  test("while it does not read", async () => {
    one.behave({ bigStream: { bytes: 300 * MB, chunkBytes: 1 << 16 } });
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(plain, { stream: false, requestId });
    await begun(client);
    client.pause();
    await untilStable(() => one.requests[0]!.bytesSent);
    client.disconnect(true);
    await one.until(() => one.requests[0]?.aborted === true);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("client_left");
  });
});

describe("if the provider cuts a stream, the client's stream is cut and never ends as complete", () => {
  const CUTS: [string, Behavior][] = [
    ["an orderly close", { cutAfterChunks: 3 }],
    ["a reset", { cutAfterChunks: 3, reset: true }],
    ["a close within an event", { cutAfterBytes: 42 }],
    ["a close before the last chunk", { malformedChunk: "unfinished" }],
    ["a chunk without a size", { malformedChunk: "size" }],
    ["a chunk longer than its size", { malformedChunk: "overrun" }],
  ];
  test.each(CUTS)("by %s", async (_, behavior) => {
    one.behave({ body: EVENTS, chunkDelayMs: 20, ...behavior });
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(plain, { stream: true, requestId });
    const { received } = await client.ended;
    const payload = unchunk(received);
    expect(endedCleanly(received)).toBe(false);
    expect(received).toStartWith("HTTP/1.1 200");
    expect(payload).toStartWith("data: one");
    expect(EVENTS.join("")).toStartWith(payload);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  // "unfinished" has its message_stop: that stream is complete in its format, whatever its framing says.
  const TRANSLATED: [string, Behavior][] = CUTS.filter(
    ([, { malformedChunk }]) => malformedChunk !== "unfinished",
  );
  test.each(TRANSLATED)("by %s, in a translated stream that is not held", async (_, behavior) => {
    const fields = { commit: { max_ms: 0 } };
    const translated = await seedUpstream(gatehouse, [anthropicTargetOf(one)], fields, {
      response_format: "openai",
    });
    one.behave({ chunkDelayMs: 20, ...behavior, ...(behavior.cutAfterBytes && { cutAfterBytes: 700 }) });
    const requestId = crypto.randomUUID();
    const client = await sendRawChat(translated, { stream: true, requestId });
    const { received } = await client.ended;
    expect(endedCleanly(received)).toBe(false);
    expect(received).not.toContain("[DONE]");
    expect(received).not.toContain('"finish_reason":"');
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  test("a translated stream that ends before its last event, after everything received was relayed", async () => {
    const start =
      'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n';
    const block =
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n';
    const delta =
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"alpha"}}\n\n';
    one.behave({ body: [start, block, delta], chunkDelayMs: 20 });
    const requestId = crypto.randomUUID();
    const { received } = await (await sendRawChat(translated, { stream: true, requestId })).ended;
    expect(received).toContain("alpha");
    expect(received).not.toContain("[DONE]");
    expect(endedCleanly(received)).toBe(false);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  const BODIES: [string, Behavior][] = [
    ["of a known length, closed", { body: "x".repeat(600_000), wrongContentLength: "longer" }],
    ["of a known length, reset", { body: "x".repeat(600_000), cutAfterBytes: 400_000, reset: true }],
    ["in chunks, closed", { bigStream: { bytes: MB, chunkBytes: 50_000 }, cutAfterChunks: 6 }],
    ["in chunks, reset", { bigStream: { bytes: MB, chunkBytes: 50_000 }, cutAfterChunks: 6, reset: true }],
    [
      "in chunks, malformed",
      { bigStream: { bytes: MB, chunkBytes: 50_000 }, malformedChunk: true, chunkDelayMs: 20 },
    ],
  ];
  test.each(BODIES)("a large body %s", async (_, behavior) => {
    one.behave(behavior);
    const requestId = crypto.randomUUID();
    const { received } = await (await sendRawChat(plain, { stream: false, requestId })).ended;
    expect(received).toStartWith("HTTP/1.1 200");
    expect(endedCleanly(received)).toBe(false);
    expect((await accessLine(gatehouse, requestId)).outcome).toBe("incomplete");
  });

  test("an HTTP client gets an error, not the end of the body", async () => {
    one.behave({ body: EVENTS, chunkDelayMs: 20, cutAfterChunks: 2 });
    const response = await sendChat(plain, { stream: true });
    const reading = response.text().then(
      () => "an end",
      () => "an error",
    );
    expect(await reading).toBe("an error");
  });

  test("bytes beyond the Content-Length are not relayed to any client", async () => {
    one.behave({ wrongContentLength: "shorter" });
    await outcomeOf(await sendChat(plain));
    one.behave({});
    for (let times = 0; times < 4; times++) {
      const outcome = await outcomeOf(await sendChat(plain));
      expect(outcome.status).toBe(200);
      expect(JSON.parse(outcome.text)).toHaveProperty("choices");
    }
  });

  test("the next request is served normally", async () => {
    one.behave({ body: EVENTS, chunkDelayMs: 20, cutAfterChunks: 2 });
    await (
      await sendRawChat(plain, { stream: true })
    ).ended;
    one.behave({});
    expect(await servedBy(plain)).toBe("one");
  });
});

test("only log records were printed", () => {
  expect([...strayOutput(gatehouse), ...strayOutput(measured)]).toEqual([]);
});
