// Writes protobuf messages into one reused buffer, without intermediate objects or strings.

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
/** The length of a nested message is written after its content, into four reserved bytes (a padded varint). */
const LENGTH_BYTES = 4;
const LENGTH_LIMIT = 2 ** 28;
const SMALLEST = 64 * 1024;
const TWO_TO_32 = 2 ** 32;

export class ProtobufWriter {
  #buffer = Buffer.allocUnsafeSlow(SMALLEST);
  #length = 0;

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  /** Returns a copy of the written bytes. */
  take(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#length));
  }

  /** Starts a nested message; returns the position that `end` needs. */
  begin(field: number): number {
    this.#tag(field, LENGTH_DELIMITED);
    this.#reserve(LENGTH_BYTES);
    this.#length += LENGTH_BYTES;
    return this.#length;
  }

  end(start: number): void {
    let length = this.#length - start;
    if (length >= LENGTH_LIMIT) throw new Error("protobuf message exceeds 2^28 bytes");
    for (let at = start - LENGTH_BYTES; at < start; at++) {
      const isLast = at === start - 1;
      this.#buffer[at] = isLast ? length : (length & 0x7f) | 0x80;
      length >>>= 7;
    }
  }

  number(field: number, value: number): void {
    this.#tag(field, VARINT);
    this.#varint(value);
  }

  text(field: number, value: string): void {
    this.#tag(field, LENGTH_DELIMITED);
    // UTF-8 needs at most three bytes per UTF-16 code unit.
    this.#reserve(value.length * 3 + 10);
    const bytes = Buffer.byteLength(value);
    this.#varint(bytes);
    this.#length += this.#buffer.write(value, this.#length, bytes, "utf8");
  }

  /** Writes the bytes that the hexadecimal digits represent. */
  hex(field: number, digits: string): void {
    this.#tag(field, LENGTH_DELIMITED);
    this.#varint(digits.length / 2);
    this.#reserve(digits.length / 2);
    this.#length += this.#buffer.write(digits, this.#length, "hex");
  }

  /** Writes microseconds as nanoseconds in 64 bits, which exceed the safe integers of a number. */
  nanoseconds(field: number, microseconds: number): void {
    this.#tag(field, FIXED64);
    this.#reserve(8);
    const low = (microseconds % TWO_TO_32) * 1000;
    const high = Math.floor(microseconds / TWO_TO_32) * 1000 + Math.floor(low / TWO_TO_32);
    this.#buffer.writeUInt32LE(low % TWO_TO_32, this.#length);
    this.#buffer.writeUInt32LE(high % TWO_TO_32, this.#length + 4);
    this.#length += 8;
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED64);
    this.#bareDouble(value);
  }

  /** Writes a whole number in 64 bits. */
  fixed64(field: number, value: number): void {
    this.#tag(field, FIXED64);
    this.#bareFixed64(value);
  }

  /** Writes a packed list of numbers. */
  doubles(field: number, values: readonly number[]): void {
    this.#tag(field, LENGTH_DELIMITED);
    this.#varint(values.length * 8);
    for (const value of values) this.#bareDouble(value);
  }

  /** Writes a packed list of whole numbers in 64 bits. */
  fixed64s(field: number, values: readonly number[]): void {
    this.#tag(field, LENGTH_DELIMITED);
    this.#varint(values.length * 8);
    for (const value of values) this.#bareFixed64(value);
  }

  /** Writes bytes that were encoded before. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.byteLength);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.byteLength;
  }

  #bareDouble(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  #bareFixed64(value: number): void {
    this.#reserve(8);
    this.#buffer.writeUInt32LE(value % TWO_TO_32, this.#length);
    this.#length = this.#buffer.writeUInt32LE(Math.floor(value / TWO_TO_32) % TWO_TO_32, this.#length + 4);
  }

  #tag(field: number, wire: number): void {
    this.#varint(field * 8 + wire);
  }

  #varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#buffer[this.#length++] = rest;
  }

  #reserve(bytes: number): void {
    const least = this.#length + bytes;
    if (least <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(least, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}
