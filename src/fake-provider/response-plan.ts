// Turns a response into a lazy plan of what happens on the socket: writes, waits, stalls, and closes.
// Every deviation at the byte level is decided here; ResponsePlayer only executes the plan.
import { STATUS_CODES } from "node:http";
import { type FakeResponse, slices } from "./response.ts";
import type { Behavior, HeaderPair } from "./behavior.ts";

/**
 * Bytes are written; "wait" pauses; "flush" gives the peer time to read; "stall" sends nothing until the peer disconnects;
 * "close" cuts the response.
 */
export type Step =
  | Uint8Array
  | { kind: "wait"; ms: number }
  | { kind: "flush" }
  | { kind: "stall" }
  | { kind: "close"; reset: boolean };

interface ConnectionTerms {
  /** The response to HEAD has headers only. */
  headOnly: boolean;
  /** HTTP/1.0 has no chunked encoding: closing the connection ends the body. */
  closeDelimited: boolean;
  /** Send `Connection: close` and close after this response. */
  closeAfter: boolean;
}

type Framing = "length" | "chunked" | "close";

const ENDLESS_BYTES = 1 << 30;
const WRONG_LENGTH_BY = 10;

export function* planResponse(
  response: FakeResponse,
  behavior: Behavior,
  terms: ConnectionTerms,
): Generator<Step> {
  if (behavior.delayMs !== undefined) yield { kind: "wait", ms: behavior.delayMs };
  if (behavior.closeBeforeAnswer === true || behavior.refuse === true) yield* cut(behavior);
  for (const status of behavior.informational ?? []) yield Buffer.from(`${statusLine(status)}\r\n`);
  const bodiless = response.status < 200 || response.status === 204 || response.status === 304;
  const framing = chooseFraming(response, behavior, terms);
  const head = planHead(
    response,
    behavior,
    bodiless ? [] : framingHeaders(response, behavior, framing),
    terms,
  );
  yield* limited(head, behavior.cutHeadAfterBytes, behavior);
  if (bodiless || terms.headOnly) return;
  yield* limited(planBody(response, behavior, framing), behavior.cutAfterBytes, behavior);
}

function* cut(behavior: Behavior): Generator<Step> {
  const reset = behavior.reset === true;
  // A client that receives a reset together with the last bytes may report the reset first and drop the bytes.
  if (reset) yield { kind: "flush" };
  yield { kind: "close", reset };
}

/** Passes on the first `limit` bytes of a plan, then cuts the connection. */
function* limited(plan: Iterable<Step>, limit: number | undefined, behavior: Behavior): Generator<Step> {
  if (limit === undefined) {
    yield* plan;
    return;
  }
  let remaining = limit;
  for (const step of plan) {
    if (!(step instanceof Uint8Array)) {
      yield step;
    } else if (step.length < remaining) {
      remaining -= step.length;
      yield step;
    } else {
      yield step.subarray(0, remaining);
      yield* cut(behavior);
      return;
    }
  }
}

function chooseFraming(response: FakeResponse, behavior: Behavior, terms: ConnectionTerms): Framing {
  if (terms.closeDelimited) return "close";
  const malformed = behavior.malformedChunk !== undefined && behavior.malformedChunk !== false;
  return response.body.kind === "stream" || malformed ? "chunked" : "length";
}

function framingHeaders(response: FakeResponse, behavior: Behavior, framing: Framing): HeaderPair[] {
  const scripted = (name: string): boolean =>
    response.headers.some(([given]) => given.toLowerCase() === name);
  if (framing === "close" || scripted("content-length") || scripted("transfer-encoding")) return [];
  if (framing === "chunked" || response.body.kind === "stream") return [["Transfer-Encoding", "chunked"]];
  const actual = response.body.bytes.length;
  const wrong = behavior.wrongContentLength;
  const error = wrong === "longer" ? WRONG_LENGTH_BY : wrong === "shorter" ? -WRONG_LENGTH_BY : 0;
  return [["Content-Length", String(Math.max(0, actual + error))]];
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Fake Status"}\r\n`;
}

function* planHead(
  response: FakeResponse,
  behavior: Behavior,
  framing: HeaderPair[],
  terms: ConnectionTerms,
): Generator<Step> {
  let head = statusLine(response.status);
  if (behavior.headerDelayMs !== undefined) {
    yield Buffer.from(head, "latin1");
    yield { kind: "wait", ms: behavior.headerDelayMs };
    head = "";
  }
  for (const [name, value] of response.headers) head += `${name}: ${value}\r\n`;
  for (const [name, value] of framing) head += `${name}: ${value}\r\n`;
  if (terms.closeAfter) head += "Connection: close\r\n";
  head += oddHeader(behavior.crlfInHeader ?? false);
  if (behavior.endlessHeaders === true) {
    yield Buffer.from(head, "latin1");
    yield* endlessHeaders(behavior);
  }
  yield Buffer.from(`${head}\r\n`, "latin1");
}

function oddHeader(kind: NonNullable<Behavior["crlfInHeader"]>): string {
  switch (kind) {
    case false:
      return "";
    case "cr":
      return "X-Odd: before\rafter\r\n";
    case "fold":
      return "X-Odd: before\r\n after\r\n";
    case "nul":
      return "X-Odd: before\0after\r\n";
    default:
      return "X-Odd: before\nX-Smuggled: after\r\n";
  }
}

function* endlessHeaders(behavior: Behavior): Generator<Step> {
  const value = "a".repeat(1000);
  for (let sent = 0, serial = 1; sent < ENDLESS_BYTES; serial++) {
    const line = Buffer.from(`X-Endless-${serial}: ${value}\r\n`);
    sent += line.length;
    yield line;
  }
  yield* cut(behavior);
}

function* planBody(response: FakeResponse, behavior: Behavior, framing: Framing): Generator<Step> {
  const { stallAfterChunks, cutAfterChunks, chunkDelayMs } = behavior;
  const malformed = behavior.malformedChunk === true ? "size" : behavior.malformedChunk;
  let sent = 0;
  for (const piece of piecesOf(response, framing)) {
    if (sent === cutAfterChunks) yield* cut(behavior);
    if (sent === stallAfterChunks) yield { kind: "stall" };
    if (sent > 0 && chunkDelayMs !== undefined) yield { kind: "wait", ms: chunkDelayMs };
    // Only the second chunk is malformed, so that the client fails in the middle of a stream that started well.
    yield framing === "chunked" ? framed(piece, sent === 1 ? malformed : undefined) : piece;
    sent++;
  }
  if (sent === cutAfterChunks || malformed === "unfinished") yield* cut(behavior);
  if (sent === stallAfterChunks) yield { kind: "stall" };
  if (framing === "chunked") yield Buffer.from("0\r\n\r\n");
  if (behavior.wrongContentLength === "longer" && framing === "length") yield* cut(behavior);
}

function piecesOf(response: FakeResponse, framing: Framing): Iterable<Uint8Array> {
  if (response.body.kind === "stream") return response.body.pieces;
  const { bytes } = response.body;
  // A response with a whole body is chunked only to be malformed, which requires two chunks.
  return framing === "chunked" ? slices(bytes, Math.max(1, Math.ceil(bytes.length / 2))) : [bytes];
}

function framed(piece: Uint8Array, malformed: string | undefined | false): Uint8Array {
  const size = malformed === "overrun" ? Math.max(1, piece.length - 3) : piece.length;
  const line = malformed === "size" ? "zz" : size.toString(16);
  return Buffer.concat([Buffer.from(`${line}\r\n`), piece, Buffer.from("\r\n")]);
}
