// Finds and replaces the texts of whole bodies: of large ones in a worker thread, because this would keep other requests waiting.
import { isUtf8 } from "node:buffer";
import type { GatehouseError } from "../../base/errors.ts";
import type { TextReader } from "../../formats/text-channels.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import { isMovable } from "../../off-loop/movable.ts";
import type { OffLoop, TaskOptions } from "../../off-loop/off-loop.ts";
import type * as findTextsTask from "./find-texts-task.ts";
import type * as replaceTextsTask from "./replace-texts-task.ts";
import { startOf } from "./text-form.ts";
import { findTexts, unreadable, type FoundTexts } from "./found-texts.ts";
import { TextUnit } from "./text-unit.ts";

const FIND = new URL("./find-texts-task.ts", import.meta.url);
const REPLACE = new URL("./replace-texts-task.ts", import.meta.url);

/** How a body may be read. */
interface BodyReading {
  readonly reader: TextReader;
  /** The body has the format of the reader, or it is rejected. */
  readonly isStrict: boolean;
  /** Returns the error of a body that cannot be read; absent or null for that of the format. */
  readonly unreadable?: (() => GatehouseError) | null;
  readonly offLoop: OffLoop;
}

/** `isOwned`: nothing else uses the memory of the bytes. Rejects for a body that cannot be read. */
export async function readBody(
  given: Uint8Array,
  { reader, isStrict, offLoop, unreadable: error }: BodyReading,
  isOwned: boolean,
): Promise<TextUnit> {
  const { bytes, found } = await find(given, reader, isStrict, offLoop, isOwned);
  if (found !== null && found !== "mixed") return TextUnit.ofBody(bytes, found);
  if (isStrict || found === "mixed" || !isUtf8(bytes) || bytes.includes(0))
    throw error?.() ?? unreadable("a body");
  return TextUnit.ofText(bytes);
}

async function find(
  bytes: Uint8Array,
  reader: TextReader,
  isStrict: boolean,
  offLoop: OffLoop,
  isOwned: boolean,
): Promise<{ readonly bytes: Uint8Array; readonly found: FoundTexts }> {
  const { format } = reader;
  if (startOf(bytes, false) !== "json") return { bytes, found: null };
  if (!isLargeBody(bytes)) return { bytes, found: findTexts(bytes, reader, isStrict) };
  const options = optionsOf(bytes, isOwned);
  const input = { bytes, format, isStrict, isMoved: "moved" in options };
  const output = await offLoop.run<typeof findTextsTask>(FIND, input, options);
  return { bytes: output.bytes ?? bytes, found: output.found };
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
