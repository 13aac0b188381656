// W3C Trace Context: trace and span ids, and the `traceparent` header.
import { randomFillSync } from "node:crypto";

interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);

/** Returns null if the header is missing or invalid; a new trace starts then. */
export function parseTraceparent(text: string | null): TraceParent | null {
  const match = text === null ? null : TRACEPARENT.exec(text.trim());
  if (match === null) return null;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = match;
  // Later versions may append fields; version 00 must not.
  if (version === "ff" || (version === "00" && more !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent(traceId: string, spanId: string): string {
  return `00-${traceId}-${spanId}-01`;
}

export function newTraceId(): string {
  return randomHex(16, NO_TRACE);
}

export function newSpanId(): string {
  return randomHex(8, NO_SPAN);
}

// Random bytes are read in blocks, because a system call per id would dominate the cost of an id.
const pool = Buffer.alloc(4096);
let used = pool.length;

function randomHex(bytes: number, never: string): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const hex = pool.toString("hex", used, used + bytes);
  used += bytes;
  return hex === never ? randomHex(bytes, never) : hex;
}

const MODEL = /"model"\s*:\s*("(?:[^"\\]|\\.)*")/;
const MODEL_KEY = Buffer.from('"model"');
const SEARCHED_BYTES = 4096;
const MODEL_BYTES = 1024;

// Uint8Array.prototype.indexOf finds single bytes only.
const { indexOf, toString } = Buffer.prototype as {
  indexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
  toString: (this: Uint8Array, encoding: "utf8", from: number, to: number) => string;
};

/** Returns the model named near the start of a response body or of the first chunk of a stream, or null. */
export function modelIn(bytes: Uint8Array | null): string | null {
  if (bytes === null) return null;
  const at = indexOf.call(bytes, MODEL_KEY, 0);
  if (at < 0 || at > SEARCHED_BYTES) return null;
  // Inside generated text the quotes would be escaped.
  const [, model] = MODEL.exec(toString.call(bytes, "utf8", at, at + MODEL_BYTES)) ?? [];
  if (model === undefined) return null;
  try {
    return JSON.parse(model) as string;
  } catch {
    return null;
  }
}
