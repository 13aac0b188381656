// From an answer to what happens on the socket: a lazy plan of writes, waits, stalls and closes.
// All misbehavior at the level of bytes is decided here; the player only follows the plan.
import { STATUS_CODES } from "node:http";
import { type FakeResponse, slices } from "./response.ts";
import type { Behavior, HeaderPair } from "./behavior.ts";

/** Bytes are written; "wait" pauses; "stall" is silence until the peer leaves; "close" ends before the answer does. */
export type Step =
  Uint8Array | { kind: "wait"; ms: number } | { kind: "stall" } | { kind: "close"; reset: boolean };

export interface ConnectionTerms {
  /** The answer to HEAD has headers only. */
  headOnly: boolean;
  /** HTTP/1.0 knows no chunks: the body ends with the connection. */
  closeDelimited: boolean;
  /** The connection ends after this answer, and the answer says so. */
  closeAfter: boolean;
}

type Framing = "length" | "chunked" | "close";

const ENDLESS_BYTES = 1 << 30;
const WRONG_LENGTH_BY = 10;
// A reset sent together with the last bytes may overtake them in a client's event loop.
const PAUSE_BEFORE_RESET_MS = 5;

export function* planResponse(
  answer: FakeResponse,
  behavior: Behavior,
  terms: ConnectionTerms,
): Generator<Step> {
  if (behavior.delayMs !== undefined) yield { kind: "wait", ms: behavior.delayMs };
  if (behavior.closeBeforeAnswer === true || behavior.refuse === true) yield* cut(behavior);
  for (const status of behavior.informational ?? []) yield Buffer.from(`${statusLine(status)}\r\n`);
  const bodiless = answer.status === 204 || answer.status === 304;
  const framing = chooseFraming(answer, behavior, terms);
  const head = planHead(answer, behavior, bodiless ? [] : framingHeaders(answer, behavior, framing), terms);
  yield* limited(head, behavior.cutHeadAfterBytes, behavior);
  if (bodiless || terms.headOnly) return;
  yield* limited(planBody(answer, behavior, framing), behavior.cutAfterBytes, behavior);
}

function* cut(behavior: Behavior): Generator<Step> {
  const reset = behavior.reset === true;
  if (reset) yield { kind: "wait", ms: PAUSE_BEFORE_RESET_MS };
  yield { kind: "close", reset };
}

/** Lets so many bytes of a plan through, then cuts. */
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

function chooseFraming(answer: FakeResponse, behavior: Behavior, terms: ConnectionTerms): Framing {
  if (terms.closeDelimited) return "close";
  const malformed = behavior.malformedChunk !== undefined && behavior.malformedChunk !== false;
  return answer.body.kind === "stream" || malformed ? "chunked" : "length";
}

function framingHeaders(answer: FakeResponse, behavior: Behavior, framing: Framing): HeaderPair[] {
  const scripted = (name: string): boolean => answer.headers.some(([given]) => given.toLowerCase() === name);
  if (framing === "close" || scripted("content-length") || scripted("transfer-encoding")) return [];
  if (framing === "chunked" || answer.body.kind === "stream") return [["Transfer-Encoding", "chunked"]];
  const actual = answer.body.bytes.length;
  const wrong = behavior.wrongContentLength;
  const error = wrong === "longer" ? WRONG_LENGTH_BY : wrong === "shorter" ? -WRONG_LENGTH_BY : 0;
  return [["Content-Length", String(Math.max(0, actual + error))]];
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Fake Status"}\r\n`;
}

function* planHead(
  answer: FakeResponse,
  behavior: Behavior,
  framing: HeaderPair[],
  terms: ConnectionTerms,
): Generator<Step> {
  let head = statusLine(answer.status);
  if (behavior.headerDelayMs !== undefined) {
    yield Buffer.from(head, "latin1");
    yield { kind: "wait", ms: behavior.headerDelayMs };
    head = "";
  }
  for (const [name, value] of answer.headers) head += `${name}: ${value}\r\n`;
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

function* planBody(answer: FakeResponse, behavior: Behavior, framing: Framing): Generator<Step> {
  const { stallAfterChunks, cutAfterChunks, chunkDelayMs } = behavior;
  const malformed = behavior.malformedChunk === true ? "size" : behavior.malformedChunk;
  let sent = 0;
  for (const piece of piecesOf(answer, framing)) {
    if (sent === cutAfterChunks) yield* cut(behavior);
    if (sent === stallAfterChunks) yield { kind: "stall" };
    if (sent > 0 && chunkDelayMs !== undefined) yield { kind: "wait", ms: chunkDelayMs };
    // The second chunk is the bad one: by then a client has begun to believe in the stream.
    yield framing === "chunked" ? framed(piece, sent === 1 ? malformed : undefined) : piece;
    sent++;
  }
  if (sent === cutAfterChunks || malformed === "unfinished") yield* cut(behavior);
  if (sent === stallAfterChunks) yield { kind: "stall" };
  if (framing === "chunked") yield Buffer.from("0\r\n\r\n");
  if (behavior.wrongContentLength === "longer" && framing === "length") yield* cut(behavior);
}

function piecesOf(answer: FakeResponse, framing: Framing): Iterable<Uint8Array> {
  if (answer.body.kind === "stream") return answer.body.pieces;
  const { bytes } = answer.body;
  // An answer that was whole is chunked only to be malformed, which takes two chunks.
  return framing === "chunked" ? slices(bytes, Math.max(1, Math.ceil(bytes.length / 2))) : [bytes];
}

function framed(piece: Uint8Array, malformed: string | undefined | false): Uint8Array {
  const size = malformed === "overrun" ? Math.max(1, piece.length - 3) : piece.length;
  const line = malformed === "size" ? "zz" : size.toString(16);
  return Buffer.concat([Buffer.from(`${line}\r\n`), piece, Buffer.from("\r\n")]);
}
