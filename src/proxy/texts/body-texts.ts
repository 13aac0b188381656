// Finds and replaces the texts of whole bodies: of large ones in a worker thread, because this would keep other requests waiting.
import type { TextReader } from "../../formats/text-channels.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import type * as findTextsTask from "./find-texts-task.ts";
import type * as replaceTextsTask from "./replace-texts-task.ts";
import { findTexts, TextUnit } from "./text-unit.ts";

const FIND = new URL("./find-texts-task.ts", import.meta.url);
const REPLACE = new URL("./replace-texts-task.ts", import.meta.url);

export async function readBody(bytes: Uint8Array, reader: TextReader, offLoop: OffLoop): Promise<TextUnit> {
  const { format } = reader;
  if (bytes.byteLength <= LARGE_BODY_BYTES || format === null)
    return TextUnit.ofBody(bytes, findTexts(bytes, reader));
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  return TextUnit.ofBody(bytes, await offLoop.run<typeof findTextsTask>(FIND, { bytes, format }, limits));
}

/** Resolves to the bytes to send: those that were received if no text has changed. */
export async function writeBody(unit: TextUnit, offLoop: OffLoop): Promise<Uint8Array> {
  const { bytes, replaced } = unit;
  if (bytes.byteLength <= LARGE_BODY_BYTES || replaced.length === 0) return unit.encode();
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  return offLoop.run<typeof replaceTextsTask>(REPLACE, { bytes, replaced }, limits);
}
