// What the fake provider can be told to do instead of answering well: one flat, composable record,
// set by a test in the same process or sent by any client as JSON in the `x-fake` request header.
import { isObject } from "./loose-json.ts";

export type HeaderPair = [name: string, value: string];

export interface Behavior {
  /** Status to answer with; from 400 up the body becomes the provider's error shape unless `body` is given. */
  status?: number;
  /** Sent raw and in order. A name given here replaces the fake's own header of that name; duplicates are kept. */
  headers?: HeaderPair[];
  /** Sent as is. An array is sent as a chunked stream, one chunk an element. */
  body?: string | Uint8Array | (string | Uint8Array)[];
  /** The assistant's text, instead of the friendly default. */
  text?: string;
  /** The model named in the answer, instead of the requested one. */
  model?: string;
  /** Token counts to report, instead of counted words. */
  usage?: { input: number; output: number };
  /** Answer with a tool call whether or not the request asks for one. */
  toolCall?: boolean;
  /** How many content deltas a stream has (the words repeat or are cut off). */
  chunks?: number;
  /** A lazily made stream of that much content: SSE where a stream was asked for, else plain bytes. */
  bigStream?: { bytes: number; chunkBytes: number };
  /** Compress the body and say so. A compressed stream is compressed whole, then sent in pieces. */
  gzip?: boolean;
  /** The same in this encoding. */
  encoding?: "gzip" | "br" | "deflate" | "zstd";
  /** The status to answer a request with that holds `stream_options`, as providers do that do not know it. */
  refuseStreamOptions?: number;
  /** 429 in the provider's shape, with its rate limit headers. */
  rateLimited?: { retryAfter: number | string };
  /** After that many chunks the stream carries the provider's error event and ends. */
  errorAfterChunks?: number;

  /** Answer as soon as the head is read and ignore the body. Only as a fixed behavior or in `x-fake`. */
  answerEarly?: boolean;
  /** Interim answers (100, 102, 103) sent before the real one. */
  informational?: number[];
  /** Wait before the first byte. */
  delayMs?: number;
  /** Send the status line, wait, then send the headers. */
  headerDelayMs?: number;
  /** Wait between chunks of the body. 0 still gives each chunk its own write. */
  chunkDelayMs?: number;

  /** Close in the instant of accepting. Only as a fixed behavior: a function or `x-fake` closes before the answer. */
  refuse?: boolean;
  /** Read the request, then close without a byte. */
  closeBeforeAnswer?: boolean;
  /** Close after that many bytes counted from the status line. */
  cutHeadAfterBytes?: number;
  /** Close after that many bytes of body as on the wire, chunk framing included. */
  cutAfterBytes?: number;
  /** Close after that many chunks (SSE events). */
  cutAfterChunks?: number;
  /** Every close above is a TCP reset instead of an orderly end. */
  reset?: boolean;
  /** Go silent after that many chunks and keep the connection open. A JSON answer is one chunk. */
  stallAfterChunks?: number;

  /** `true` is "size": a size line that is no number; "overrun": more data than announced; "unfinished": no last chunk. */
  malformedChunk?: boolean | "size" | "overrun" | "unfinished";
  /** "longer" announces more than is sent, then closes; "shorter" lets bytes spill onto a connection kept alive. */
  wrongContentLength?: "longer" | "shorter";
  /** Headers without end, until the peer leaves or a gigabyte has gone. */
  endlessHeaders?: boolean;
  /** A control character inside a header value; `true` is "lf". */
  crlfInHeader?: boolean | "lf" | "cr" | "fold" | "nul";
  /** `Connection: close`, then close. */
  closeConnection?: boolean;
  /** Neither length nor chunks: the end of the connection ends the body. */
  closeDelimited?: boolean;
}

export const FAKE_HEADER = "x-fake";

export class BadFakeHeader extends Error {}

/** The behavior a client asked for in its own request; throws when the header is not a JSON object. */
export function readFakeHeader(value: string): Behavior {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    throw new BadFakeHeader(`The ${FAKE_HEADER} header is not JSON: ${value.slice(0, 100)}`);
  }
  if (!isObject(parsed)) throw new BadFakeHeader(`The ${FAKE_HEADER} header is not a JSON object.`);
  return parsed;
}
