// Memory that is freed without the garbage collector: of received bytes that were read, and of those that nothing reads.
import { describe, expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "./body-budget.ts";
import { CoarseDeadlines } from "./coarse-deadlines.ts";
import { freeReceived, LARGE_BUFFER_BYTES } from "./free-memory.ts";
import { IncomingBody } from "./incoming-body.ts";
import { ClientConnection } from "./server/client-connection.ts";
import { OutgoingResponse } from "./server/outgoing-response.ts";

const large = () => Buffer.alloc(LARGE_BUFFER_BYTES);
const deadlines = () => new CoarseDeadlines(new ManualClock());

describe("received bytes", () => {
  test("are freed together with what was before them", () => {
    const bytes = Buffer.alloc(10 + LARGE_BUFFER_BYTES);
    freeReceived(bytes.subarray(10));
    expect(bytes.byteLength).toBe(0);
  });

  test.each([
    ["other bytes follow", Buffer.alloc(LARGE_BUFFER_BYTES + 1).subarray(0, -1)],
    ["they are few", Buffer.alloc(LARGE_BUFFER_BYTES - 1)],
    ["threads share them", new Uint8Array(new SharedArrayBuffer(LARGE_BUFFER_BYTES))],
  ])("are kept if %s", (_, bytes) => {
    const { byteLength } = bytes;
    freeReceived(bytes);
    expect(bytes.byteLength).toBe(byteLength);
  });

  test("may be freed twice", () => {
    const bytes = large();
    freeReceived(bytes);
    freeReceived(bytes);
    expect(bytes.byteLength).toBe(0);
  });
});

describe("a body that was taken", () => {
  test.each([
    ["is freed together with the headers before it", LARGE_BUFFER_BYTES, 0],
    ["is left to the collector if it is small", LARGE_BUFFER_BYTES - 1, LARGE_BUFFER_BYTES - 1],
  ])("%s", (_, size, left) => {
    const bodyBudget = new BodyBudget(10 * LARGE_BUFFER_BYTES, new ManualClock());
    const limits = { maxBodyBytes: 10 * LARGE_BUFFER_BYTES, deadlines: deadlines(), bodyBudget };
    const body = IncomingBody.complete(Buffer.alloc(200 + size).subarray(200), limits);
    const bytes = body.take();
    expect(bytes.byteLength).toBe(size);
    body.free();
    expect(bytes.byteLength).toBe(left);
  });
});

describe("bytes that nothing reads are freed", () => {
  test("of a body that was refused", () => {
    const limits = {
      maxBodyBytes: 10 * LARGE_BUFFER_BYTES,
      deadlines: deadlines(),
      bodyBudget: new BodyBudget(2 * LARGE_BUFFER_BYTES, new ManualClock()),
    };
    const body = new IncomingBody(10 * LARGE_BUFFER_BYTES, limits);
    const [first, refused, next] = [large(), large(), large()];
    for (const bytes of [first, refused, next]) body.push(bytes);
    expect(body.isRefused).toBe(true);
    expect([first, refused, next].map((bytes) => bytes.byteLength)).toEqual([0, 0, 0]);
  });

  test("after the last response of a connection", async () => {
    const connection = new ClientConnection(
      {
        remoteAddress: "192.0.2.1",
        write: (bytes, offset = 0, length = bytes.byteLength - offset) => length,
        pause: () => undefined,
        resume: () => undefined,
        shutdown: () => undefined,
        end: () => undefined,
        terminate: () => undefined,
      },
      {
        hostname: "192.0.2.2",
        port: 80,
        deadlines: deadlines(),
        handle: () => Promise.resolve(new OutgoingResponse("refused")),
        isStopping: false,
        onClosed: () => undefined,
        onRefused: () => undefined,
        onError: () => new OutgoingResponse("failed"),
      },
    );
    connection.onData(Buffer.from("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n"));
    await Promise.resolve();
    await Promise.resolve();
    const rest = large();
    connection.onData(rest);
    expect(rest.byteLength).toBe(0);
    connection.terminate();
  });
});
