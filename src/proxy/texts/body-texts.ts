// Finds and replaces the texts of whole bodies: of large ones in a worker thread, because this would keep other requests waiting.
import type { TextReader } from "../../formats/text-channels.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import { isMovable } from "../../off-loop/movable.ts";
import type { OffLoop, TaskOptions } from "../../off-loop/off-loop.ts";
import type * as findTextsTask from "./find-texts-task.ts";
import type * as replaceTextsTask from "./replace-texts-task.ts";
import { findTexts, TextUnit } from "./text-unit.ts";

const FIND = new URL("./find-texts-task.ts", import.meta.url);
const REPLACE = new URL("./replace-texts-task.ts", import.meta.url);

/** `isOwned`: nothing else uses the memory of the bytes. */
export async function readBody(
  bytes: Uint8Array,
  reader: TextReader,
  offLoop: OffLoop,
  isOwned: boolean,
): Promise<TextUnit> {
  const { format } = reader;
  if (!isLargeBody(bytes)) return TextUnit.ofBody(bytes, findTexts(bytes, reader));
  const options = optionsOf(bytes, isOwned);
  const input = { bytes, format, isMoved: "moved" in options };
  const output = await offLoop.run<typeof findTextsTask>(FIND, input, options);
  return TextUnit.ofBody(output.bytes ?? bytes, output.found);
}

/** Resolves to the bytes to send: those that were received if no text has changed. `isOwned`: nothing else uses those of the unit. */
export async function writeBody(unit: TextUnit, offLoop: OffLoop, isOwned: boolean): Promise<Uint8Array> {
  const { bytes, replaced } = unit;
  if (replaced.length === 0) return bytes;
  if (!isLargeBody(bytes)) return unit.encode();
  return offLoop.run<typeof replaceTextsTask>(REPLACE, { bytes, replaced }, optionsOf(bytes, isOwned));
}

function optionsOf(bytes: Uint8Array, isOwned: boolean): TaskOptions {
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  return isOwned && isMovable(bytes) ? { ...limits, moved: bytes } : limits;
}
