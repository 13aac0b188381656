// Creates the normalized text of a JSON string from its bytes, with a WebAssembly module (wasm/normalize-json.ts). It takes a sixth of the
// time of decoding the bytes, the escapes and normalizing the units one after the other, but has no positions in the original text.
import { FOLDED, UNIT_KIND } from "./char-classes.ts";
import { WASM } from "./normalize-json-wasm.ts";
import { PositionList, type NormalizedText } from "./normalized-text.ts";
import { SourceMap } from "./source-map.ts";
import type { WorkCounter } from "./work-budget.ts";

// The layout of the memory, as in wasm/normalize-json.ts.
const KINDS = 0;
const FOLDED_UNITS = 0x10000;
const COUNTS = 0x30020;
const INPUT = 0x30040;
export const CODES = 0x50080;
const SPECIALS = 0x90100;
/** Longer strings are normalized in the other way. */
const MAX_INPUT_BYTES = 0x20000;
/** Zeros after the last unit. */
const PADDING = 8;

interface NormalizeModule {
  /** Returns the number of units, or -1 for invalid JSON. */
  readonly normalize: (bytes: number) => number;
  readonly prepare: () => void;
}

/** The text of the string that was normalized last. Its source map is empty. */
export interface NormalizedJson extends NormalizedText {
  /** The number of decoded units before normalization. */
  readonly decodedUnits: number;
}

/** Has the text of the string that was normalized last: a scan is synchronous. */
export class JsonNormalizer implements NormalizedJson {
  readonly codes: Uint16Array;
  readonly bytes: Buffer;
  readonly parent = null;
  readonly sourceMap = new SourceMap();
  readonly specials = new PositionList();
  length = 0;
  decodedUnits = 0;
  work: WorkCounter = { steps: 0, limit: Infinity };
  readonly #input: Uint8Array;
  /** The numbers of special positions and of decoded units. */
  readonly #counts: Int32Array;
  readonly #module: NormalizeModule;

  constructor({ buffer }: WebAssembly.Memory, module: NormalizeModule) {
    this.#module = module;
    new Uint8Array(buffer, KINDS, UNIT_KIND.length).set(UNIT_KIND);
    new Uint16Array(buffer, FOLDED_UNITS, FOLDED.length).set(FOLDED);
    module.prepare();
    this.#input = new Uint8Array(buffer, INPUT, MAX_INPUT_BYTES);
    this.#counts = new Int32Array(buffer, COUNTS, 2);
    this.codes = new Uint16Array(buffer, CODES, MAX_INPUT_BYTES + PADDING);
    this.bytes = Buffer.from(buffer, CODES, this.codes.byteLength);
    this.specials.positions = new Int32Array(buffer, SPECIALS, MAX_INPUT_BYTES);
  }

  /**
   * Normalizes the content of a JSON string, which must be valid UTF-8. Returns null if it is too long, or is not valid JSON. The next call
   * overwrites the text.
   */
  normalize(bytes: Buffer, start: number, end: number, work: WorkCounter): NormalizedJson | null {
    if (end - start > MAX_INPUT_BYTES) return null;
    // Unlike set(), copy() needs no object for the part.
    bytes.copy(this.#input, 0, start, end);
    const length = this.#module.normalize(end - start);
    if (length < 0) return null;
    this.length = length;
    this.specials.count = this.#counts[0] ?? 0;
    this.decodedUnits = this.#counts[1] ?? 0;
    this.work = work;
    return this;
  }
}

/** Compiled with its first use. */
let compiled: WebAssembly.Module | undefined;

/** Returns null where the runtime does not support WebAssembly with SIMD, as on x64 processors without AVX. */
export function createNormalizer(memory: WebAssembly.Memory): JsonNormalizer | null {
  try {
    compiled ??= new WebAssembly.Module(Buffer.from(WASM, "base64"));
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    // The compiler of the module checks these types; WebAssembly converts arguments and results.
    return new JsonNormalizer(memory, exports as unknown as NormalizeModule);
  } catch {
    return null;
  }
}
