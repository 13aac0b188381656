// Finds the texts of a large response in a worker thread.
import { formatNamed } from "../../formats/registry.ts";
import type { TextReader } from "../../formats/text-channels.ts";
import { messageTexts } from "../../mcp/message-texts.ts";
import { findTexts, type FoundMark } from "./found-texts.ts";
import { packItems, type Piece } from "./packed-items.ts";

interface Found {
  readonly found: readonly Piece<FoundMark>[] | "mixed" | null;
  /** Those of the input if they were moved here: the event loop has no others. */
  readonly bytes: Uint8Array | null;
}

interface Input {
  readonly bytes: Uint8Array;
  readonly format: TextReader["format"];
  readonly isStrict: boolean;
  readonly isMoved: boolean;
}

export function run(input: Input): Found {
  const { bytes, format, isStrict, isMoved } = input;
  const marks = findTexts(bytes, readerOf(format), isStrict);
  const textLengthOf = (mark: FoundMark) => ("slot" in mark ? mark.slot.text.length : 0);
  const found = marks === null || marks === "mixed" ? marks : [...packItems(marks, textLengthOf)];
  return { found, bytes: isMoved ? bytes : null };
}

function readerOf(format: TextReader["format"]): TextReader {
  return typeof format === "string" ? formatNamed(format).texts : messageTexts(format.mcp);
}
