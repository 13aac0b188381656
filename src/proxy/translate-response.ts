// Translates a target's response to the format of the client: whole responses, errors, and streams.
import type { Clock } from "../base/clock.ts";
import { StreamTranslation } from "../formats/stream-translation.ts";
import type { DecodeOptions } from "../formats/translator.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Exchange } from "./exchange.ts";
import type { ResponseTranslation } from "./response-translation.ts";
import type * as translateResponseTask from "./translate-response-task.ts";
import { translateWhole, type WholeResponse } from "./translate-whole.ts";

const TASK = new URL("./translate-response-task.ts", import.meta.url);

export function translateStream(
  { from, inbound, context }: ResponseTranslation,
  target: CompiledTarget,
  { clock }: Exchange,
): StreamTranslation {
  return new StreamTranslation(from.outbound, inbound, decodeOptions(target, clock), context);
}

/** Translates a body, or a stream that was read to its end. A large one is translated in a worker thread. */
export async function translateWholeBody(
  { from, to, context }: ResponseTranslation,
  target: CompiledTarget,
  { clock, requestId }: Exchange,
  response: Pick<WholeResponse, "body" | "isStream" | "status">,
  offLoop: OffLoop,
): Promise<Uint8Array | string> {
  const whole: WholeResponse = {
    ...response,
    from: from.name,
    to: to.name,
    options: decodeOptions(target, clock),
    context,
    requestId,
  };
  const bytes = whole.body.byteLength;
  const translated =
    bytes <= LARGE_BODY_BYTES
      ? translateWhole(whole)
      : await offLoop.run<typeof translateResponseTask>(TASK, whole, {
          bytes,
          timeoutMs: LARGE_BODY_TIMEOUT_MS,
        });
  if (translated === null) throw new UpstreamError("cut");
  return translated;
}

function decodeOptions({ tag }: CompiledTarget, clock: Clock): DecodeOptions {
  return { createdAt: Math.floor(clock.unixNow() / 1000), targetTag: tag };
}
