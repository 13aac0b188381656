// Whether the body of a request may still be read, which decides when its memory can be freed; and the body of a response, however it
// arrives and is read.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { UpstreamResponse, type ResponseSource } from "./upstream-response.ts";

describe("the body of a request", () => {
  function setUp() {
    const clock = new ManualClock();
    const response = new UpstreamResponse(new CoarseDeadlines(clock), clock.now(), 1000, 1000);
    const source = {
      holdsBody: true,
      pause: () => undefined,
      resume: () => undefined,
      cancel: () => undefined,
    };
    return { response, source: source satisfies ResponseSource };
  }

  test("is held before it is sent", () => {
    const { response } = setUp();
    expect(response.holdsBody).toBe(true);
  });

  test("is held while the connection has not sent all of it", () => {
    const { response, source } = setUp();
    response.onSent(source);
    expect(response.holdsBody).toBe(true);
    source.holdsBody = false;
    expect(response.holdsBody).toBe(false);
  });

  test("is not held after the response, although the connection sends the body of another request", () => {
    const { response, source } = setUp();
    response.onSent(source);
    source.holdsBody = false;
    response.onEnd();
    source.holdsBody = true;
    expect(response.holdsBody).toBe(false);
  });

  test("is held after a response that ended before all of it was sent", () => {
    const { response, source } = setUp();
    response.onSent(source);
    response.onEnd();
    expect(response.holdsBody).toBe(true);
  });
});

describe("the body of a response", () => {
  const PEEK = "peek";
  const NEXT = "next";
  const step = fc.oneof(
    fc.constantFrom(PEEK, NEXT, "put back"),
    fc.record({ pieces: fc.array(fc.nat(3), { maxLength: 3 }) }),
  );

  test("is read completely and in order, whatever has arrived when it is read", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const clock = new ManualClock();
        const response = new UpstreamResponse(new CoarseDeadlines(clock), clock.now(), 1000, 1000);
        let sent = "";
        let received = "";
        const read = async () => {
          const bytes = await response.next();
          if (bytes !== null) received += Buffer.from(bytes).toString();
        };
        const push = (pieces: readonly number[]) => {
          for (const length of pieces) {
            const piece = String.fromCharCode(97 + (sent.length % 26)).repeat(length + 1);
            sent += piece;
            response.onBody(Buffer.from(piece));
          }
          response.onBodyBatch();
        };
        for (const each of steps) {
          if (typeof each === "object") push(each.pieces);
          else if (each === "put back") {
            if (received.length === sent.length || sent === "") continue;
            const rest = await response.next();
            if (rest !== null) response.putBack(rest);
          } else if (received.length === sent.length) {
            // Nothing waits: the read is served by the next pieces, and more of them arrive before the reader continues.
            const pending = each === PEEK ? response.peek() : read();
            push([1]);
            push([0, 2]);
            const bytes = await pending;
            if (each === PEEK)
              expect(Buffer.from(bytes ?? []).toString()).toBe(
                sent.slice(received.length, received.length + 2),
              );
          } else if (each === PEEK) {
            const bytes = Buffer.from((await response.peek()) ?? []).toString();
            expect(sent.slice(received.length).startsWith(bytes)).toBe(true);
          } else await read();
        }
        response.onEnd();
        const rest = response.takeWholeBody();
        expect(received + Buffer.from(rest ?? []).toString()).toBe(sent);
        expect(response.takeWholeBody()).toHaveLength(0);
      }),
      { numRuns: 500 },
    );
  });
});
