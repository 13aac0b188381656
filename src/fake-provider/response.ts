// The response of the fake provider before it is written to the socket, and the functions that create one.
import type { HeaderPair } from "./behavior.ts";

export interface FakeResponse {
  status: number;
  headers: HeaderPair[];
  body: WholeBody | StreamBody;
  /** With status 101: what happens on the connection after the response. */
  webSocket?: WebSocketSession;
}

/** The messages of one WebSocket. They are generated while they are sent. */
export interface WebSocketSession {
  /** Number of responses of the model that were sent completely. */
  readonly finishedResponses: number;
  /** Returns the first messages of the server. */
  open(): Iterable<string>;
  /** Returns the messages that reply to a message of the client. */
  receive(text: string): Iterable<string>;
  /** Returns a message that reports an error of the server. */
  error(): string;
}

interface WholeBody {
  kind: "whole";
  bytes: Uint8Array;
}

/** Pieces are generated while they are sent, so that a stream of gigabytes needs the memory of one chunk. */
export interface StreamBody {
  kind: "stream";
  pieces: Iterable<Uint8Array>;
}

export function jsonResponse(status: number, value: unknown, headers: HeaderPair[] = []): FakeResponse {
  return {
    status,
    headers: [["Content-Type", "application/json"], ...headers],
    body: { kind: "whole", bytes: Buffer.from(JSON.stringify(value)) },
  };
}

export function streamResponse(pieces: Iterable<Uint8Array>, headers: HeaderPair[] = []): FakeResponse {
  return {
    status: 200,
    headers: [
      ["Content-Type", "text/event-stream; charset=utf-8"],
      ["Cache-Control", "no-cache"],
      ...headers,
    ],
    body: { kind: "stream", pieces },
  };
}

export function sseEvent(data: unknown, eventName?: string): Uint8Array {
  const name = eventName === undefined ? "" : `event: ${eventName}\n`;
  return Buffer.from(`${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
}

/** Renders each piece of text. A piece equal to the previous one is not rendered again, which keeps big streams cheap. */
export function* renderPieces(
  pieces: Iterable<string>,
  render: (piece: string) => Uint8Array,
): Generator<Uint8Array> {
  let previous: string | null = null;
  let rendered: Uint8Array = new Uint8Array(0);
  for (const piece of pieces) {
    if (piece !== previous) rendered = render(piece);
    previous = piece;
    yield rendered;
  }
}

export function* slices(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
