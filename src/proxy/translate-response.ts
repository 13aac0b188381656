// Translates a target's response to the format of the client: whole responses, errors, and streams.
import type { Clock } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { StreamTranslation } from "../formats/stream-translation.ts";
import type { DecodeOptions } from "../formats/translator.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Exchange } from "./exchange.ts";
import type { ResponseTranslation } from "./response-translation.ts";
import type { TargetResponse } from "./target-response.ts";
import type * as translateResponseTask from "./translate-response-task.ts";
import { translateWhole, type WholeResponse } from "./translate-whole.ts";

type RelayedBody = Pick<WholeResponse, "body" | "isStream" | "status">;

const TASK = new URL("./translate-response-task.ts", import.meta.url);

export function translateStream(
  { from, inbound, context }: ResponseTranslation,
  target: CompiledTarget,
  { clock }: Exchange,
): StreamTranslation {
  return new StreamTranslation(from.outbound, inbound, decodeOptions(target, clock), context);
}

/**
 * Translates a small body before the response is used, because another target can be tried if the generation has failed, or the body is no
 * response in the target's format. A larger body is translated when it is relayed, in a worker thread.
 */
export function translateEarly(
  response: TargetResponse,
  translation: ResponseTranslation,
  exchange: Exchange,
): void {
  const { body, isStream, target, upstreamResponse } = response;
  const { ok, status } = upstreamResponse;
  if (body === null || isStream || !ok || isLargeBody(body)) return;
  const startedAt = exchange.clock.now();
  try {
    response.translated = translateWhole(wholeOf(translation, target, exchange, { body, isStream, status }));
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    response.failure = error;
  }
  exchange.translateMs += exchange.clock.now() - startedAt;
}

/** Translates a body, or a stream that was read to its end. A large one is translated in a worker thread. */
export async function translateWholeBody(
  translation: ResponseTranslation,
  target: CompiledTarget,
  exchange: Exchange,
  response: RelayedBody,
  offLoop: OffLoop,
): Promise<Uint8Array | string> {
  const whole = wholeOf(translation, target, exchange, response);
  const bytes = whole.body.byteLength;
  const translated = !isLargeBody(whole.body)
    ? translateWhole(whole)
    : await offLoop.run<typeof translateResponseTask>(TASK, whole, {
        bytes,
        timeoutMs: LARGE_BODY_TIMEOUT_MS,
        tenant: exchange.gateway?.id ?? "",
      });
  if (translated === null) throw new UpstreamError("cut");
  return translated;
}

function wholeOf(
  { from, to, context }: ResponseTranslation,
  target: CompiledTarget,
  { clock, requestId }: Exchange,
  { body, isStream, status }: RelayedBody,
): WholeResponse {
  const options = decodeOptions(target, clock);
  return { body, isStream, status, from: from.name, to: to.name, options, context, requestId };
}

function decodeOptions({ tag }: CompiledTarget, clock: Clock): DecodeOptions {
  return { createdAt: Math.floor(clock.unixNow() / 1000), targetTag: tag };
}
