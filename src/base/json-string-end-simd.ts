// Finds the end of a JSON string, object or array with a WebAssembly module (wasm/json-string-end.ts) that reads 64 bytes at a time. The
// module reads only its own memory, into which texts are copied: as a whole if they are short, else window by window.
import type { JsonText, JsonTextOf, NestedState } from "./json-text.ts";
import { WASM } from "./json-string-end-wasm.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Calling the module costs more than comparing this many bytes. */
const NEAR_BYTES = 24;
/** The module reads whole blocks. */
const BLOCK_BYTES = 64;
/** The hexadecimal digits of `\u`. The module may read them after its last block. */
const HEX_BYTES = 4;
/**
 * Holds any body that is scanned on the event loop (2 MiB, `proxy/scan-body.ts`): walking a text's own memory for some texts and
 * this memory for others made the scanner slower by half for both.
 */
const PAGES = 33;
/**
 * The memory until a text does not fit. The garbage collector counts all of it as live, whether it is used or not, and lets the heap grow in
 * proportion: 2 MiB would cost a gateway with small bodies 5 MiB.
 */
const FIRST_PAGES = 2;
/** The start of the memory, which belongs to the module: numbers, the state of a scan, and the suffixes of keys. */
const STATE_BYTES = 2048;
const VALUES_LEFT = 0;
const MAY_HAVE_SUFFIXES = 4;
const SUFFIX_NUMBERS = 1024;
const SUFFIXES = 1280;
const SUFFIX_BYTES = 32;
const MAX_VALUES = 2 ** 31 - 1;
/** After it, memory that is free for others, see `lastCopy`. */
export const FREE_BYTES = 4096;
/** Where texts begin in the memory. */
export const TEXT_START = STATE_BYTES + FREE_BYTES;
/** The last block of a text may begin at the byte 0 after it. */
export function windowBytesOf(pages: number): number {
  return pages * 64 * 1024 - TEXT_START - BLOCK_BYTES;
}

/** What the module returns for a string that goes on after the window. */
const UNFINISHED = 0;
/** What the module adds to the end of a string with bytes that are not ASCII. */
const NOT_ASCII = 1 << 30;

interface StringEndModule {
  memory: Uint8Array;
  /** The numbers at the start of the memory. */
  numbers: Int32Array;
  /** The part of the memory into which texts are copied. */
  window: Uint8Array;
  windowBytes: number;
  /** The text that the window has a copy of; null if it has a part of one. */
  copied: Uint8Array | null;
  /** Those that the memory has. */
  suffixes: readonly Uint8Array[] | null;
  readonly endOfString: (start: number, limit: number) => number;
  readonly continueString: (start: number, limit: number) => number;
  readonly endOfNested: (start: number, limit: number) => number;
  /** Makes the memory as large as it may become. Views of it before are unusable: only the last text may be read anyway. */
  readonly grow: () => void;
}

class SimdText implements JsonText {
  readonly bytes: Uint8Array;
  mayHaveHighBytes = false;
  readonly readsNested: boolean;
  readonly #text: Uint8Array;
  readonly #module: StringEndModule;
  /** Where in the text the copied window begins. */
  #windowStart = 0;
  /** The module reads blocks up to here, counted from the start of the window. */
  #limit = 0;

  constructor(text: Uint8Array, module: StringEndModule) {
    this.#text = text;
    this.#module = module;
    if (text.length > module.windowBytes) module.grow();
    const isShort = text.length <= module.windowBytes;
    this.bytes = isShort ? module.window : text;
    if (isShort) this.#copyWindow(0);
    module.copied = isShort ? text : null;
    this.readsNested = isShort;
  }

  endOfNested(start: number, state: NestedState): number {
    const module = this.#module;
    if (module.suffixes !== state.suffixes) writeSuffixes(module, state.suffixes);
    module.numbers[VALUES_LEFT] = Math.min(state.workLeft, MAX_VALUES);
    module.memory[MAY_HAVE_SUFFIXES] = 0;
    const found = module.endOfNested(TEXT_START + start, TEXT_START + this.#limit);
    if (found < 0) return found;
    if (state.workLeft !== Infinity) state.workLeft = module.numbers[VALUES_LEFT] ?? 0;
    if (module.memory[MAY_HAVE_SUFFIXES] === 1) state.mayHaveSuffixes = true;
    if (found < NOT_ASCII) return found - TEXT_START;
    this.mayHaveHighBytes = true;
    return found - NOT_ASCII - TEXT_START;
  }

  endOfString(start: number): number {
    const { bytes } = this;
    let at = start;
    let united = 0;
    for (const end = start + NEAR_BYTES; at < end; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) {
        if (united >= 0x80) this.mayHaveHighBytes = true;
        return at + 1;
      }
      if (byte === BACKSLASH) break;
      if (byte < 0x20) return -1;
      united |= byte;
    }
    if (united >= 0x80) this.mayHaveHighBytes = true;
    return this.#endOfLong(at);
  }

  #endOfLong(start: number): number {
    let at = start;
    if (at - this.#windowStart >= this.#limit) this.#copyWindow(at);
    let found = this.#module.endOfString(TEXT_START + at - this.#windowStart, TEXT_START + this.#limit);
    while (found === UNFINISHED) {
      const unread = this.#windowStart + this.#limit - at;
      // Not reached: the byte 0 ends every string. Without it this loop would not end.
      if (at + unread > this.#text.length) return -1;
      at += unread - (unread % BLOCK_BYTES);
      this.#copyWindow(at);
      found = this.#module.continueString(TEXT_START, TEXT_START + this.#limit);
    }
    if (found < 0) return -1;
    const offset = this.#windowStart - TEXT_START;
    if (found < NOT_ASCII) return offset + found;
    this.mayHaveHighBytes = true;
    return offset + found - NOT_ASCII;
  }

  #copyWindow(start: number): void {
    const text = this.#text;
    const { window, windowBytes } = this.#module;
    this.#windowStart = start;
    if (text.length - start > windowBytes) {
      window.set(text.subarray(start, start + windowBytes));
      this.#limit = windowBytes - HEX_BYTES;
      return;
    }
    const length = text.length - start;
    window.set(start === 0 ? text : text.subarray(start));
    // Bytes of an earlier text may follow. No string contains a byte 0, so the module never reads past it.
    window[length] = 0;
    this.#limit = length + BLOCK_BYTES;
  }
}

function writeSuffixes(module: StringEndModule, suffixes: readonly Uint8Array[]): void {
  const { memory } = module;
  memory.fill(0, SUFFIX_NUMBERS, STATE_BYTES);
  for (const [index, suffix] of suffixes.entries()) {
    memory[SUFFIX_NUMBERS + (suffix.at(-1) ?? 0)] = index + 1;
    memory[SUFFIXES + (index + 1) * SUFFIX_BYTES] = suffix.length;
    memory.set(suffix, SUFFIXES + (index + 1) * SUFFIX_BYTES + 1);
  }
  module.suffixes = suffixes;
}

export interface SimdTexts {
  readonly textOf: JsonTextOf;
  /** Returns the memory, with a copy of the text from TEXT_START on and FREE_BYTES before it, if it is the last one and fits; else null. */
  readonly lastCopy: (text: Uint8Array) => Uint8Array | null;
  /** The last text may change, so that its copy is of no use. */
  readonly forgetCopy: () => void;
}

/** Returns null where the runtime does not support WebAssembly with SIMD, as on x64 processors without AVX. */
export function createSimdTexts(pages = PAGES, firstPages = FIRST_PAGES): SimdTexts | null {
  const module = instantiate(firstPages, pages);
  if (module === null) return null;
  return {
    textOf: (text) => new SimdText(text, module),
    lastCopy: (text) => (module.copied === text ? module.memory : null),
    forgetCopy: () => {
      module.copied = null;
    },
  };
}

function instantiate(initial: number, maximum: number): StringEndModule | null {
  try {
    const memory = new WebAssembly.Memory({ initial, maximum });
    const compiled = new WebAssembly.Module(Buffer.from(WASM, "base64"));
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    // The compiler of the module checks these types; WebAssembly converts arguments and results.
    const { endOfString, continueString, endOfNested } = exports as unknown as Pick<
      StringEndModule,
      "endOfString" | "continueString" | "endOfNested"
    >;
    const module: StringEndModule = {
      memory: new Uint8Array(memory.buffer),
      numbers: new Int32Array(memory.buffer, 0, 1),
      window: new Uint8Array(memory.buffer, TEXT_START),
      windowBytes: windowBytesOf(initial),
      copied: null,
      suffixes: null,
      endOfString,
      continueString,
      endOfNested,
      grow() {
        if (module.windowBytes === windowBytesOf(maximum)) return;
        try {
          memory.grow(maximum - initial);
        } catch {
          // No memory: the text is read window by window, as texts that never fit are.
          return;
        }
        module.memory = new Uint8Array(memory.buffer);
        module.numbers = new Int32Array(memory.buffer, 0, 1);
        module.window = new Uint8Array(memory.buffer, TEXT_START);
        module.windowBytes = windowBytesOf(maximum);
      },
    };
    return module;
  } catch {
    return null;
  }
}
