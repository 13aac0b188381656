// What the fake provider remembers of each request, in a log bounded by number and by bytes.
import type { HeaderPair } from "./behavior.ts";
import type { RequestHead } from "./http-parser.ts";

export interface RecordedRequest {
  readonly method: string;
  /** The raw request target, query included. */
  readonly target: string;
  /** Raw, in order, in their original case. */
  readonly headers: HeaderPair[];
  /** The first header of that name, whatever its case. */
  header(name: string): string | undefined;
  /** Empty until the whole body has arrived. */
  readonly body: Uint8Array;
  json(): unknown;
  /** Serial of the request since the provider was started or reset, from 1. */
  readonly serial: number;
  /** Serial of the TCP connection, from 1. */
  readonly connection: number;
  /** The peer closed before the answer was complete, while uploading included. */
  readonly aborted: boolean;
  /** All times are `performance.now()` milliseconds. */
  readonly abortedAt: number | null;
  readonly startedAt: number;
  /** The answer was written to its intended end. Stays false when the fake itself cut or stalled it. */
  readonly finished: boolean;
  /** Bytes of the answer the kernel has taken: shows whether a reader's backpressure reached here. */
  readonly bytesSent: number;
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
  /** Body bytes the log holds this request for; null when it is not, or no longer, in the log. */
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

export class RequestLog {
  /** One array for the life of the provider, so that a test may hold on to it. */
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

  /** Called once the body is there; old requests go until the bodies fit, the newest always stays. */
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
