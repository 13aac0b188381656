// Writes the events of streams to MCP clients.
import { indexOfByte } from "../base/byte-search.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { MessageText } from "./json-rpc.ts";
import type * as singleLineTask from "./single-line-task.ts";
import { singleLine } from "./single-line.ts";

const TASK = new URL("./single-line-task.ts", import.meta.url);

const LF = 0x0a;
const CR = 0x0d;
const END = Buffer.from("\n\n");

interface EventFields {
  /** JSON, or empty. */
  readonly data: MessageText;
  readonly id?: string | null;
  readonly retry?: number | null;
}

/** Returns the bytes of an event; a promise if large JSON has line breaks, which are replaced in a worker thread. */
export function formatEvent(
  { data, id = null, retry = null }: EventFields,
  { offLoop, tenant }: { readonly offLoop: OffLoop; readonly tenant: string },
): ValueOrPromise<Uint8Array> {
  let fields = id === null ? "" : `id: ${id.replace(/[\r\n\0]/g, "")}\n`;
  if (retry !== null) fields += `retry: ${retry}\n`;
  if (data !== "") fields += `event: message\n`;
  const start = Buffer.from(`${fields}data: `);
  const json = typeof data === "string" ? Buffer.from(data) : data;
  const line = lineOf(json, offLoop, tenant);
  return isPromise(line)
    ? line.then((bytes) => Buffer.concat([start, bytes, END]))
    : Buffer.concat([start, line, END]);
}

/** Line breaks of JSON are between its tokens, and would end the line of the event. */
function lineOf(json: Uint8Array, offLoop: OffLoop, tenant: string): ValueOrPromise<Uint8Array> {
  if (indexOfByte(json, LF, 0) < 0 && indexOfByte(json, CR, 0) < 0) return json;
  const bytes = json.byteLength;
  if (bytes <= LARGE_BODY_BYTES) return singleLine(json);
  return offLoop.run<typeof singleLineTask>(TASK, json, { bytes, timeoutMs: LARGE_BODY_TIMEOUT_MS, tenant });
}
