// Writes lines of text as bytes: numbers without a string for each, and repeated parts only where they are not in place already.

const INITIAL_BYTES = 2048;
const ZERO = 0x30;
const DOT = 0x2e;
const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SPACE = 0x20;
/** Characters between the name and the value of a field. */
const SEPARATOR_LENGTH = 2;
/** A call of the runtime costs as much as a loop over about this many characters. */
const LONG_TEXT = 64;
const NANOS_PER_DOLLAR = 1_000_000_000;
const DOLLAR_DECIMALS = 9;
const MIN_DECIMALS = 2;
/** Smaller counts have at most 15 digits, which a number represents exactly. */
const MAX_COUNT = 1e15;
/** Larger numbers are split: integers of 32 bits are divided in a fraction of the time. */
const SPLIT = 1_000_000_000;
const SPLIT_DIGITS = 9;
/** The three digits of each number below 1000: a division for every third digit only. */
const DIGITS = new Uint8Array(3000);
for (let number = 0; number < 1000; number++)
  DIGITS.set(Buffer.from(String(number).padStart(3, "0")), number * 3);

/**
 * The next text mostly differs from the last one in a few digits. Therefore a part that was written at the same place last time
 * is left as it is.
 */
export class LineWriter {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  /** The parts of this text and, after them, those of the last text, with their places. A field is two parts. */
  readonly #parts: (Uint8Array | string)[] = [];
  /** That of the value of a field is below 0, so that nothing but the same field is found there. */
  readonly #starts: number[] = [];
  #count = 0;

  /** Drops a text that was not finished, because writing it has failed. */
  begin(): void {
    if (this.#length > 0) this.#startAgain();
  }

  /** Writes bytes that never change. */
  constant(part: Uint8Array): void {
    const start = this.#length;
    const index = this.#count++;
    this.#length = start + part.length;
    if (this.#parts[index] === part && this.#starts[index] === start) return;
    this.#grow();
    this.#bytes.set(part, start);
    this.#parts[index] = part;
    this.#starts[index] = start;
  }

  /** Writes a text of characters below 256, one byte each. */
  text(text: string): void {
    const start = this.#length;
    const index = this.#count++;
    this.#length = start + text.length;
    if (this.#starts[index] === start && this.#parts[index] === text) return;
    this.#grow();
    this.#characters(text, start);
    this.#parts[index] = text;
    this.#starts[index] = start;
  }

  /** Writes the line of a header field. */
  field(name: string, value: string): void {
    if (this.repeatField(name, value)) return;
    const start = this.#length;
    const index = this.#count;
    const valueStart = start + name.length + SEPARATOR_LENGTH;
    this.#length = valueStart + value.length;
    this.#grow();
    this.#characters(name, start);
    this.#bytes[valueStart - 2] = COLON;
    this.#bytes[valueStart - 1] = SPACE;
    this.#characters(value, valueStart);
    this.lineEnd();
    this.#parts[index] = name;
    this.#parts[index + 1] = value;
    this.#starts[index] = start;
    this.#starts[index + 1] = -start - 1;
    this.#count = index + 2;
  }

  /** Writes the line of a header field if the last text had it at the same place; returns whether it had. */
  repeatField(name: string, value: string): boolean {
    const start = this.#length;
    const index = this.#count;
    if (this.#starts[index] !== start || this.#starts[index + 1] !== -start - 1) return false;
    if (this.#parts[index] !== name || this.#parts[index + 1] !== value) return false;
    this.#length = start + name.length + value.length + SEPARATOR_LENGTH + 2;
    this.#count = index + 2;
    return true;
  }

  /** Writes a character below 128. */
  character(code: number): void {
    const at = this.#length++;
    this.#grow();
    this.#bytes[at] = code;
  }

  lineEnd(): void {
    this.character(CR);
    this.character(LF);
  }

  /** Writes a number as `String` returns it. */
  number(value: number): void {
    if (Number.isSafeInteger(value) && value >= 0) this.#digits(value, digitCount(value));
    else this.#unrecorded(String(value));
  }

  /** Writes a number rounded to two decimals, as `String` returns it. */
  hundredths(value: number): void {
    const count = Math.round(value * 100);
    if (!(count >= 0 && count < MAX_COUNT)) {
      this.#unrecorded(String(count / 100));
      return;
    }
    const whole = Math.floor(count / 100);
    const fraction = count - whole * 100;
    this.#digits(whole, digitCount(whole));
    if (fraction === 0) return;
    this.character(DOT);
    if (fraction % 10 === 0) this.#digits(fraction / 10, 1);
    else this.#digits(fraction, 2);
  }

  /** Writes a number with one decimal. */
  tenths(value: number): void {
    const count = Math.round(value * 10);
    if (count >= 0 && count < 1000) {
      this.#shortTenths(count);
      return;
    }
    if (!(count >= 0 && count < MAX_COUNT)) {
      this.#unrecorded((count / 10).toFixed(1));
      return;
    }
    const whole = Math.floor(count / 10);
    this.#digits(whole, digitCount(whole));
    this.character(DOT);
    this.#digits(count - whole * 10, 1);
  }

  /** Writes an amount in nano-dollars as `dollarsOf` returns it. The amount must be an integer and at least 0. */
  dollars(nanos: number): void {
    // Up to 2^53, no quotient is rounded up to a whole number.
    const whole = Math.floor(nanos / NANOS_PER_DOLLAR);
    let fraction = (nanos - whole * NANOS_PER_DOLLAR) | 0;
    let decimals = DOLLAR_DECIMALS;
    for (; decimals > MIN_DECIMALS && fraction % 10 === 0; decimals--) fraction = (fraction / 10) | 0;
    this.#digits(whole, digitCount(whole));
    this.character(DOT);
    this.#digits(fraction, decimals);
  }

  /** The number of bytes. */
  get length(): number {
    return this.#length;
  }

  /** Returns the text, and starts another one. `utf8`: for a text with constant parts in UTF-8. */
  finish(encoding: "latin1" | "utf8" = "latin1"): string {
    const text = this.#bytes.toString(encoding, 0, this.#length);
    this.#startAgain();
    return text;
  }

  /** Copies the text to a place in `target`, and starts another one. */
  finishIn(target: Uint8Array, at: number): void {
    this.#bytes.copy(target, at, 0, this.#length);
    this.#startAgain();
  }

  #startAgain(): void {
    // The text may have overwritten the parts of the last text after its own.
    if (this.#parts.length > this.#count) this.#parts.length = this.#count;
    this.#length = this.#count = 0;
  }

  /** Writes fewer than 1000 tenths: most of the times of a request, in milliseconds. */
  #shortTenths(count: number): void {
    let at = this.#length;
    this.#length = count < 100 ? at + 3 : at + 4;
    this.#grow();
    const bytes = this.#bytes;
    const digits = count * 3;
    if (count >= 100) bytes[at++] = DIGITS[digits] ?? ZERO;
    bytes[at] = DIGITS[digits + 1] ?? ZERO;
    bytes[at + 1] = DOT;
    bytes[at + 2] = DIGITS[digits + 2] ?? ZERO;
  }

  /** Writes a text that the next one hardly repeats. */
  #unrecorded(text: string): void {
    const start = this.#length;
    this.#length = start + text.length;
    this.#grow();
    this.#characters(text, start);
  }

  #characters(text: string, start: number): void {
    const bytes = this.#bytes;
    if (text.length > LONG_TEXT) bytes.write(text, start, "latin1");
    else for (let index = 0; index < text.length; index++) bytes[start + index] = text.charCodeAt(index);
  }

  /** Writes an integer with `count` digits, from the last to the first. */
  #digits(value: number, count: number): void {
    const start = this.#length;
    this.#length = start + count;
    this.#grow();
    let end = this.#length;
    let high = value;
    if (value >= SPLIT) {
      high = Math.floor(value / SPLIT);
      const low = (value - high * SPLIT) | 0;
      this.#shortDigits(low, end - SPLIT_DIGITS, end);
      end -= SPLIT_DIGITS;
    }
    this.#shortDigits(high | 0, start, end);
  }

  /** Writes an integer of 32 bits, with leading zeros. */
  #shortDigits(value: number, start: number, end: number): void {
    const bytes = this.#bytes;
    let rest = value;
    let at = end;
    for (; at - start >= 3; at -= 3) {
      const quotient = (rest / 1000) | 0;
      const digits = (rest - quotient * 1000) * 3;
      bytes[at - 3] = DIGITS[digits] ?? ZERO;
      bytes[at - 2] = DIGITS[digits + 1] ?? ZERO;
      bytes[at - 1] = DIGITS[digits + 2] ?? ZERO;
      rest = quotient;
    }
    for (let digit = rest * 3 + 2; at > start; digit--) bytes[--at] = DIGITS[digit] ?? ZERO;
  }

  /** Makes room for `#length` bytes. */
  #grow(): void {
    if (this.#length <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(this.#length * 2);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** `value` is an integer from 0 to 2^53. */
function digitCount(value: number): number {
  if (value >= SPLIT) return SPLIT_DIGITS + digitCount(Math.floor(value / SPLIT));
  if (value < 1000) return value < 10 ? 1 : value < 100 ? 2 : 3;
  if (value < 1_000_000) return value < 10_000 ? 4 : value < 100_000 ? 5 : 6;
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9;
}
