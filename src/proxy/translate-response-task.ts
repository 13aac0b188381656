// Translates a large response in a worker thread.
import { translateWhole, type WholeResponse } from "./translate-whole.ts";

export function run(response: WholeResponse): Uint8Array | string | null {
  return translateWhole(response);
}
