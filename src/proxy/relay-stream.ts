// Relays a response body to the client as it arrives and at the client's pace: unchanged, translated to another format, or
// passed through plugins.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import type { CoarseDeadlines, Deadline } from "../http/coarse-deadlines.ts";
import type { FirstContent } from "../formats/first-content.ts";
import type { StreamTranslation } from "../formats/stream-translation.ts";
import type { BodyCapture } from "../telemetry/requests/body-capture.ts";
import type { BodyReader } from "../http/body-reader.ts";
import type { DisconnectListener } from "../http/server/client-request.ts";
import type { BodyWriter, StreamedBody } from "../http/server/outgoing-response.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { UsageTap } from "../usage/usage-tap.ts";
import { HoldDeadline } from "./texts/hold-deadline.ts";
import { KeepAliveComments } from "./keep-alive-comments.ts";
import type { ResponseObserver } from "./pre-response-plugins.ts";
import type { Recording } from "./reuse/recording.ts";
import type { IdSplicer } from "./stored-ids/response-ids.ts";
import { RejectedText } from "./texts/text-rejection.ts";

/**
 * A client that reads nothing for this long is disconnected. Nothing else detects such a client, and the connection to the
 * provider would stay open forever.
 */
const STALL_TIMEOUT_MS = 300_000;
/** A connection reset discards bytes that the client has not read yet, so the relay waits before it resets. */
const RESET_DELAY_MS = 25;
const NO_BYTES = new Uint8Array(0);
/** For a response that is received only for others. */
const NO_CLIENT: BodyWriter = { write: () => null };

/** What the bytes pass through, in this order; null for a stage that is not needed. */
export interface StreamStages {
  readonly tap: UsageTap | null;
  readonly translation: StreamTranslation | null;
  readonly recording: Pick<Recording, "push" | "runsAhead" | "continuesFor"> | null;
  readonly ids: IdSplicer | null;
  readonly plugins: PluginStage | null;
  /** Gets a copy of what is sent if no plugin changes it: with plugins, they pass it on. */
  readonly shadow: Pick<ResponseObserver, "push"> | null;
  readonly bodies: BodyCapture | null;
  /** Captures the bytes before the plugins restore values that must not be logged. */
  readonly hidesBodies: boolean;
  readonly firstContent: FirstContent | null;
}

interface PluginStage {
  /** Resolves to the bytes that go to the client. The last call of a stream has no new bytes. */
  run(chunk: Uint8Array, isLast: boolean): Promise<Uint8Array>;
  /** The time of the clock at which `expire` should be called; Infinity if nothing is held back. */
  readonly dueAt: number;
  /** Resolves to the bytes that were held back for too long. */
  expire(): Promise<Uint8Array>;
  /** Resolves to the last bytes of a body that was cut. */
  abort(chunk: Uint8Array): Promise<Uint8Array>;
}

/** The response of a provider to a request. */
interface SentStream {
  readonly exchange: DisconnectListener & { readonly drained: string | null };
  readonly response: { hasWaitedForClient: boolean };
}

/** `isCutByPlugin`: an incomplete response was ended by a plugin, not by the target. */
type EndListener = (outcome: Outcome, isCutByPlugin: boolean) => void;

/** The body of one response. */
export class StreamRelay implements StreamedBody, Deadline {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  readonly #reader: BodyReader;
  readonly #stages: StreamStages;
  readonly #onEnd: EndListener;
  readonly #deadlines: CoarseDeadlines;
  /** Null if no provider sends the response now. */
  readonly #sent: SentStream | null;
  #hasEnded = false;
  #hasPluginFailed = false;
  #isStarted = false;
  /** The client has disconnected, and the response is received for others or for its usage. */
  #isDetached = false;
  /** Rejects the wait for the client to read; null while the relay does not wait. */
  #stopWaiting: (() => void) | null = null;
  /** Null unless the stream is translated. */
  #comments: KeepAliveComments | null = null;
  /** Null unless plugins hold back text. */
  #holds: HoldDeadline | null = null;

  constructor(
    reader: BodyReader,
    stages: StreamStages,
    onEnd: EndListener,
    deadlines: CoarseDeadlines,
    sent: SentStream | null = null,
  ) {
    this.#sent = sent;
    this.#reader = reader;
    this.#stages = stages;
    this.#onEnd = onEnd;
    this.#deadlines = deadlines;
  }

  async writeTo(client: BodyWriter): Promise<void> {
    this.#isStarted = true;
    if (this.#stages.translation !== null && !this.#hasEnded && !this.#isDetached)
      this.#comments = new KeepAliveComments(client, this.#deadlines);
    const { plugins } = this.#stages;
    if (plugins !== null)
      this.#holds = new HoldDeadline(plugins, this.#deadlines, (bytes) => this.#writeHeld(client, bytes));
    try {
      for (let chunk = await this.#reader.next(); chunk !== null; chunk = await this.#reader.next()) {
        const processed = this.#process(chunk);
        const written = this.#write(client, isPromise(processed) ? await processed : processed);
        this.#holds?.update();
        if (written !== null) await written;
      }
      const holdError = this.#holds?.error ?? null;
      if (holdError !== null) throw holdError;
      await this.#finish(client);
    } catch (error) {
      if (this.#holds !== null && this.#holds.error !== null) this.#hasPluginFailed = true;
      await this.#abort(client, this.#holds?.error ?? error);
      throw error;
    }
  }

  cancel(): void {
    if (this.#hasEnded || this.#isDetached) return;
    if (this.#stages.recording?.continuesFor(() => this.#leave()) === true) this.#detach();
    else this.#leave();
  }

  /** The exchange decides if the provider is read on. A write may fail before the connection has closed. */
  #leave(): void {
    const exchange = this.#sent?.exchange ?? null;
    exchange?.onDisconnect();
    if (exchange === null || exchange.drained === null) this.#cancel();
    else if (!this.#isDetached) this.#detach();
  }

  #detach(): void {
    this.#isDetached = true;
    this.#comments?.stop();
    this.#stopWaiting?.();
    // Nothing else reads the response if it has not been handed to a client.
    if (!this.#isStarted) void this.writeTo(NO_CLIENT).catch(() => undefined);
  }

  #cancel(): void {
    this.#reader.cancel();
    this.#end("client_left");
    this.#stopWaiting?.();
  }

  /** Called when the client has read nothing for the stall timeout. */
  expire(): void {
    this.cancel();
  }

  /** Returns the bytes to write for a chunk. Only plugins and encoded streams need a promise. */
  #process(chunk: Uint8Array): ValueOrPromise<Uint8Array> {
    const { tap } = this.#stages;
    const tapped = tap === null ? chunk : tap.push(chunk);
    return isPromise(tapped)
      ? tapped.then((bytes) => this.#translateAndRun(bytes))
      : this.#translateAndRun(tapped);
  }

  #translateAndRun(bytes: Uint8Array): ValueOrPromise<Uint8Array> {
    const { translation, recording, ids, plugins } = this.#stages;
    const translated = translation === null || bytes.byteLength === 0 ? bytes : translation.push(bytes);
    if (translated === null || translated.byteLength === 0) return NO_BYTES;
    recording?.push(translated);
    if (this.#isDetached) return NO_BYTES;
    const spliced = ids === null ? translated : ids.push(translated);
    if (this.#stages.hidesBodies) this.#stages.bodies?.takeResponse(spliced);
    return plugins === null || spliced.byteLength === 0 ? spliced : this.#runPlugins(plugins, spliced, false);
  }

  async #runPlugins(plugins: PluginStage, bytes: Uint8Array, isLast: boolean): Promise<Uint8Array> {
    try {
      return await plugins.run(bytes, isLast);
    } catch (error) {
      this.#hasPluginFailed = true;
      throw error;
    }
  }

  /** Returns null if the client can take more; otherwise wait for the promise before reading more. */
  #write(client: BodyWriter, bytes: Uint8Array): Promise<void> | null {
    if (bytes.byteLength === 0 || this.#isDetached) return null;
    this.#record(bytes);
    const written = client.write(bytes);
    if (written === null) return null;
    if (this.#stages.recording?.runsAhead !== true) return this.#waitForClient(written);
    // A slow client must not slow down the others. The recording is bounded.
    written.catch(() => undefined);
    return null;
  }

  /** Passes on the bytes that the client gets. */
  #record(bytes: Uint8Array): void {
    const { bodies, hidesBodies, firstContent, shadow } = this.#stages;
    if (!hidesBodies) bodies?.takeResponse(bytes);
    if (shadow !== null) shadow.push(null, bytes, false);
    if (firstContent !== null && firstContent.isSearching) firstContent.push(bytes);
    this.#comments?.written(bytes);
  }

  #waitForClient(written: Promise<void>): Promise<void> {
    if (this.#sent !== null) this.#sent.response.hasWaitedForClient = true;
    const waiting = Promise.withResolvers<undefined>();
    this.#stopWaiting = () => {
      if (this.#isDetached) waiting.resolve(undefined);
      else waiting.reject(new Error("the client disconnected"));
    };
    this.dueAt = this.#deadlines.clock.now() + STALL_TIMEOUT_MS;
    this.#deadlines.watch(this);
    const end = () => {
      this.#deadlines.unwatch(this);
      this.#stopWaiting = null;
    };
    written.then(() => waiting.resolve(undefined), this.#stopWaiting);
    return waiting.promise.finally(end);
  }

  /** Writes what the tap held back at the end of the body, then what the plugins held back. */
  async #finish(client: BodyWriter): Promise<void> {
    const { tap, translation, recording, ids } = this.#stages;
    const plugins = this.#isDetached ? null : this.#stages.plugins;
    const ending = translation?.ending() ?? "complete";
    if (ending === "truncated") throw new Error("the stream ended before its last event");
    const lastEvents = translation?.takeRest() ?? NO_BYTES;
    recording?.push(lastEvents);
    if (lastEvents.byteLength > 0)
      await this.#write(
        client,
        plugins === null ? lastEvents : await this.#runPlugins(plugins, lastEvents, false),
      );
    const held = tap === null ? NO_BYTES : await tap.end();
    recording?.push(held);
    const rest = ids === null ? held : Buffer.concat([ids.push(held), ids.end()]);
    await this.#write(
      client,
      plugins === null || rest.byteLength === 0 ? rest : await this.#runPlugins(plugins, rest, false),
    );
    if (plugins !== null) await this.#write(client, await this.#runPlugins(plugins, NO_BYTES, true));
    this.#stages.shadow?.push(null, NO_BYTES, true);
    // A provider may end a stream with an error event. The client has received it, but the response is not complete.
    this.#end(ending === "error" ? "incomplete" : "complete");
    if (this.#isDetached) throw new Error("the client disconnected");
  }

  /** Writes what the tap holds back of a body that was cut. */
  async #abort(client: BodyWriter, error: unknown): Promise<void> {
    if (this.#hasEnded) return;
    this.#reader.cancel();
    const { tap, plugins } = this.#stages;
    const held = tap?.abort() ?? NO_BYTES;
    this.#end("incomplete");
    let last = held;
    if (error instanceof RejectedText) last = error.lastBytes;
    // The client gets the received part of a cut event, unless a plugin fails on it.
    else if (plugins !== null) last = await plugins.abort(held).catch(lastBytesOf);
    this.#write(client, last)?.catch(() => undefined);
    await Bun.sleep(RESET_DELAY_MS);
  }

  /** Writes what plugins held back for too long. */
  #writeHeld(client: BodyWriter, bytes: Uint8Array | null): void {
    if (this.#hasEnded || bytes?.byteLength === 0) return;
    // The next read ends, and the stream ends with the error of the plugin.
    if (bytes === null) this.#reader.cancel();
    else {
      this.#record(bytes);
      client.write(bytes)?.catch(() => undefined);
    }
  }

  #end(outcome: Outcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#comments?.stop();
    this.#holds?.stop();
    this.#onEnd(outcome, this.#hasPluginFailed);
  }
}

/** A plugin that rejects the rest of a stream may have last bytes for the client. */
function lastBytesOf(error: unknown): Uint8Array {
  return error instanceof RejectedText ? error.lastBytes : NO_BYTES;
}
