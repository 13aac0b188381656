// The requests that the fake provider has received, in a log bounded by count and by body bytes.
import type { HeaderPair } from "./behavior.ts";
import type { RequestHead } from "./http-parser.ts";

export interface RecordedRequest {
  readonly method: string;
  /** The raw request target, query included. */
  readonly target: string;
  /** As received: in order and in their original case. */
  readonly headers: HeaderPair[];
  /** Returns the first header of that name, ignoring case. */
  header(name: string): string | undefined;
  /** Empty until the whole body has arrived. */
  readonly body: Uint8Array;
  json(): unknown;
  /** Number of the request since the provider was started or reset, from 1. */
  readonly serial: number;
  /** Number of the TCP connection, from 1. */
  readonly connection: number;
  /** The peer closed before the response was complete, including while it uploaded the body. */
  readonly aborted: boolean;
  /** All times are `performance.now()` milliseconds. */
  readonly abortedAt: number | null;
  readonly startedAt: number;
  /** The response was written completely. Stays false if the fake provider itself cut or stalled it. */
  readonly finished: boolean;
  /** Response bytes that the kernel has accepted: shows whether backpressure from the reader arrived here. */
  readonly bytesSent: number;
  /** Set once the request was upgraded: the texts that the client sent, and the code of its close frame. */
  readonly webSocket: { readonly messages: readonly string[]; readonly closeCode: number | null } | null;
}

const EMPTY = new Uint8Array(0);

export class ReceivedRequest implements RecordedRequest {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: HeaderPair[];
  readonly startedAt = performance.now();
  body: Uint8Array = EMPTY;
  aborted = false;
  abortedAt: number | null = null;
  finished = false;
  bytesSent = 0;
  webSocket: { messages: string[]; closeCode: number | null } | null = null;
  /** Body bytes counted for this request in the log; null if the request is not, or no longer, in the log. */
  loggedBytes: number | null = null;

  constructor(
    head: RequestHead,
    readonly serial: number,
    readonly connection: number,
  ) {
    this.method = head.method;
    this.target = head.target;
    this.version = head.version;
    this.headers = head.headers;
  }

  header(name: string): string | undefined {
    const wanted = name.toLowerCase();
    for (const [given, value] of this.headers) {
      if (given.length === wanted.length && given.toLowerCase() === wanted) return value;
    }
    return undefined;
  }

  /** The target without its query. */
  get path(): string {
    const query = this.target.indexOf("?");
    return query === -1 ? this.target : this.target.slice(0, query);
  }

  json(): unknown {
    return JSON.parse(Buffer.from(this.body.buffer, this.body.byteOffset, this.body.byteLength).toString());
  }

  abort(): void {
    this.aborted = true;
    this.abortedAt = performance.now();
  }
}

export function asksForWebSocket(request: ReceivedRequest): boolean {
  return request.method === "GET" && request.header("upgrade")?.toLowerCase() === "websocket";
}

export class RequestLog {
  /** The same array for the lifetime of the provider, so that a test may keep a reference to it. */
  readonly entries: ReceivedRequest[] = [];
  count = 0;
  #bodyBytes = 0;

  constructor(
    private readonly maxEntries: number,
    private readonly maxBodyBytes: number,
  ) {}

  add(request: ReceivedRequest): void {
    request.loggedBytes = 0;
    this.entries.push(request);
    if (this.entries.length > this.maxEntries) this.#forgetOldest();
  }

  /** Counts a complete body and drops the oldest requests until the bodies fit. The newest request always stays. */
  recordBodySize(request: ReceivedRequest): void {
    if (request.loggedBytes === null) return;
    request.loggedBytes = request.body.length;
    this.#bodyBytes += request.body.length;
    while (this.#bodyBytes > this.maxBodyBytes && this.entries.length > 1) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const oldest = this.entries.shift();
    if (oldest === undefined) return;
    this.#bodyBytes -= oldest.loggedBytes ?? 0;
    oldest.loggedBytes = null;
  }

  clear(): void {
    for (const request of this.entries) request.loggedBytes = null;
    this.entries.length = 0;
    this.count = 0;
    this.#bodyBytes = 0;
  }
}
