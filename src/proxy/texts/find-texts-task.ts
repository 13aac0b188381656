// Finds the texts of a large response in a worker thread.
import type { FormatName } from "../../formats/format-names.ts";
import { formatNamed } from "../../formats/registry.ts";
import { findTexts, type FoundMark } from "./text-unit.ts";

export function run(input: { bytes: Uint8Array; format: FormatName }): readonly FoundMark[] | null {
  return findTexts(input.bytes, formatNamed(input.format).texts);
}
