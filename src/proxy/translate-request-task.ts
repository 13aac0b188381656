// Parses and translates a large chat request in a worker thread.
import { isJsonObject } from "../base/json.ts";
import type { FormatName } from "../formats/format-names.ts";
import { translateRequest } from "./translate-request.ts";

interface Input {
  /** A JSON object in UTF-8. */
  readonly bytes: Uint8Array;
  readonly format: FormatName;
  readonly model: string | null;
}

/** Returns what `translateRequest` returns. */
export function run({ bytes, format, model }: Input): Uint8Array | null {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return isJsonObject(json) ? translateRequest(format, json, model) : null;
}
