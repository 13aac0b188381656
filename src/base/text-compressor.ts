// Compresses texts with a secret key, so that a slow hash has little left to read: 4 KiB to 32 bytes, 0.12 ns per byte, without an object. Without the
// key, no one can find two texts of the same length with the same result: for any two, the probability over the key is at most 2^-128, because the
// function is NH of UMAC (RFC 4418), four times with keys that are shifted by 16 bytes. The results themselves must stay secret. A WebAssembly
// module computes them (wasm/compress-text.ts).
import { copyBytes } from "./byte-search.ts";
import { WASM } from "./compress-text-wasm.ts";

// The layout of the memory, as in wasm/compress-text.ts.
const KEY = 0;
/** A block, and what the keys are shifted by. */
export const COMPRESSION_KEY_BYTES = 4096 + 48;
const RESULT = 0x1100;
/** The caller's prefix, and the length of the text. */
export const PREFIX_BYTES = 32;
const HEAD_BYTES = PREFIX_BYTES + 8;
const INPUT = 0x1200;
const BLOCK_BYTES = 4096;
const BLOCK_RESULT_BYTES = 32;
export const MAX_TEXT_BYTES = 16 * 1024;

interface CompressModule {
  readonly compress: (bytes: number) => void;
}

export class TextCompressor {
  /** The first bytes of every result. */
  readonly prefix: Uint8Array;
  readonly #memory: Uint8Array;
  readonly #module: CompressModule;
  /** The result by the number of its blocks. */
  readonly #results: readonly Uint8Array[];

  private constructor({ buffer }: WebAssembly.Memory, module: CompressModule, key: Uint8Array) {
    this.#memory = new Uint8Array(buffer);
    this.#memory.set(key, KEY);
    this.#module = module;
    this.prefix = new Uint8Array(buffer, RESULT, PREFIX_BYTES);
    this.#results = Array.from(
      { length: MAX_TEXT_BYTES / BLOCK_BYTES + 1 },
      (_, blocks) => new Uint8Array(buffer, RESULT, HEAD_BYTES + blocks * BLOCK_RESULT_BYTES),
    );
  }

  /** Returns null where the runtime does not support WebAssembly with SIMD, as on x64 processors without AVX. `key` has COMPRESSION_KEY_BYTES. */
  static create(key: Uint8Array): TextCompressor | null {
    try {
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 });
      const compiled = new WebAssembly.Module(Buffer.from(WASM, "base64"));
      const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
      // The compiler of the module checks this type; WebAssembly converts arguments and results.
      return new TextCompressor(memory, exports as unknown as CompressModule, key);
    } catch {
      return null;
    }
  }

  /**
   * Returns the prefix, the length in 8 bytes and the compressed text, for at most MAX_TEXT_BYTES from `start` up to `end`. The next call overwrites it.
   */
  compress(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const length = end - start;
    const result = this.#results[Math.ceil(length / BLOCK_BYTES)];
    if (result === undefined)
      throw new RangeError(`a text of ${length} bytes is longer than ${MAX_TEXT_BYTES} bytes`);
    copyBytes(bytes, this.#memory, INPUT, start, end);
    this.#module.compress(length);
    return result;
  }
}
