// A request that a ClientConnection has read. Its body may still be arriving.
import type { GatehouseError } from "../../base/errors.ts";
import type { HeaderFields } from "../header-fields.ts";
import { ForwardedBody, type BodySource } from "../forwarded-body.ts";
import { IncomingBody, type BodyLimits } from "../incoming-body.ts";
import type { ClientRequest, DisconnectListener, ListenerAddress } from "./client-request.ts";
import type { RequestHead } from "./request-head.ts";
import type { ProtocolHandler } from "./switched-connection.ts";

/** The connection of a request. */
export interface RequestOwner {
  /** The request wants its body now. `sendsContinue`: the client waits for permission to send it. */
  resumeBody(sendsContinue: boolean): void;
  /** The request wants no further bytes until `resumeBody`. */
  pauseBody(): void;
  /** See ClientRequest. */
  switchTo(handler: ProtocolHandler, head: string): boolean;
}

export class HttpRequest implements ClientRequest, BodySource {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderFields;
  readonly peerAddress: string;
  readonly listener: ListenerAddress;
  readonly isHttp10: boolean;
  readonly isKeepAlive: boolean;
  isDisconnected = false;
  disconnectListener: DisconnectListener | null = null;
  readonly #owner: RequestOwner;
  /** The declared length of the body; null if it is unknown. */
  readonly #length: number | null;
  /** The whole body, if it arrived together with the headers. */
  #whole: Uint8Array | null;
  #body: IncomingBody | ForwardedBody | null = null;
  /** The client has permission to send the body. */
  #isContinued = false;
  #error: GatehouseError | null = null;

  constructor(
    owner: RequestOwner,
    { method, target, headers, isHttp10, isKeepAlive, framing }: RequestHead,
    whole: Uint8Array | null,
    peerAddress: string,
    listener: ListenerAddress,
  ) {
    this.#owner = owner;
    this.method = method;
    this.target = target;
    this.headers = headers;
    this.isHttp10 = isHttp10;
    this.isKeepAlive = isKeepAlive;
    this.peerAddress = peerAddress;
    this.listener = listener;
    this.#length = framing === "chunked" ? null : framing;
    this.#whole = whole;
  }

  readBody(limits: BodyLimits): IncomingBody | null {
    if (this.#length === 0) return null;
    const whole = this.#whole;
    this.#whole = null;
    if (whole !== null) return IncomingBody.complete(whole, limits);
    const body = new IncomingBody(this.#length, limits);
    this.#body = body;
    if (this.#error !== null) body.fail(this.#error);
    this.#owner.resumeBody(this.#expectsContinue);
    return body;
  }

  get arrivingLength(): number {
    return this.#whole === null ? (this.#length ?? 0) : 0;
  }

  forwardBody(limits: BodyLimits): ForwardedBody {
    return new ForwardedBody(this.arrivingLength, limits, this);
  }

  switchTo(handler: ProtocolHandler, head: string): boolean {
    return this.#owner.switchTo(handler, head);
  }

  // BodySource

  startBody(body: ForwardedBody): void {
    const sendsContinue = this.awaitsContinue;
    this.#isContinued = true;
    this.#body = body;
    this.#owner.resumeBody(sendsContinue);
  }

  stopBody(): void {
    this.#body = null;
  }

  pauseBody(): void {
    this.#owner.pauseBody();
  }

  resumeBody(): void {
    this.#owner.resumeBody(false);
  }

  // Called by the connection

  /** Whether bytes of the body are read now. Before the request is handled, it is not known how many are allowed. */
  get takesBody(): boolean {
    return this.#body !== null;
  }

  /** Whether the client still waits for permission to send the body. */
  get awaitsContinue(): boolean {
    return this.#body === null && !this.#isContinued && this.#expectsContinue;
  }

  /** RFC 9110, section 10.1.1: the expectation of an HTTP/1.0 client is ignored. */
  get #expectsContinue(): boolean {
    return !this.isHttp10 && this.headers.get("expect")?.toLowerCase() === "100-continue";
  }

  pushBody(bytes: Uint8Array): void {
    this.#body?.push(bytes);
  }

  endBody(): void {
    this.#body?.end();
  }

  failBody(error: GatehouseError): void {
    this.#error = error;
    this.#body?.fail(error);
  }

  onClosed(): void {
    this.isDisconnected = true;
    this.disconnectListener?.onDisconnect();
    this.#body?.fail(new Error("the client disconnected"));
  }
}
