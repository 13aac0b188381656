// Requests to a collector: what its response says, and the limit of what is read of it.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { startOtlpReceiver, type OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { postOtlp } from "./post-otlp.ts";

let receiver: OtlpReceiver;
beforeEach(() => void (receiver = startOtlpReceiver()));
afterEach(() => receiver.stop());

const post = () => postOtlp({ url: `${receiver.url}/v1/traces`, headers: {} }, new Uint8Array());

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
  expect(await post()).toEqual({ error: null, rejected: 0, isRetryable: false });
  expect(await ended.promise).toBe(true);
});
