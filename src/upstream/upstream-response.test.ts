// Whether the body of a request may still be read, which decides when its memory can be freed.
import { describe, expect, test } from "bun:test";
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
