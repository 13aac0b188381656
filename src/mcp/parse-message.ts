// Parses messages of clients and servers: a small one as a whole, of a large one only the fields that the gateway reads.
import { parseExact } from "../base/exact-json.ts";
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import { LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import { isMovable } from "../off-loop/movable.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type * as splitMessageTask from "./split-message-task.ts";
import { joinMessage, validateMessage } from "./split-message.ts";

/** Parsing and writing 64 kB of small values takes up to 5 ms. Several messages may arrive in one turn of the event loop. */
export const LARGE_MESSAGE_BYTES = 64 * 1024;

const TASK = new URL("./split-message-task.ts", import.meta.url);

export interface ParseOptions {
  readonly offLoop: OffLoop;
  /** Whether fields that are read twice make the message invalid. */
  readonly isUnique: boolean;
  /** Whether nothing else uses the memory of the bytes, so that it can be moved to a thread. */
  readonly isOwned: boolean;
  /** Those that share a part of the worker threads: a gateway or a server. */
  readonly tenant: string;
}

/**
 * Returns a promise for a large message: large values in it are `RawJson`. Throws or rejects with a GatehouseError or a SyntaxError if the
 * message is not valid.
 */
export function parseMessage(bytes: Uint8Array, options: ParseOptions): ValueOrPromise<unknown> {
  if (bytes.byteLength > LARGE_MESSAGE_BYTES) return parseOffLoop(bytes, options);
  if (options.isUnique) validateMessage(bytes, true);
  // Without a byte order mark, which the scanner skips, too.
  return parseExact(new TextDecoder().decode(bytes));
}

async function parseOffLoop(
  bytes: Uint8Array,
  { offLoop, isUnique, isOwned, tenant }: ParseOptions,
): Promise<unknown> {
  const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS, tenant };
  const options = isOwned && isMovable(bytes) ? { ...limits, moved: bytes } : limits;
  const input = { bytes, isUnique, isMoved: "moved" in options };
  const split = await offLoop.run<typeof splitMessageTask>(TASK, input, options);
  return joinMessage(split.bytes ?? bytes, split.root);
}
