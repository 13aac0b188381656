// Requests to a collector: what its response says, and the limit of what is read of it.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { startOtlpReceiver, type OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { postOtlp } from "./post-otlp.ts";

let receiver: OtlpReceiver;
beforeEach(() => void (receiver = startOtlpReceiver()));
afterEach(() => receiver.stop());

const post = () => postOtlp({ url: `${receiver.url}/v1/traces`, headers: {} }, new Uint8Array());

test.each([
  ["no Retry-After", null, 0],
  ["seconds", "7", 7000],
  ["more than five minutes", "86400", 300_000],
  ["a date in the past", "Wed, 21 Oct 2015 07:28:00 GMT", 0],
  ["a date far away", "Fri, 31 Dec 2199 23:59:59 GMT", 300_000],
  ["neither a number nor a date", "soon", 0],
])("429 with %s", async (_, header, retryAfterMs) => {
  const headers = header === null ? {} : { "Retry-After": header };
  receiver.respondWith(() => new Response(null, { status: 429, headers }));
  expect(await post()).toEqual({
    error: "the collector responded with status 429",
    rejected: 0,
    isRetryable: true,
    retryAfterMs,
  });
});

test("an endless response is not read to its end", async () => {
  const ended = Promise.withResolvers<boolean>();
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
      cancel() {
        ended.resolve(true);
      },
    });
  receiver.respondWith(() => new Response(body()));
  expect(await post()).toEqual({ error: null, rejected: 0, isRetryable: false, retryAfterMs: 0 });
  expect(await ended.promise).toBe(true);
});
