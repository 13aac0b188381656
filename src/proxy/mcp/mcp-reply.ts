// The response to a request of an MCP client: JSON if the result is all there is to send, else an event stream, which begins
// with the first message before the result, or after some seconds of silence.
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import { isPromise } from "../../base/value-or-promise.ts";
import type { Clock, ClockTimer } from "../../base/clock.ts";
import type { CoarseDeadlines, Deadline } from "../../http/coarse-deadlines.ts";
import type { BodyWriter, StreamedBody } from "../../http/server/outgoing-response.ts";
import type { MessageText } from "../../mcp/json-rpc.ts";
import { formatEvent } from "../../mcp/format-event.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import { PERMISSION_CHECK_MS } from "../client-permission.ts";
import { KeepAliveComments } from "../keep-alive-comments.ts";

/** Proxies close connections on which nothing is sent. */
const SILENCE_MS = 15_000;

const OPEN = Buffer.from(": open\n\n");

interface ReplyOptions {
  readonly offLoop: OffLoop;
  /** The gateway, which shares worker threads with others. */
  readonly tenant: string;
  readonly clock: Clock;
  readonly deadlines: CoarseDeadlines;
  /** Called when an event stream begins, at most once. */
  readonly onStream: () => void;
  readonly onDisconnect: () => void;
  /** Called repeatedly while an event stream is open. It may end the stream. */
  readonly onCheck: () => void;
}

export class McpReply implements StreamedBody, Deadline {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  readonly #options: ReplyOptions;
  readonly #queue: Uint8Array[] = [];
  readonly #silence: ClockTimer | null;
  #comments: KeepAliveComments | null = null;
  #client: BodyWriter | null = null;
  #isStream = false;
  #hasEnded = false;
  #ended = Promise.withResolvers<undefined>();
  /** Resolves when the client has taken what was written before it was ready. */
  #ready = Promise.withResolvers<undefined>();

  constructor(options: ReplyOptions) {
    this.#options = options;
    this.#ready.promise.catch(() => undefined);
    this.#ended.promise.catch(() => undefined);
    this.#silence = options.clock.setTimeout(() => this.begin(), SILENCE_MS);
    this.#silence.unref();
  }

  get isStream(): boolean {
    return this.#isStream;
  }

  begin(): void {
    if (this.#isStream || this.#hasEnded) return;
    this.#isStream = true;
    this.#silence?.close();
    this.#options.onStream();
  }

  /** Sends an event. The promise resolves when the client can take more; it rejects if the client disconnects. */
  send(text: MessageText, eventId: string | null, retry: number | null): Promise<void> | void {
    if (this.#hasEnded) return undefined;
    this.begin();
    const event = formatEvent({ data: text, id: eventId, retry }, this.#options);
    return isPromise(event) ? event.then((bytes) => this.#send(bytes)) : this.#send(event);
  }

  #send(event: Uint8Array): Promise<void> | void {
    if (this.#hasEnded) return undefined;
    if (this.#client === null) {
      this.#queue.push(event);
      return this.#ready.promise;
    }
    return this.#write(this.#client, event);
  }

  /** No event stream has begun, and none will: messages that are sent after this are dropped. */
  close(): void {
    this.#silence?.close();
    this.#hasEnded = true;
  }

  /** Ends an event stream. */
  end(): void {
    this.#silence?.close();
    this.#hasEnded = true;
    this.#ended.resolve(undefined);
  }

  async writeTo(client: BodyWriter): Promise<void> {
    const { deadlines, clock } = this.#options;
    this.#comments = new KeepAliveComments(client, deadlines);
    this.dueAt = clock.now() + PERMISSION_CHECK_MS;
    deadlines.watch(this);
    try {
      // Sends the headers at once.
      if (this.#queue.length === 0) await this.#write(client, OPEN);
      for (const event of this.#queue.splice(0)) await this.#write(client, event);
      this.#client = client;
      this.#ready.resolve(undefined);
      await this.#ended.promise;
    } catch (error) {
      this.#ready.reject(error);
      throw error;
    } finally {
      this.#comments.stop();
      deadlines.unwatch(this);
    }
  }

  /** The client has disconnected. */
  cancel(): void {
    this.#ready.reject(new Error("the client has disconnected"));
    this.end();
    this.#options.onDisconnect();
  }

  expire(): void {
    const { onCheck, clock } = this.#options;
    this.dueAt = clock.now() + PERMISSION_CHECK_MS;
    onCheck();
  }

  #write(client: BodyWriter, bytes: Uint8Array): Promise<void> | void {
    this.#comments?.written(bytes);
    return client.write(bytes) ?? undefined;
  }
}
