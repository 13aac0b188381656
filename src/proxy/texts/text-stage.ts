// Passes the bytes of a response through plugins that work on its text, one after the other.
import { TurnMeter } from "../../base/own-turn.ts";
import { GatehouseError } from "../../base/errors.ts";
import { EventBlocks } from "../../formats/event-blocks.ts";
import type { GatewayError } from "../../formats/gateway-error.ts";
import type { EventTexts, TextReader } from "../../formats/text-channels.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import { readBody, writeBody } from "./body-texts.ts";
import type { TextHolds } from "./text-holds.ts";
import { RejectedText } from "./text-rejection.ts";
import { startOf } from "./text-form.ts";
import { TextUnit } from "./text-unit.ts";

const NO_BYTES = new Uint8Array(0);

interface TextStageOptions {
  readonly reader: TextReader;
  /** Whether the body is an event stream that is passed as it arrives. */
  readonly isStream: boolean;
  /** A whole body has the format of the reader, or it is rejected. Otherwise it may also be a text. */
  readonly isStrict: boolean;
  /** Returns the error of a body that cannot be read; absent or null for that of the format. */
  readonly unreadable?: (() => GatehouseError) | null;
  /** How many the request wants. */
  readonly choices: number;
  /** Of one plugin each, in the order in which they run. */
  readonly holds: readonly TextHolds[];
  /** Completes the error of a rejected stream. */
  readonly toError: (rejected: RejectedText) => GatewayError;
  readonly offLoop: OffLoop;
}

export class TextStage {
  readonly #options: TextStageOptions;
  readonly #blocks = new EventBlocks();
  readonly #texts: EventTexts;
  readonly #meter = new TurnMeter();

  constructor(options: TextStageOptions) {
    this.#options = options;
    this.#texts = options.reader.openStream(options.choices);
  }

  /** The time of the clock at which `expire` should be called; Infinity if nothing is held. */
  get dueAt(): number {
    let dueAt = Infinity;
    for (const holds of this.#options.holds) dueAt = Math.min(dueAt, holds.dueAt);
    return dueAt;
  }

  /**
   * `isLast`: nothing follows. Bodies that are no stream must be passed as a whole. `isOwned`: nothing else uses the memory of the bytes,
   * so that a large body can be moved to worker threads; `bytes` is empty then.
   */
  async run(bytes: Uint8Array, isLast: boolean, isOwned = false): Promise<Uint8Array> {
    if (!this.#options.isStream) return this.#runWhole(bytes, isLast, isOwned);
    if (isLast) return this.#send(this.#lastEvents(bytes), "end");
    const events = this.#blocks.push(bytes);
    return events.length === 0 ? NO_BYTES : this.#send(events, null);
  }

  async #runWhole(bytes: Uint8Array, isLast: boolean, isOwned: boolean): Promise<Uint8Array> {
    const then = isLast ? "end" : null;
    await this.#meter.add(bytes.byteLength);
    const start = startOf(bytes, false);
    if (start === "blank") return this.#send([TextUnit.opaque(bytes)], then);
    // A stream that was not declared as one.
    if (start === "events") {
      const units = await this.#readAll(this.#lastEvents(bytes));
      if (!(units instanceof GatehouseError)) return this.#send(units, then);
      if (this.#options.isStrict) throw units;
    }
    const unit = await readBody(bytes, this.#options, isOwned);
    return this.#send([unit], then, isOwned);
  }

  /** Releases what is held for too long. */
  expire(): Promise<Uint8Array> {
    return this.#send([], "expire");
  }

  /** Releases everything, for a response that was cut. The part of a cut event is not sent if it cannot be read. */
  abort(bytes: Uint8Array): Promise<Uint8Array> {
    return this.#send(this.#lastEvents(bytes), "releaseAll");
  }

  /** Returns the last events of a stream. Some clients also read an event without the blank line at its end. */
  #lastEvents(bytes: Uint8Array): Uint8Array[] {
    const events = this.#blocks.push(bytes);
    const rest = this.#blocks.end();
    if (rest.byteLength > 0) events.push(rest);
    return events;
  }

  /** Resolves to the error if one of the events cannot be read. */
  async #readAll(events: readonly Uint8Array[]): Promise<TextUnit[] | GatehouseError> {
    const units: TextUnit[] = [];
    for (const event of events) {
      const pause = this.#meter.add(event.byteLength);
      if (pause !== null) await pause;
      const unit = this.#read(event);
      if (unit instanceof GatehouseError) return unit;
      units.push(unit);
    }
    return units;
  }

  /** Returns the error of an event that cannot be read. */
  #read(event: Uint8Array): TextUnit | GatehouseError {
    try {
      return TextUnit.ofEvent(event, this.#texts);
    } catch (error) {
      if (error instanceof GatehouseError) return error;
      throw error;
    }
  }

  /** `received` are units, or events that are read when it is their turn. */
  async #send(
    received: readonly (TextUnit | Uint8Array)[],
    then: "end" | "expire" | "releaseAll" | null,
    isOwned = false,
  ): Promise<Uint8Array> {
    const sent: Uint8Array[] = [];
    const { isStream, offLoop, holds: all } = this.#options;
    const write = async (unit: TextUnit) => {
      sent.push(isStream || unit.isEvent ? unit.encode() : await writeBody(unit, offLoop, isOwned));
    };
    try {
      for (const each of received) {
        const pause = this.#meter.add(each.byteLength);
        if (pause !== null) await pause;
        const unit = each instanceof TextUnit ? each : this.#read(each);
        if (unit instanceof GatehouseError) {
          if (then === "releaseAll") break;
          throw rejectionOf(unit);
        }
        // Every plugin passes comments on at once. There may be one per byte.
        if (unit.isComment) sent.push(unit.bytes);
        else for (const passed of await this.#pass(unit, 0)) await write(passed);
      }
      if (then !== null)
        for (const [index, holds] of all.entries())
          for (const unit of await holds[then]())
            for (const passed of await this.#pass(unit, index + 1)) await write(passed);
    } catch (error) {
      if (error instanceof RejectedText && isStream) {
        sent.push(Buffer.from(this.#errorEvent(error)));
        error.lastBytes = Buffer.concat(sent);
      }
      throw error;
    }
    const [only] = sent;
    return sent.length === 1 && only !== undefined ? only : Buffer.concat(sent);
  }

  /** Returns the units that leave the last plugin. */
  async #pass(unit: TextUnit, first: number): Promise<TextUnit[]> {
    const holds = this.#options.holds[first];
    if (holds === undefined) return [unit];
    const passed: TextUnit[] = [];
    for (const next of await holds.push(unit)) passed.push(...(await this.#pass(next, first + 1)));
    return passed;
  }

  /** The number of the error event is that of the first event that is not sent. */
  #errorEvent(rejected: RejectedText): string {
    const { reader, toError, holds } = this.#options;
    const first = holds.findLast(({ firstQueued }) => firstQueued !== null)?.firstQueued ?? null;
    return reader.errorEvent(toError(rejected), first?.sequence ?? null);
  }
}

/** A stream that cannot be inspected ends like one that a plugin rejects. */
function rejectionOf({ status, code, message }: GatehouseError): RejectedText {
  return new RejectedText({ status, code, message });
}
