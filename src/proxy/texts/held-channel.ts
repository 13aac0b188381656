// The text of one channel that a plugin has not released yet, and the places in the response that it belongs to.
import type { TextChannel } from "../../formats/text-channels.ts";
import { RejectedText } from "./text-rejection.ts";
import type { TextSlot, TextUnit } from "./text-unit.ts";

/** A unit that is sent when all of its pieces of text are released. */
export interface QueuedUnit {
  readonly unit: TextUnit;
  unreleased: number;
}

/** The part of the held text that belongs to one place; without a slot, a unit that only announces text. */
interface Piece {
  readonly queued: QueuedUnit;
  readonly slot: TextSlot | null;
  length: number;
  output: string;
}

/** What a plugin decided about the text of a channel. */
export interface TextDecision {
  readonly length: number;
  /** Null to send the text itself. */
  readonly replacement: string | null;
}

/** Characters that are kept of a text for one that follows its end: code of this length is found, and most arguments are whole. */
const TAIL = 2048;

export class HeldChannel {
  readonly key: string;
  /** As it was last announced: the name of a tool may be known only later. */
  channel: TextChannel;
  text = "";
  /** A time of the clock; null while nothing is held. */
  heldSince: number | null = null;
  hasEnded = false;
  /** Set while a unit with text or the end of the channel is processed. */
  isDue = false;
  #pieces: Piece[] = [];
  /** For formats that repeat texts: everything that was released, and how much was received. */
  readonly #isRepeated: boolean;
  #sent = "";
  #receivedLength = 0;
  #isChanged = false;
  /** The end of the pieces that were sent, also of those before an end of the channel. */
  #tail: string;
  readonly #isWhole: boolean;
  /** The end of what was sent before the channel went on after its end: clients may join both. */
  #before: string;

  /** `known` is the channel with this key that has ended. `isWhole`: the text is complete, and no piece of another one. */
  constructor(
    key: string,
    channel: TextChannel,
    { isRepeated, isWhole, known }: { isRepeated: boolean; isWhole: boolean; known: HeldChannel | undefined },
  ) {
    this.key = key;
    this.channel = channel;
    this.#isRepeated = isRepeated;
    this.#isWhole = isWhole;
    this.#tail = known === undefined ? "" : known.#tail;
    this.#before = isWhole ? "" : this.#tail;
  }

  /** The text that a plugin inspects. */
  get inspected(): string {
    return this.#before + this.text;
  }

  get isHolding(): boolean {
    return this.#pieces.length > 0;
  }

  /** The number of characters that are kept for repetitions. */
  get keptLength(): number {
    return this.#sent.length;
  }

  append(queued: QueuedUnit, slot: TextSlot | null): void {
    const text = slot?.text ?? "";
    queued.unreleased++;
    this.#pieces.push({ queued, slot, length: text.length, output: "" });
    this.text += text;
    this.#receivedLength += text.length;
  }

  /** Releases what the plugin decided about the inspected text. Throws if it replaces what was sent before. */
  apply({ length, replacement }: TextDecision, isExplicit: boolean): void {
    const before = this.#before;
    if (length <= before.length) this.release(0, before === "" ? replacement : null, isExplicit);
    else if (replacement === null) this.release(length - before.length, null, isExplicit);
    // A mask has the length of what it replaces.
    else if (replacement.startsWith(before) || replacement.length === length)
      this.release(length - before.length, replacement.slice(before.length), isExplicit);
    else
      throw new RejectedText({
        status: 502,
        code: "upstream_bad_answer",
        message:
          "The provider's stream goes on with a text after its end, and a plugin replaces a part of it that was sent.",
      });
  }

  /** Releases the first `length` characters. `isExplicit`: units without text at the end of a hold are held as well. */
  release(length: number, replacement: string | null, isExplicit: boolean): void {
    const original = this.text.slice(0, length);
    const sent = replacement ?? original;
    const isAll = length === this.text.length && !(isExplicit && length === 0);
    // A text in one place need not be compared: it may have many megabytes.
    const isInOnePlace = isAll && this.#pieces.length === 1;
    const change = isInOnePlace ? new Change(original, sent, 0, length) : changeBetween(original, sent);
    let at = 0;
    let pieces = 0;
    for (const piece of this.#pieces) {
      if (!isAll && at >= length) break;
      const end = Math.min(at + piece.length, length);
      piece.output += change.textBetween(at, end, end === length);
      piece.length -= end - at;
      at = end;
      if (piece.length > 0) break;
      pieces++;
      if (piece.slot !== null) piece.slot.text = piece.output;
      piece.queued.unreleased--;
    }
    // A copy for each delta that releases nothing would take quadratic time.
    if (pieces > 0) this.#pieces = this.#pieces.slice(pieces);
    this.text = this.text.slice(length);
    // Whatever follows has been inspected together with what was sent before.
    if (length > 0) this.#before = "";
    if (!this.#isWhole) this.#keepTail(sent);
    if (length > 0 || this.#pieces.length === 0) this.heldSince = null;
    if (this.#isRepeated) this.#sent += sent;
    if (sent !== original) this.#isChanged = true;
  }

  releaseAll(): void {
    this.release(this.text.length, null, false);
  }

  #keepTail(sent: string): void {
    this.#tail += sent;
    if (this.#tail.length > 2 * TAIL) this.#tail = this.#tail.slice(-TAIL);
  }

  /** Returns what replaces a repetition of the text; null if it differs from the text that was received. */
  repetitionOf(text: string): string | null {
    if (text.length !== this.#receivedLength) return null;
    // What was received is kept only if it was sent unchanged.
    return this.#isChanged || text === this.#sent ? this.#sent : null;
  }
}

/** How a text was changed: what is in the middle of both texts differs. */
class Change {
  readonly #original: string;
  readonly #middle: string;
  readonly #start: number;
  readonly #end: number;
  #isWritten = false;

  constructor(original: string, middle: string, start: number, end: number) {
    this.#original = original;
    this.#middle = middle;
    this.#start = start;
    this.#end = end;
  }

  /** Returns what replaces this range. Ranges must be passed in order. The first one at the change gets all new text. */
  textBetween(from: number, to: number, isLast: boolean): string {
    let text = this.#original.slice(from, Math.min(to, this.#start));
    if (!this.#isWritten && (to > this.#start || isLast)) {
      this.#isWritten = true;
      text += this.#middle;
    }
    return to > this.#end ? text + this.#original.slice(Math.max(from, this.#end), to) : text;
  }
}

function changeBetween(original: string, replacement: string): Change {
  if (original === replacement) return new Change(original, "", original.length, original.length);
  const shorter = Math.min(original.length, replacement.length);
  const start = commonStart(original, replacement, shorter);
  const end = commonEnd(original, replacement, shorter - start);
  const middle = replacement.slice(start, replacement.length - end);
  return new Change(original, middle, start, original.length - end);
}

/** Long texts are compared in blocks of this many characters, which the runtime does many times faster than a loop. */
const BLOCK = 1024;

/** Returns how many characters, `max` at most, both texts begin with. */
function commonStart(a: string, b: string, max: number): number {
  let at = 0;
  while (at + BLOCK <= max && a.slice(at, at + BLOCK) === b.slice(at, at + BLOCK)) at += BLOCK;
  while (at < max && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

/** Returns how many characters, `max` at most, both texts end with. */
function commonEnd(a: string, b: string, max: number): number {
  let length = 0;
  const blockOf = (text: string) => text.slice(text.length - length - BLOCK, text.length - length);
  while (length + BLOCK <= max && blockOf(a) === blockOf(b)) length += BLOCK;
  while (length < max && a.charCodeAt(a.length - 1 - length) === b.charCodeAt(b.length - 1 - length))
    length++;
  return length;
}
