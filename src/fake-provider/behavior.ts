// How the fake provider can deviate from a normal response: one flat, composable record, set by a test in the same process
// or sent by any client as JSON in the `x-fake` request header.
import { isObject } from "./loose-json.ts";

export type HeaderPair = [name: string, value: string];

/** One reply of the model in a scripted conversation. */
export interface ScriptedTurn {
  text?: string;
  /** Tool calls, after the text if there is one. A custom tool of the Responses API gets the argument `input` as its input. */
  calls?: { name: string; arguments?: Record<string, unknown> }[];
  /** Sent if the request asks for thinking. */
  thinking?: string;
}

export interface Behavior {
  /** Response status. From 400 up, the body is the provider's error object unless `body` is given. */
  status?: number;
  /** Sent verbatim and in order. A name given here replaces the default header of that name; duplicates are kept. */
  headers?: HeaderPair[];
  /** Sent verbatim. An array is sent with chunked encoding, one chunk per element. */
  body?: string | Uint8Array | (string | Uint8Array)[];
  /** The assistant's text, instead of the default greeting. */
  text?: string;
  /** The model's thinking, instead of a default one. Sent only to requests that ask for thinking. */
  thinking?: string;
  /**
   * A scripted conversation, the same for every chat API. A request gets the turn whose index is the number of replies of the
   * model in its messages, so a repeated request gets the same turn. After the last turn, replies are the default ones. A
   * request without tools does not get a turn with calls: agents send such requests for titles and summaries.
   */
  turns?: ScriptedTurn[];
  /** The model named in the response, instead of the requested one. */
  model?: string;
  /** Token counts to report, instead of the number of words. `input` includes `cached`; `output` includes `reasoning`. */
  usage?: { input: number; output: number; cached?: number; reasoning?: number };
  /** Return a tool call even if the request does not ask for one. */
  toolCall?: boolean;
  /** Number of content deltas in a stream. The words of the text are repeated or cut to fit. */
  chunks?: number;
  /** A stream of this many bytes, generated while it is sent: SSE if the request asked for a stream, else plain bytes. */
  bigStream?: { bytes: number; chunkBytes: number };
  /** Compress the body with gzip and set Content-Encoding. A stream is compressed as a whole, then sent in pieces. */
  gzip?: boolean;
  /** Like `gzip`, with this encoding. */
  encoding?: "gzip" | "br" | "deflate" | "zstd";
  /** Respond with this status to requests with `stream_options`, as providers do that do not support the field. */
  refuseStreamOptions?: number;
  /** OpenAI: the organization is not verified, so requests for summaries of reasoning are rejected. */
  unverified?: boolean;
  /** Respond 429 with the provider's error object and rate limit headers. */
  rateLimited?: { retryAfter: number | string };
  /** After this many chunks, send the provider's error event and end the stream. */
  errorAfterChunks?: number;
  /** Realtime: close the WebSocket with this code, after this many responses of the model; default 0, after the first event. */
  closeWebSocket?: { code: number; reason?: string; afterResponses?: number };

  /** Respond as soon as the request headers are read and ignore the body. Ignored if a function returns it. */
  answerEarly?: boolean;
  /** Interim responses (100, 102, 103) sent before the final one. */
  informational?: number[];
  /** Wait before the first byte. */
  delayMs?: number;
  /** Send the status line, wait, then send the headers. */
  headerDelayMs?: number;
  /** Wait between chunks of the body. With 0, each chunk still gets its own write. */
  chunkDelayMs?: number;

  /** Close right after accepting. If set by a function or `x-fake`: read the request, then close without responding. */
  refuse?: boolean;
  /** Read the request, then close without sending a byte. */
  closeBeforeAnswer?: boolean;
  /** Close after this many bytes, counted from the start of the status line. */
  cutHeadAfterBytes?: number;
  /** Close after this many body bytes on the wire, chunk framing included. */
  cutAfterBytes?: number;
  /** Close after this many chunks (SSE events). */
  cutAfterChunks?: number;
  /** Turns every close above into a TCP reset. */
  reset?: boolean;
  /** Stop sending after this many chunks and keep the connection open. A JSON response is one chunk. */
  stallAfterChunks?: number;

  /** `true` is "size": a chunk size that is not a number; "overrun": more data than its size; "unfinished": no last chunk. */
  malformedChunk?: boolean | "size" | "overrun" | "unfinished";
  /** "longer" announces more bytes than are sent, then closes; "shorter" sends extra bytes and keeps the connection open. */
  wrongContentLength?: "longer" | "shorter";
  /** Send header fields until the peer disconnects or 1 GiB is sent. */
  endlessHeaders?: boolean;
  /** A control character inside a header value; `true` is "lf". */
  crlfInHeader?: boolean | "lf" | "cr" | "fold" | "nul";
  /** Send `Connection: close`, then close after the response. */
  closeConnection?: boolean;
  /** Neither Content-Length nor chunked encoding: closing the connection ends the body. */
  closeDelimited?: boolean;
}

export const FAKE_HEADER = "x-fake";

export class BadFakeHeader extends Error {}

/** Returns the behavior that a client requested in its `x-fake` header; throws if the value is not a JSON object. */
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
