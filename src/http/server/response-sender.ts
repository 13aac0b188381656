// Sends one response over a client's connection.
import { LineWriter } from "../line-writer.ts";
import type { SocketSender } from "../socket-sender.ts";
import { REASON_PHRASES } from "./reason-phrases.ts";
import { httpDate } from "./http-date.ts";
import type { HttpRequest } from "./http-request.ts";
import {
  isStreamed,
  type BodyWriter,
  type OutgoingResponse,
  type StreamedBody,
} from "./outgoing-response.ts";

/** What happens to the connection after the response. `wait`: the response is complete, but the client has not taken all of it yet. */
export type ResponseEnd = "wait" | "keep" | "close" | "reset";

export interface ResponseOwner {
  /** Called when the last byte of the response was handed to the kernel, and before with `wait` if the client is slow. */
  onResponseEnd(end: ResponseEnd): void;
}

/** RFC 9110, sections 6.4.1 and 8.6: these have neither a body nor a Content-Length. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Headers are written synchronously, so that all responses share a writer. */
const headWriter = new LineWriter();
const statusLines: (string | undefined)[] = [];

export class ResponseSender implements BodyWriter {
  readonly #sender: SocketSender;
  readonly #response: OutgoingResponse;
  readonly #isHead: boolean;
  readonly #isHttp10: boolean;
  readonly #owner: ResponseOwner;
  #keepsConnection: boolean;
  /** The header section of a streamed response, until it is sent together with the first piece of the body. */
  #pendingHead: string | null = null;
  /** Not null while the streamed body waits for the client. */
  #waiter: PromiseWithResolvers<undefined> | null = null;
  #isComplete = false;
  #isCanceled = false;

  /** `request` is null for a request that could not be read. */
  constructor(
    sender: SocketSender,
    request: HttpRequest | null,
    response: OutgoingResponse,
    isLast: boolean,
    owner: ResponseOwner,
  ) {
    this.#sender = sender;
    this.#response = response;
    this.#isHead = request?.method === "HEAD";
    this.#isHttp10 = request?.isHttp10 === true;
    this.#keepsConnection = !isLast;
    this.#owner = owner;
  }

  /** For a response that no client receives. */
  static discard({ body }: OutgoingResponse): void {
    if (isStreamed(body)) body.cancel();
  }

  /** Returns false if the socket is closed. */
  start(): boolean {
    const { body, status } = this.#response;
    const isBodySent = !this.#isHead && !hasNoBody(status);
    if (isStreamed(body) && isBodySent) {
      this.#startStream(body);
      return true;
    }
    if (isStreamed(body)) body.cancel();
    // RFC 9110, section 8.6: the response to HEAD has the length that GET would have, which is unknown without a body, or none.
    const isUnknown = isStreamed(body) || hasNoBody(status) || (this.#isHead && body === null);
    const length = isUnknown ? null : (body?.byteLength ?? 0);
    const bytes = isBodySent && !isStreamed(body) ? body : null;
    if (!this.#sendWhole(length, bytes)) return false;
    this.#complete();
    return true;
  }

  /** The client has taken what waited for it. */
  onDrained(): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.resolve(undefined);
    if (this.#isComplete) this.#end();
  }

  /** The client has disconnected. */
  cancel(): void {
    if (this.#isCanceled) return;
    this.#isCanceled = true;
    const waiter = this.#waiter;
    this.#waiter = null;
    if (isStreamed(this.#response.body)) this.#response.body.cancel();
    waiter?.reject(new Error("the client disconnected"));
  }

  // BodyWriter

  write(bytes: Uint8Array): Promise<void> | null {
    if (this.#isCanceled || bytes.byteLength === 0) return null;
    const head = this.#pendingHead ?? "";
    this.#pendingHead = null;
    const isSent = this.#isHttp10
      ? this.#sender.sendMessage(head, bytes)
      : this.#sender.sendChunk(head, bytes);
    if (!isSent) {
      this.cancel();
      return Promise.reject(new Error("the client disconnected"));
    }
    if (!this.#sender.hasUnsent) return null;
    return (this.#waiter ??= Promise.withResolvers<undefined>()).promise;
  }

  #sendWhole(length: number | null, bytes: Uint8Array | null): boolean {
    this.#writeHead(headWriter, length, false);
    return this.#sender.sendWritten(headWriter, bytes);
  }

  #startStream(body: StreamedBody): void {
    if (this.#isHttp10) this.#keepsConnection = false;
    this.#pendingHead = this.#head(!this.#isHttp10);
    // The first piece is usually there already, and one system call then sends both.
    setImmediate(() => this.#sendHead());
    body.writeTo(this).then(
      () => this.#endStream(),
      () => {
        if (this.#isCanceled) return;
        this.#isCanceled = true;
        this.#owner.onResponseEnd("reset");
      },
    );
  }

  #sendHead(): void {
    const head = this.#pendingHead;
    this.#pendingHead = null;
    if (head !== null && !this.#isCanceled) this.#sender.sendMessage(head, null);
  }

  #endStream(): void {
    if (this.#isCanceled) return;
    this.#sendHead();
    if (!this.#isHttp10) this.#sender.send(LAST_CHUNK);
    this.#complete();
  }

  #complete(): void {
    this.#isComplete = true;
    if (this.#sender.hasUnsent) this.#owner.onResponseEnd("wait");
    else this.#end();
  }

  #end(): void {
    this.#owner.onResponseEnd(this.#keepsConnection ? "keep" : "close");
  }

  /** The header section of a streamed response. */
  #head(isChunked: boolean): string {
    this.#writeHead(headWriter, null, isChunked);
    return headWriter.finish();
  }

  /** Writes the first line, the header fields, and the empty line. */
  #writeHead(writer: LineWriter, length: number | null, isChunked: boolean): void {
    const { status, headers } = this.#response;
    // A plugin may have set them. Only the length of a body that is not sent may be another one.
    if (headers.has("transfer-encoding")) headers.delete("transfer-encoding");
    if (!this.#isHead && headers.has("content-length")) headers.delete("content-length");
    const connection = headers.get("connection");
    if (connection !== null && connection.toLowerCase().includes("close")) this.#keepsConnection = false;
    const hasDate = headers.has("date");
    const needsLength = length !== null && !isChunked && !headers.has("content-length");
    writer.begin();
    writer.text((statusLines[status] ??= `HTTP/1.1 ${status} ${REASON_PHRASES[status] ?? ""}\r\n`));
    headers.writeTo(writer);
    if (isChunked) writer.text("Transfer-Encoding: chunked\r\n");
    if (needsLength) {
      writer.text("Content-Length: ");
      writer.number(length);
      writer.lineEnd();
    }
    if (connection === null && !this.#keepsConnection) writer.text("Connection: close\r\n");
    else if (connection === null && this.#isHttp10) writer.text("Connection: keep-alive\r\n");
    if (!hasDate) writer.text(httpDate());
    writer.lineEnd();
  }
}
