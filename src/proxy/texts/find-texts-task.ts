// Finds the texts of a large response in a worker thread.
import type { FormatName } from "../../formats/format-names.ts";
import { formatNamed } from "../../formats/registry.ts";
import { findTexts, type FoundMark } from "./text-unit.ts";

interface Found {
  readonly found: readonly FoundMark[] | null;
  /** Those of the input if they were moved here: the event loop has no others. */
  readonly bytes: Uint8Array | null;
}

export function run(input: { bytes: Uint8Array; format: FormatName; isMoved: boolean }): Found {
  const { bytes, format, isMoved } = input;
  return { found: findTexts(bytes, formatNamed(format).texts), bytes: isMoved ? bytes : null };
}
