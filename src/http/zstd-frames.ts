// Finds the end of zstd data. Bun 1.4.4 decodes truncated zstd data without an error, both whole and as a stream, so
// the gateway follows the frames (RFC 8878, section 3.1) itself.

const FRAME_MAGIC = 0xfd2fb528;
/** The last hexadecimal digit of a skippable frame's magic number is arbitrary. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const RLE_BLOCK = 1;

const FIELD_BYTES = { magic: 4, skippable_size: 4, descriptor: 1, block_header: 3, invalid: Infinity };

export class ZstdFrames {
  #field: keyof typeof FIELD_BYTES = "magic";
  /** Bytes of the field that have been read, and their little-endian value. */
  #fieldBytes = 0;
  #value = 0;
  /** Bytes between the previous field and this one. */
  #skip = 0;
  #hasChecksum = false;
  #frames = 0;

  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at);
        this.#skip -= skipped;
        at += skipped;
        continue;
      }
      this.#value += (bytes[at++] ?? 0) * 2 ** (8 * this.#fieldBytes++);
      if (this.#fieldBytes === FIELD_BYTES[this.#field]) this.#endField();
    }
  }

  /** Whether the bytes so far are one or more whole frames. */
  get isComplete(): boolean {
    return this.#frames > 0 && this.#field === "magic" && this.#fieldBytes === 0 && this.#skip === 0;
  }

  #endField(): void {
    const value = this.#value;
    this.#fieldBytes = this.#value = 0;
    if (this.#field === "magic") this.#readMagic(value);
    else if (this.#field === "descriptor") this.#readDescriptor(value);
    else if (this.#field === "block_header") this.#readBlockHeader(value);
    else this.#endFrame(value);
  }

  #readMagic(magic: number): void {
    if (magic === FRAME_MAGIC) this.#field = "descriptor";
    else if (magic - (magic % 16) === SKIPPABLE_MAGIC) this.#field = "skippable_size";
    else this.#field = "invalid";
  }

  #readDescriptor(descriptor: number): void {
    const isSingleSegment = (descriptor & 0x20) !== 0;
    const contentSizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] ?? 0;
    this.#hasChecksum = (descriptor & 0x04) !== 0;
    // Either a window descriptor precedes the content size, or the content size has at least one byte.
    const sizeBytes = isSingleSegment ? Math.max(1, contentSizeBytes) : 1 + contentSizeBytes;
    this.#skip = sizeBytes + (DICTIONARY_ID_BYTES[descriptor & 0x03] ?? 0);
    this.#field = "block_header";
  }

  #readBlockHeader(header: number): void {
    const isLast = (header & 0x01) !== 0;
    const size = ((header >> 1) & 0x03) === RLE_BLOCK ? 1 : header >> 3;
    if (isLast) this.#endFrame(size + (this.#hasChecksum ? 4 : 0));
    else this.#skip = size;
  }

  #endFrame(remainingBytes: number): void {
    this.#skip = remainingBytes;
    this.#frames++;
    this.#field = "magic";
  }
}

export function isCompleteZstd(bytes: Uint8Array): boolean {
  const frames = new ZstdFrames();
  frames.push(bytes);
  return frames.isComplete;
}
