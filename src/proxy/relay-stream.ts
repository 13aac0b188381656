// Relays a response body to the client as it arrives and at the client's pace: unchanged, translated to another format, or
// passed through plugins.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import type { CoarseDeadlines, Deadline } from "../http/coarse-deadlines.ts";
import type { FirstContent } from "../formats/first-content.ts";
import type { StreamTranslation } from "../formats/stream-translation.ts";
import type { BodyCapture } from "../telemetry/requests/body-capture.ts";
import type { BodyReader } from "../http/body-reader.ts";
import type { BodyWriter, StreamedBody } from "../http/server/outgoing-response.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { UsageTap } from "../usage/usage-tap.ts";
import { KeepAliveComments } from "./keep-alive-comments.ts";
import type { IdSplicer } from "./stored-ids/response-ids.ts";

/**
 * A client that reads nothing for this long is disconnected. Nothing else detects such a client, and the connection to the
 * provider would stay open forever.
 */
const STALL_TIMEOUT_MS = 300_000;
/** A connection reset discards bytes that the client has not read yet, so the relay waits before it resets. */
const RESET_DELAY_MS = 25;
const NO_BYTES = new Uint8Array(0);

/** What the bytes pass through, in this order; null for a stage that is not needed. */
export interface StreamStages {
  readonly tap: UsageTap | null;
  readonly translation: StreamTranslation | null;
  readonly ids: IdSplicer | null;
  readonly plugins: PluginStage | null;
  readonly bodies: BodyCapture | null;
  readonly firstContent: FirstContent | null;
}

interface PluginStage {
  /** Resolves to the bytes that go to the client. The last call of a stream has no new bytes. */
  run(chunk: Uint8Array, isLast: boolean): Promise<Uint8Array>;
}

/** The body of one response. */
export class StreamRelay implements StreamedBody, Deadline {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  readonly #reader: BodyReader;
  readonly #stages: StreamStages;
  readonly #onEnd: (outcome: Outcome) => void;
  readonly #deadlines: CoarseDeadlines;
  #hasEnded = false;
  /** Rejects the wait for the client to read; null while the relay does not wait. */
  #stopWaiting: (() => void) | null = null;
  /** Null unless the stream is translated. */
  #comments: KeepAliveComments | null = null;

  constructor(
    reader: BodyReader,
    stages: StreamStages,
    onEnd: (outcome: Outcome) => void,
    deadlines: CoarseDeadlines,
  ) {
    this.#reader = reader;
    this.#stages = stages;
    this.#onEnd = onEnd;
    this.#deadlines = deadlines;
  }

  async writeTo(client: BodyWriter): Promise<void> {
    if (this.#stages.translation !== null && !this.#hasEnded)
      this.#comments = new KeepAliveComments(client, this.#deadlines);
    try {
      for (let chunk = await this.#reader.next(); chunk !== null; chunk = await this.#reader.next()) {
        const processed = this.#process(chunk);
        const written = this.#write(client, isPromise(processed) ? await processed : processed);
        if (written !== null) await written;
      }
      await this.#finish(client);
    } catch (error) {
      await this.#abort(client);
      throw error;
    }
  }

  cancel(): void {
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
    const { translation, ids, plugins } = this.#stages;
    const translated = translation === null || bytes.byteLength === 0 ? bytes : translation.push(bytes);
    if (translated === null || translated.byteLength === 0) return NO_BYTES;
    const spliced = ids === null ? translated : ids.push(translated);
    return plugins === null || spliced.byteLength === 0 ? spliced : plugins.run(spliced, false);
  }

  /** Returns null if the client can take more; otherwise wait for the promise before reading more. */
  #write(client: BodyWriter, bytes: Uint8Array): Promise<void> | null {
    if (bytes.byteLength === 0) return null;
    const { bodies, firstContent } = this.#stages;
    bodies?.takeResponse(bytes);
    if (firstContent !== null && firstContent.isSearching) firstContent.push(bytes);
    this.#comments?.written(bytes);
    const written = client.write(bytes);
    return written === null ? null : this.#waitForClient(written);
  }

  #waitForClient(written: Promise<void>): Promise<void> {
    const waiting = Promise.withResolvers<undefined>();
    this.#stopWaiting = waiting.reject;
    this.dueAt = this.#deadlines.clock.now() + STALL_TIMEOUT_MS;
    this.#deadlines.watch(this);
    const end = () => {
      this.#deadlines.unwatch(this);
      this.#stopWaiting = null;
    };
    written.then(() => waiting.resolve(undefined), waiting.reject);
    return waiting.promise.finally(end);
  }

  /** Writes what the tap held back at the end of the body, then what the plugins held back. */
  async #finish(client: BodyWriter): Promise<void> {
    const { tap, translation, ids, plugins } = this.#stages;
    const ending = translation?.ending() ?? "complete";
    if (ending === "truncated") throw new Error("the stream ended before its last event");
    const lastEvents = translation?.takeRest() ?? NO_BYTES;
    if (lastEvents.byteLength > 0)
      await this.#write(client, plugins === null ? lastEvents : await plugins.run(lastEvents, false));
    const held = tap === null ? NO_BYTES : await tap.end();
    const rest = ids === null ? held : Buffer.concat([ids.push(held), ids.end()]);
    await this.#write(
      client,
      plugins === null || rest.byteLength === 0 ? rest : await plugins.run(rest, false),
    );
    if (plugins !== null) await this.#write(client, await plugins.run(NO_BYTES, true));
    // A provider may end a stream with an error event. The client has received it, but the response is not complete.
    this.#end(ending === "error" ? "incomplete" : "complete");
  }

  /** Writes what the tap holds back of a body that was cut. */
  async #abort(client: BodyWriter): Promise<void> {
    if (this.#hasEnded) return;
    this.#reader.cancel();
    const { tap, plugins } = this.#stages;
    const held = tap?.abort() ?? NO_BYTES;
    this.#end("incomplete");
    // The client gets the received part of a cut event, unless a plugin fails on it.
    const isUnchanged = plugins === null || held.byteLength === 0;
    const last = isUnchanged ? held : await plugins.run(held, false).catch(() => NO_BYTES);
    this.#write(client, last)?.catch(() => undefined);
    await Bun.sleep(RESET_DELAY_MS);
  }

  #end(outcome: Outcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#comments?.stop();
    this.#onEnd(outcome);
  }
}
