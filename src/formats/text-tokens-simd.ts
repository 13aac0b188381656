// Estimates the tokens of texts in JSON with a WebAssembly module (wasm/text-tokens.ts) that reads 64 characters at a time. It has no large
// table: that of the automaton competes with the rest of the gateway for the processor's cache.
import { ESCAPED_CHARACTERS, unitsOfText, type ReadText } from "./text-tokens.ts";
import { WASM } from "./text-tokens-wasm.ts";

// The layout of the memory, as in wasm/text-tokens.ts.
const WEIGHTS = 0;
const ESCAPED = 0x100;
const INPUT = 0x1000;
const PAGES = 5;
/** The module reads 16 bytes at a time. */
const PADDING = 16;
/** Larger bodies are read by the automaton. */
export const MAX_INPUT_BYTES = PAGES * 0x10000 - INPUT - PADDING;

const QUOTE = 0x22;
/** Letters of a word that have a weight of their own. */
const LETTERS = 13;

/** Pairs of texts whose units differ by a weight, in the order of the module. */
const WEIGHT_TEXTS: readonly (readonly [text: string, without: string])[] = [
  ["1a", "1 a"],
  ["AA", "A"],
  ["AAa", "AA"],
  ["AAaa", "AAa"],
  ["kkkk", "kkak"],
  ["1", ""],
  [" 1", "1"],
  ["\t", ""],
  ["  ", " "],
  ["\t ", "\t"],
  ["   ", "  "],
  ["\n", ""],
  ["\n\n", "\n"],
  [" .\n", " ."],
  [".", ""],
  [" .", " "],
  [". ", "."],
  [" ..", " ."],
  [" .,", " ."],
];

interface TextModule {
  /** Returns the units of the text at `start`, or -1 if it has to be decoded. */
  readonly unitsOfText: (start: number) => number;
  readonly textEnd: { readonly value: number };
}

/** Reads the texts of one JSON value after the other. */
export class SimdTexts {
  readonly #input: Uint8Array;
  readonly #module: TextModule;
  #length = 0;

  constructor({ buffer }: WebAssembly.Memory, module: TextModule) {
    new Int32Array(buffer, WEIGHTS).set(weights());
    new Uint8Array(buffer, ESCAPED).set(ESCAPED_CHARACTERS);
    this.#input = new Uint8Array(buffer, INPUT);
    this.#module = module;
  }

  /** Copies a JSON value whose texts are to be read. Returns false if it is too large. */
  open(bytes: Uint8Array): boolean {
    const { length } = bytes;
    if (length > MAX_INPUT_BYTES) return false;
    this.#input.set(bytes);
    // The module reads up to a quote.
    this.#input[length] = QUOTE;
    this.#length = length;
    return true;
  }

  /** As `readAsciiText`, for a string of the opened value. */
  read(start: number, into: ReadText): boolean {
    const { unitsOfText: unitsAt, textEnd } = this.#module;
    into.units = unitsAt(INPUT + start);
    into.end = textEnd.value - INPUT;
    return into.units >= 0 && into.end < this.#length;
  }
}

function weights(): number[] {
  const all = WEIGHT_TEXTS.map(([text, without]) => unitsOfText(text) - unitsOfText(without));
  const further = all.at(-1) ?? 0;
  all.push(unitsOfText(" .,.,.") - unitsOfText(" .,.,") - further);
  let last = 0;
  for (let letter = 1; letter <= LETTERS; letter++) {
    const added = unitsOfText("a".repeat(letter)) - unitsOfText("a".repeat(letter - 1));
    all.push(added - last);
    last = added;
  }
  return all;
}

/** Returns null where the runtime does not support WebAssembly with SIMD, as on x64 processors without AVX. */
export function createSimdTexts(): SimdTexts | null {
  try {
    const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
    const compiled = new WebAssembly.Module(Buffer.from(WASM, "base64"));
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    // The compiler of the module checks these types; WebAssembly converts arguments and results.
    return new SimdTexts(memory, exports as unknown as TextModule);
  } catch {
    return null;
  }
}
