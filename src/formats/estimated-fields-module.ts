// Finds in the JSON of a request what its estimate needs, with a WebAssembly module (wasm/estimated-fields.ts and wasm/text-tokens.ts) that
// reads its texts 64 characters at a time. The module has no large table: that of the automaton competes with the rest of the gateway for
// the processor's cache.
import { WASM } from "./estimated-fields-wasm.ts";
import { ESCAPED_CHARACTERS, unitsOfText } from "./text-tokens.ts";

// The layout of the memory, as in the sources of the module.
const WEIGHTS = 0;
const ESCAPED = 0x100;
const WORD_UNITS = 0x200;
const FIRST_NAMES = 0xc00;
const FOUND_COUNT = 0xc40;
const NAMES = 0x1000;
const NAME_BYTES = 32;
const FOUND = 0x1800;
const INPUT = 0x4800;
const PAGES = 5;
const QUOTE = 0x22;
/** What follows the request. */
const END = Uint8Array.of(QUOTE, QUOTE, 0, QUOTE, 0);
/** The module reads up to 32 bytes at a time. */
const PADDING = 64;
/** Larger requests are parsed. */
export const MAX_INPUT_BYTES = PAGES * 0x10000 - INPUT - PADDING;

// The kinds of values that are found, beside the numbers of names.
/** Messages that are not plain texts, with commas between them. */
export const MESSAGES_TO_PARSE = -1;
/** A text of a plain message that has to be decoded. */
export const TEXT_TO_DECODE = -2;

/** Letters of a word that have a weight of their own. */
const LETTERS = 13;
/** Characters that the module reads at a time. */
const BLOCK = 64;

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

interface FieldModule {
  /** Returns the units of the request at `start`, or -1 if it has to be parsed. */
  readonly readRequest: (start: number, messagesName: number, messageUnits: number) => number;
}

/** Reads one request after the other. */
export class RequestTexts {
  /** The kind, start and end of each value that was found in the last request. */
  readonly found: Int32Array;
  readonly #input: Uint8Array;
  readonly #count: Int32Array;
  readonly #module: FieldModule;
  readonly #messagesName: number;
  readonly #messageUnits: number;

  /** `names` are those of fields to find, in ascending order of their lengths, which are at most 31. The number of the first one is 1. */
  constructor(
    { buffer }: WebAssembly.Memory,
    module: FieldModule,
    names: readonly string[],
    messageUnits: number,
  ) {
    new Int32Array(buffer, WEIGHTS).set(weights());
    new Int32Array(buffer, WORD_UNITS).set(wordUnits());
    new Uint8Array(buffer, ESCAPED).set(ESCAPED_CHARACTERS);
    const memory = new Uint8Array(buffer);
    for (let length = 0; length <= NAME_BYTES; length++)
      memory[FIRST_NAMES + length] = 1 + names.filter((name) => name.length < length).length;
    for (const [index, name] of names.entries())
      memory.set(Buffer.from(name), NAMES + (index + 1) * NAME_BYTES);
    this.found = new Int32Array(buffer, FOUND, (INPUT - FOUND) / Int32Array.BYTES_PER_ELEMENT);
    this.#count = new Int32Array(buffer, FOUND_COUNT, 1);
    this.#input = new Uint8Array(buffer, INPUT);
    this.#module = module;
    this.#messagesName = names.indexOf("messages") + 1;
    this.#messageUnits = messageUnits;
  }

  /** The number of values that were found. */
  get foundCount(): number {
    return this.#count[0] ?? 0;
  }

  /** Returns the units of the texts of plain messages, `messageUnits` for each of these included; -1 if the request has to be parsed. */
  read(json: Uint8Array): number {
    const { length } = json;
    if (length > MAX_INPUT_BYTES) return -1;
    const input = this.#input;
    input.set(json);
    // What ends every loop of the module, also for bytes that are not JSON: the second quote may begin a string, which the third one ends.
    input.set(END, length);
    return this.#module.readRequest(INPUT, this.#messagesName, this.#messageUnits);
  }
}

function weights(): number[] {
  const all = WEIGHT_TEXTS.map(([text, without]) => unitsOfText(text) - unitsOfText(without));
  const further = all.at(-1) ?? 0;
  all.push(unitsOfText(" .,.,.") - unitsOfText(" .,.,") - further);
  const ofWords = wordUnits();
  for (let letter = 1; letter <= LETTERS; letter++)
    all.push((ofWords[letter] ?? 0) - (ofWords[letter - 1] ?? 0));
  return all;
}

/** By number of letters. */
function wordUnits(): number[] {
  return Array.from({ length: LETTERS + BLOCK + 1 }, (_, letters) => unitsOfText("a".repeat(letters)));
}

/** Returns null where the runtime does not support WebAssembly with SIMD, as on x64 processors without AVX. */
export function createRequestTexts(names: readonly string[], messageUnits: number): RequestTexts | null {
  try {
    const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
    const compiled = new WebAssembly.Module(Buffer.from(WASM, "base64"));
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
    // The compiler of the module checks these types; WebAssembly converts arguments and results.
    return new RequestTexts(memory, exports as unknown as FieldModule, names, messageUnits);
  } catch {
    return null;
  }
}
