// Writes large JSON in one line, in a worker thread.
import { singleLine } from "./single-line.ts";

export function run(json: Uint8Array): Uint8Array {
  return singleLine(json);
}
