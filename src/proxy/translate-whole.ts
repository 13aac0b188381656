// Translates a whole response to the hub format. Runs on the event loop and in worker threads.
import { GatehouseError } from "../base/errors.ts";
import type { FormatName } from "../formats/format-names.ts";
import type { Translator } from "../formats/format.ts";
import { formatNamed } from "../formats/registry.ts";

export interface WholeResponse {
  readonly format: FormatName;
  readonly status: number;
  readonly body: Uint8Array;
  /** Whether the body is an event stream. */
  readonly isStream: boolean;
  /** Unix time in seconds. */
  readonly createdAt: number;
  /** Whether the client requested the usage of a stream. */
  readonly includeUsage: boolean;
}

/** Returns null for a stream without an end. Throws a GatehouseError if the body does not have the format. */
export function translateWhole(response: WholeResponse): Uint8Array | string | null {
  const { translator, name } = formatNamed(response.format);
  if (translator === null) throw new Error(`the format ${name} has no translator`);
  return response.isStream ? translateStream(translator, response) : translateJson(translator, response);
}

function translateStream(
  translator: Translator,
  { body, createdAt, includeUsage }: WholeResponse,
): Uint8Array | null {
  const decoder = translator.decodeStream({ createdAt, includeUsage });
  const translated = decoder.push(body) ?? new Uint8Array(0);
  return decoder.ending() === "truncated" ? null : translated;
}

function translateJson(translator: Translator, { body, status, createdAt }: WholeResponse): string {
  const value = parse(body);
  if (status >= 400) return JSON.stringify(translator.decodeError(value, status));
  const translated = translator.decodeResponse(value, createdAt);
  if (translated === null) {
    throw new GatehouseError(
      "upstream_bad_answer",
      "The provider's response is not in the target's format. Check the target's format.",
    );
  }
  return JSON.stringify(translated);
}

/** Returns null if the body is not JSON. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
