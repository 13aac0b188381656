// Translates a target's response to the hub format, for rules with a response_format: whole responses, errors, and streams.
import type { Clock } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import type { StreamDecoder, Translator } from "../formats/format.ts";
import { requestsStreamUsage } from "../formats/openai/stream-usage-option.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Exchange } from "./exchange.ts";

export function translateBody(
  translator: Translator,
  { clock }: Exchange,
  status: number,
  body: Uint8Array,
): string {
  const value = parse(body);
  if (status >= 400) return JSON.stringify(translator.decodeError(value, status));
  const translated = translator.decodeResponse(value, unixSeconds(clock));
  if (translated === null) {
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's response is not in the target's format. Check the target's format.",
    );
  }
  return JSON.stringify(translated);
}

export function translateStream(translator: Translator, { fields, clock }: Exchange): StreamDecoder {
  const includeUsage = requestsStreamUsage(fields.streamOptions);
  return translator.decodeStream({ createdAt: unixSeconds(clock), includeUsage });
}

/** Translates a stream that was read to its end. */
export function translateWholeStream(
  translator: Translator,
  exchange: Exchange,
  stream: Uint8Array,
): Uint8Array {
  const decoder = translateStream(translator, exchange);
  const translated = decoder.push(stream) ?? new Uint8Array(0);
  if (decoder.ending() === "truncated") throw new UpstreamError("cut");
  return translated;
}

/** Returns null if the body is not JSON. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function unixSeconds(clock: Clock): number {
  return Math.floor(clock.unixNow() / 1000);
}
