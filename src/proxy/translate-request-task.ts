// Parses and translates a large request in a worker thread.
import { isJsonObject } from "../base/json.ts";
import { translateRequest, type TranslatedRequest, type TranslationTask } from "./translate-request.ts";

interface Input {
  /** A JSON object in UTF-8. */
  readonly bytes: Uint8Array;
  readonly task: TranslationTask;
}

export function run({ bytes, task }: Input): TranslatedRequest {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!isJsonObject(json)) throw new TypeError("the body is not a JSON object");
  return translateRequest(json, task, true);
}
