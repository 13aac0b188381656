// Translates a target's response to the hub format, for rules with a response_format: whole responses, errors, and streams.
import type { Clock } from "../base/clock.ts";
import type { Format, StreamDecoder, Translator } from "../formats/format.ts";
import { requestsStreamUsage } from "../formats/openai/stream-usage-option.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Exchange } from "./exchange.ts";
import type * as translateResponseTask from "./translate-response-task.ts";
import { translateWhole, type WholeResponse } from "./translate-whole.ts";

const TASK = new URL("./translate-response-task.ts", import.meta.url);

export function translateStream(translator: Translator, { fields, clock }: Exchange): StreamDecoder {
  const includeUsage = requestsStreamUsage(fields.streamOptions);
  return translator.decodeStream({ createdAt: unixSeconds(clock), includeUsage });
}

/** Translates a body, or a stream that was read to its end. A large one is translated in a worker thread. */
export async function translateWholeBody(
  format: Format,
  { fields, clock }: Exchange,
  response: Pick<WholeResponse, "body" | "isStream" | "status">,
  offLoop: OffLoop,
): Promise<Uint8Array | string> {
  const whole: WholeResponse = {
    ...response,
    format: format.name,
    createdAt: unixSeconds(clock),
    includeUsage: requestsStreamUsage(fields.streamOptions),
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

function unixSeconds(clock: Clock): number {
  return Math.floor(clock.unixNow() / 1000);
}
