// Writes a provider's answer to the client as it comes, at the client's pace: as it is, or put into another wire format
// and through plugins.
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import { unwatchDeadline, watchDeadline, type Deadline } from "../http/coarse-deadlines.ts";
import type { StreamDecoder } from "../formats/format.ts";
import type { BodyCapture } from "../telemetry/requests/body-capture.ts";
import type { BodyReader } from "../http/body-reader.ts";
import type { Outcome } from "./exchange.ts";
import type { UsageTap } from "../usage/usage-tap.ts";

/** A client that has taken nothing for this long is gone: nothing else would tell, and its provider would be held for ever. */
const STALLED_MS = 300_000;
const RESET_DELAY_MS = 25;
const NOTHING = new Uint8Array(0);

/** What the bytes go through on their way. */
export interface StreamPasses {
  readonly tap: UsageTap | null;
  readonly translation: StreamDecoder | null;
  readonly plugins: PluginPass | null;
  readonly bodies: BodyCapture | null;
}

export interface PluginPass {
  /** Resolves to the bytes that go to the client. The last call of a stream has no new bytes. */
  run(chunk: Uint8Array, isLast: boolean): Promise<Uint8Array>;
}

/** The body of one answer, as the runtime asks for it: `pull` once, `cancel` where the client leaves. */
export class StreamRelay implements Bun.DirectUnderlyingSource<Uint8Array>, Deadline {
  readonly type = "direct";
  dueAt = Infinity;
  readonly #reader: BodyReader;
  readonly #passes: StreamPasses;
  readonly #onEnd: (outcome: Outcome) => void;
  readonly #stalledMs: number;
  #hasEnded = false;
  /** Ends the waiting for the client, where it is waited for. */
  #giveUp: (() => void) | null = null;

  constructor(
    reader: BodyReader,
    passes: StreamPasses,
    onEnd: (outcome: Outcome) => void,
    stalledMs = STALLED_MS,
  ) {
    this.#reader = reader;
    this.#passes = passes;
    this.#onEnd = onEnd;
    this.#stalledMs = stalledMs;
  }

  async pull(client: ReadableStreamDirectController): Promise<void> {
    try {
      for (let chunk = await this.#reader.next(); chunk !== null; chunk = await this.#reader.next()) {
        const passed = this.#pass(chunk);
        const turn = this.#write(client, isPromise(passed) ? await passed : passed);
        if (turn !== null) await turn;
      }
      await this.#finish(client);
    } catch {
      await this.#breakOff(client);
      // The client's connection breaks off, which is the truth. Without a reason, else the runtime prints it.
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- that is how a direct stream is told
      throw undefined;
    }
  }

  cancel(): void {
    this.#reader.cancel();
    this.#end("client_left");
    this.#giveUp?.();
  }

  /** The client has stalled. */
  expire(): void {
    this.cancel();
  }

  /** What goes to the client of these bytes. Without plugins and encodings nothing has to be waited for. */
  #pass(chunk: Uint8Array): ValueOrPromise<Uint8Array> {
    const { tap } = this.#passes;
    const tapped = tap === null ? chunk : tap.push(chunk);
    return isPromise(tapped) ? tapped.then((bytes) => this.#passOn(bytes)) : this.#passOn(tapped);
  }

  #passOn(bytes: Uint8Array): ValueOrPromise<Uint8Array> {
    const { translation, plugins } = this.#passes;
    const translated = translation === null || bytes.byteLength === 0 ? bytes : translation.push(bytes);
    if (translated === null || translated.byteLength === 0) return NOTHING;
    return plugins === null ? translated : plugins.run(translated, false);
  }

  /** Null where the client has room for more; else nothing more is to be read before it has. */
  #write(client: ReadableStreamDirectController, bytes: Uint8Array): Promise<void> | null {
    if (bytes.byteLength === 0) return null;
    this.#passes.bodies?.takeResponse(bytes);
    const taken = client.write(bytes);
    void client.flush();
    return typeof taken === "number" ? null : this.#clientsTurn(taken);
  }

  #clientsTurn(taken: Promise<number>): Promise<void> {
    const turn = Promise.withResolvers<undefined>();
    this.#giveUp = turn.reject;
    this.dueAt = performance.now() + this.#stalledMs;
    watchDeadline(this);
    const stopWaiting = () => {
      unwatchDeadline(this);
      this.#giveUp = null;
    };
    taken.then(() => turn.resolve(undefined), turn.reject);
    return turn.promise.finally(stopWaiting);
  }

  /** The provider has said all: what the tap held back, then what the plugins did. */
  async #finish(client: ReadableStreamDirectController): Promise<void> {
    const { tap, translation, plugins } = this.#passes;
    const ending = translation?.ending() ?? "complete";
    if (ending === "truncated") throw new Error("the stream ended before its end");
    const rest = tap === null ? NOTHING : await tap.end();
    await this.#write(
      client,
      plugins === null || rest.byteLength === 0 ? rest : await plugins.run(rest, false),
    );
    if (plugins !== null) await this.#write(client, await plugins.run(NOTHING, true));
    // An error that the provider told in its stream has been passed on, and is an end of its own.
    this.#end(ending === "error" ? "incomplete" : "complete");
  }

  async #breakOff(client: ReadableStreamDirectController): Promise<void> {
    if (this.#hasEnded) return;
    this.#reader.cancel();
    const { tap, plugins } = this.#passes;
    const held = tap?.abort() ?? NOTHING;
    this.#end("incomplete");
    // The client gets what came of an event that broke off, unless a plugin cannot say what may pass of it.
    const isPlain = plugins === null || held.byteLength === 0;
    const last = isPlain ? held : await plugins.run(held, false).catch(() => NOTHING);
    this.#write(client, last)?.catch(() => undefined);
    // A reset overtakes bytes that the client has not read yet: they get a moment.
    await Bun.sleep(RESET_DELAY_MS);
  }

  #end(outcome: Outcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onEnd(outcome);
  }
}
