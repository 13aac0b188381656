// Decides in a worker thread whether a large request has side effects at the provider.
import { isJsonObject } from "../../base/json.ts";
import { hasSideEffects } from "../../formats/side-effects.ts";

interface Input {
  readonly bytes: Uint8Array;
  readonly storesByDefault: boolean;
}

export function run({ bytes, storesByDefault }: Input): boolean {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return !isJsonObject(json) || hasSideEffects(json, storesByDefault);
}
