// A connection of a client: hands its requests one after the other to the handler, and sends the responses.
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import { GatehouseError } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import type { Deadline } from "../coarse-deadlines.ts";
import { freeReceived } from "../free-memory.ts";
import { InvalidMessage } from "../invalid-message.ts";
import { SocketSender } from "../socket-sender.ts";
import type { ClientSocket } from "./client-socket.ts";
import type { ConnectionOwner } from "./connection-owner.ts";
import {
  FIRST_REQUEST_MS,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  LINGER_MS,
  STALL_MS,
} from "./connection-timeouts.ts";
import { HttpRequest, type RequestOwner } from "./http-request.ts";
import { OutgoingResponse } from "./outgoing-response.ts";
import type { RequestHead } from "./request-head.ts";
import { RequestReader, type RequestEvents } from "./request-reader.ts";
import { ResponseSender, type ResponseEnd, type ResponseOwner } from "./response-sender.ts";
import { SwitchedConnection, type ProtocolHandler, type SwitchedOwner } from "./switched-connection.ts";

/** Bytes after a request that are kept for the next one. With more, the connection is not read. */
const MAX_KEPT_BYTES = 64 * 1024;
/** The rest of a body that nothing reads: up to this size it is read and dropped, else the connection is closed. */
const MAX_DROPPED_BYTES = 64 * 1024;

const NO_BYTES = Buffer.alloc(0);
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/** `lingering`: the last response is sent or being sent, and what still arrives is dropped. */
type State = "open" | "lingering" | "switched" | "closed";

export class ClientConnection implements Deadline, RequestEvents, RequestOwner, ResponseOwner, SwitchedOwner {
  dueAt: number;
  setPosition = NOT_A_MEMBER;
  readonly #socket: ClientSocket;
  readonly #owner: ConnectionOwner;
  readonly #sender: SocketSender;
  readonly #reader: RequestReader;
  readonly #peerAddress: string;
  #state: State = "open";
  /** The request that is being served. */
  #request: HttpRequest | null = null;
  #response: ResponseSender | null = null;
  #switched: SwitchedConnection | null = null;
  #isPaused = false;
  /** No further request is read. */
  #isLast = false;
  #hadRequest = false;

  constructor(socket: ClientSocket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#sender = new SocketSender(socket);
    this.#reader = new RequestReader(this);
    this.#peerAddress = socket.remoteAddress;
    this.dueAt = this.#dueIn(HEADERS_TIMEOUT_MS);
    owner.deadlines.watch(this);
  }

  // Called by the socket handlers

  onData(bytes: Buffer): void {
    if (this.#state === "switched") this.#switched?.onData(bytes);
    else if (this.#state === "lingering") freeReceived(bytes);
    if (this.#state !== "open") return;
    const wasIdle = this.#reader.isIdle;
    this.#read("push", bytes);
    // Not later than before: empty lines, which are ignored, must not extend the time of a connection.
    if (wasIdle && this.#reader.hasPartOfHeaders)
      this.dueAt = Math.min(this.dueAt, this.#dueIn(HEADERS_TIMEOUT_MS));
  }

  onDrain(): void {
    if (!this.#sender.drain()) this.terminate();
    else if (this.#sender.hasUnsent) this.#waitForClient();
    else if (this.#state === "switched") this.#switched?.onDrained();
    else {
      if (this.#request !== null) this.dueAt = Infinity;
      this.#response?.onDrained();
    }
  }

  onClose(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#owner.deadlines.unwatch(this);
    this.#owner.onClosed(this);
    this.#switched?.onClosed();
    const [request, response] = [this.#request, this.#response];
    this.#request = this.#response = null;
    request?.onClosed();
    response?.cancel();
  }

  // Called by the server

  /** Closes the connection when its current request is finished. */
  closeWhenIdle(): void {
    this.#isLast = true;
    if (this.#request !== null || this.#state !== "open") return;
    // The request of a new connection is on its way. Load balancers do not repeat a POST that was sent to a closed connection.
    if (this.#reader.isIdle && !this.#hadRequest)
      this.dueAt = Math.min(this.dueAt, this.#dueIn(FIRST_REQUEST_MS));
    else if (this.#reader.isIdle) this.#end();
    else if (!this.#reader.isReadingHeaders) this.#linger();
  }

  terminate(): void {
    this.#socket.terminate();
    // Bun may call the close handler later, or not at all if the socket is closed already.
    this.onClose();
  }

  // Deadline

  expire(): void {
    this.dueAt = Infinity;
    if (this.#request !== null || this.#state === "switched") this.terminate();
    else if (this.#state === "lingering" || this.#reader.isIdle) this.#end();
    else this.#refuse(new GatehouseError("request_timeout", "The headers did not arrive in time."));
  }

  // RequestOwner

  resumeBody(sendsContinue: boolean): void {
    if (sendsContinue && this.#reader.missingBytes > 0) this.#sender.send(CONTINUE);
    if (this.#reader.keptBytes === 0 && !this.#isPaused) return;
    // Later: the caller does not have the body yet.
    queueMicrotask(() => {
      this.#resume();
      this.#read("resume");
    });
  }

  pauseBody(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  switchTo(handler: ProtocolHandler, head: string): boolean {
    if (this.#state !== "open") return false;
    this.#state = "switched";
    this.#request = null;
    this.dueAt = Infinity;
    const switched = new SwitchedConnection(this, this.#socket, this.#sender, handler);
    this.#switched = switched;
    if (!this.#sender.sendMessage(head, null)) return false;
    const kept = this.#reader.takeKept();
    this.#resume();
    handler.onOpen(switched);
    if (kept !== null) switched.onData(kept);
    return true;
  }

  // SwitchedOwner, ResponseOwner

  endSwitched(): void {
    this.#linger();
  }

  onResponseEnd(end: ResponseEnd): void {
    if (end === "wait") {
      this.#waitForClient();
      return;
    }
    this.#response = null;
    this.#request = null;
    if (end === "reset") this.terminate();
    // The server may have begun to stop after the headers were sent. After bytes that are no request, nothing else is read.
    else if (end === "close" || this.#isLast) this.#linger();
    else {
      this.dueAt = this.#dueIn(KEEP_ALIVE_MS);
      // Later: thousands of requests that arrived together must not keep the other connections waiting.
      if (this.#reader.keptBytes > 0) setImmediate(() => this.#next());
      else this.#next();
    }
  }
  // RequestEvents

  get takesBody(): boolean {
    return this.#request === null || this.#request.takesBody;
  }

  onRequest(head: RequestHead, body: Uint8Array | null): void {
    this.#hadRequest = true;
    this.#request = new HttpRequest(this, head, body, this.#peerAddress, this.#owner);
    this.dueAt = Infinity;
    try {
      this.#owner.handle(this.#request).then(this.#respond, this.#fail);
    } catch (error) {
      // Later: the reader is not done with this request.
      queueMicrotask(this.#fail.bind(null, error));
    }
  }

  onBody(bytes: Uint8Array): void {
    this.#request?.pushBody(bytes);
  }

  onBodyEnd(): void {
    this.#request?.endBody();
  }

  /** The step is no function, because one would be created for every request. */
  #read(step: "push" | "resume" | "next", bytes: Buffer = NO_BYTES): void {
    try {
      if (step === "push") this.#reader.push(bytes);
      else this.#reader[step]();
    } catch (error) {
      if (error instanceof GatehouseError) this.#refuse(error);
      else if (error instanceof InvalidMessage) this.#failBody(error);
      else throw error;
    }
    if (this.#reader.keptBytes > MAX_KEPT_BYTES && !this.#reader.isReadingHeaders) this.pauseBody();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** The bytes are not valid HTTP. If they are part of a body, its request fails. */
  #failBody({ message }: InvalidMessage): void {
    const error = new GatehouseError("bad_request", `The request is not valid HTTP: ${message}.`);
    this.#isLast = true;
    if (this.#request === null) this.#refuse(error);
    else this.#request.failBody(error);
  }

  /** Responds to bytes that are no request. */
  #refuse(error: GatehouseError): void {
    if (this.#state !== "open") return;
    // What follows must not be read as a request, even if the client is slow to take the response.
    this.#state = "lingering";
    this.#isLast = true;
    this.dueAt = this.#dueIn(LINGER_MS);
    this.#owner.onRefused(error);
    const sender = new ResponseSender(this.#sender, null, OutgoingResponse.error(error, newId()), true, this);
    this.#response = sender;
    if (!sender.start()) this.terminate();
  }

  readonly #fail = (error: unknown): void => this.#respond(this.#owner.onError(error));

  /** Created once per connection, not per request: it has one request at a time, and none after it was given up. */
  readonly #respond = (response: OutgoingResponse): void => {
    if (this.#state === "switched") return;
    const request = this.#request;
    if (request === null) {
      ResponseSender.discard(response);
      return;
    }
    const { missingBytes } = this.#reader;
    // A client that waits for 100 Continue may send its next request instead of the body.
    if (missingBytes > MAX_DROPPED_BYTES || (missingBytes > 0 && request.awaitsContinue)) this.#isLast = true;
    const isLast = this.#isLast || this.#owner.isStopping || !request.isKeepAlive;
    const sender = new ResponseSender(this.#sender, request, response, isLast, this);
    this.#response = sender;
    if (!sender.start()) this.terminate();
    else if (this.#sender.hasUnsent) this.#waitForClient();
  };

  #next(): void {
    if (this.#state !== "open") return;
    this.#resume();
    this.#read("next");
    if (this.#reader.hasPartOfHeaders) this.dueAt = this.#dueIn(HEADERS_TIMEOUT_MS);
  }

  /** Closes the connection. Bytes that are not read would make the kernel reset it, and the client would lose the response. */
  #linger(): void {
    if (this.#state === "closed") return;
    this.#state = "lingering";
    this.#response = null;
    this.#reader.takeKept();
    this.#resume();
    this.dueAt = this.#dueIn(LINGER_MS);
    this.#socket.shutdown();
  }

  #end(): void {
    this.#socket.end();
    this.onClose();
  }

  #waitForClient(): void {
    if (this.#state === "open") this.dueAt = this.#dueIn(STALL_MS);
  }

  #dueIn(milliseconds: number): number {
    return this.#owner.deadlines.clock.now() + milliseconds;
  }
}
