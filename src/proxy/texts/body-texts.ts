// Finds and replaces the texts of whole bodies: of large ones in a worker thread, because this would keep other requests waiting.
import { isUtf8 } from "node:buffer";
import type { GatehouseError } from "../../base/errors.ts";
import { TurnMeter } from "../../base/own-turn.ts";
import type { TextReader } from "../../formats/text-channels.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import { LARGE_LENGTH } from "../../off-loop/large-strings.ts";
import { isMovable } from "../../off-loop/movable.ts";
import type { OffLoop, TaskOptions } from "../../off-loop/off-loop.ts";
import type * as findTextsTask from "./find-texts-task.ts";
import type * as replaceTextsTask from "./replace-texts-task.ts";
import { startOf } from "./text-form.ts";
import type { FoundText } from "./found-text.ts";
import { findTexts, unreadable } from "./found-texts.ts";
import { packItems, unpackItems, type Piece } from "./packed-items.ts";
import { TextUnit, withSlot, type Mark } from "./text-unit.ts";

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
  const { bytes, marks } = await find(given, reader, isStrict, offLoop, isOwned);
  if (marks !== null && marks !== "mixed") return TextUnit.ofBody(bytes, marks);
  if (isStrict || marks === "mixed" || !isUtf8(bytes) || bytes.includes(0))
    throw error?.() ?? unreadable("a body");
  return TextUnit.ofText(bytes);
}

async function find(
  bytes: Uint8Array,
  reader: TextReader,
  isStrict: boolean,
  offLoop: OffLoop,
  isOwned: boolean,
): Promise<{ readonly bytes: Uint8Array; readonly marks: readonly Mark[] | "mixed" | null }> {
  const { format } = reader;
  if (startOf(bytes, false) !== "json") return { bytes, marks: null };
  if (!isLargeBody(bytes)) {
    const found = findTexts(bytes, reader, isStrict);
    return { bytes, marks: found === null || found === "mixed" ? found : found.map(withSlot) };
  }
  const options = optionsOf(bytes, isOwned);
  const input = { bytes, format, isStrict, isMoved: "moved" in options };
  const { found, bytes: returned } = await offLoop.run<typeof findTextsTask>(FIND, input, options);
  if (found === null || found === "mixed") return { bytes: returned ?? bytes, marks: found };
  const marks: Mark[] = [];
  await paced(found, (piece) => {
    for (const mark of unpackItems(piece)) marks.push(withSlot(mark));
  });
  return { bytes: returned ?? bytes, marks };
}

/** Gives up the turn between pieces: all of them may take longer than others can wait. */
async function paced<Item>(pieces: Iterable<Piece<Item>>, use: (piece: Piece<Item>) => void): Promise<void> {
  const meter = new TurnMeter();
  for (const piece of pieces) {
    use(piece);
    const pause = meter.add(LARGE_LENGTH);
    if (pause !== null) await pause;
  }
}

/** Resolves to the bytes to send: those that were received if no text has changed. `isOwned`: nothing else uses those of the unit. */
export async function writeBody(unit: TextUnit, offLoop: OffLoop, isOwned: boolean): Promise<Uint8Array> {
  const { bytes, replaced } = unit;
  if (replaced.length === 0) return bytes;
  if (!isLargeBody(bytes)) return unit.encode();
  const pieces: Piece<FoundText>[] = [];
  await paced(
    packItems(replaced, ({ text }) => text.length),
    (piece) => void pieces.push(piece),
  );
  const input = { bytes, replaced: pieces };
  return offLoop.run<typeof replaceTextsTask>(REPLACE, input, optionsOf(bytes, isOwned));
}

function optionsOf(bytes: Uint8Array, isOwned: boolean): TaskOptions {
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
  return isOwned && isMovable(bytes) ? { ...limits, moved: bytes } : limits;
}
