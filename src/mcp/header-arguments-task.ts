// Reads arguments that header fields repeat from the large arguments of a call in a worker thread.
import type { JsonObject } from "../base/json.ts";
import { readArguments, type HeaderArgument, type RepeatedArgument } from "./tool-definition.ts";

interface Input {
  /** A JSON object. */
  readonly bytes: Uint8Array;
  readonly repeated: readonly HeaderArgument[];
}

export function run({ bytes, repeated }: Input): RepeatedArgument[] {
  return readArguments(repeated, JSON.parse(new TextDecoder().decode(bytes)) as JsonObject);
}
