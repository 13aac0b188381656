// Parses the patterns of linear-pattern.ts: ECMA-262 with the flag `u`, except back references, look-around and named groups.
import {
  codePointOf,
  codePointsWith,
  complementOf,
  DIGITS,
  FOLDED_WORD,
  LINE_TERMINATORS,
  only,
  soleOf,
  SPACES,
  unionOf,
  withAllCases,
  WORD,
  type CodePointRange,
  type CodePointSet,
} from "./code-point-sets.ts";
import { PatternReader } from "./pattern-reader.ts";
import { ASSERTIONS, type Assertion } from "./pattern-assertions.ts";

export type PatternNode =
  | { readonly type: "class"; readonly set: CodePointSet }
  | { readonly type: "assertion"; readonly assertion: Assertion }
  | { readonly type: "sequence" | "choice"; readonly children: readonly PatternNode[] }
  | {
      readonly type: "repeat";
      readonly child: PatternNode;
      readonly min: number;
      /** Null: no limit. */
      readonly max: number | null;
      readonly isLazy: boolean;
    };

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
}

const MAX_LENGTH = 500;
const MAX_REPEATS = 100;
const MAX_DEPTH = 20;
const CONTROLS: ReadonlyMap<string, number> = new Map([
  ["t", 0x09],
  ["n", 0x0a],
  ["v", 0x0b],
  ["f", 0x0c],
  ["r", 0x0d],
]);
const SIMPLE_COUNTS: ReadonlyMap<string, { readonly min: number; readonly max: number | null }> = new Map([
  ["?", { min: 0, max: 1 }],
  ["*", { min: 0, max: null }],
  ["+", { min: 1, max: null }],
]);

/** Throws an error that says what is wrong. */
export function parsePattern(source: string, ignoresCase: boolean): PatternNode {
  if (source.length > MAX_LENGTH) throw new Error(`the pattern is longer than ${MAX_LENGTH} characters`);
  const root = new Parser(source, ignoresCase).parse();
  // The parser above does not know all rules of the grammar.
  new RegExp(source, "u");
  return root;
}

class Parser {
  readonly #reader: PatternReader;
  #depth = 0;
  #flags: Flags;

  constructor(source: string, ignoresCase: boolean) {
    this.#flags = { i: ignoresCase, m: false, s: false };
    this.#reader = new PatternReader(source);
  }

  parse(): PatternNode {
    const root = this.#choice();
    if (!this.#reader.isAtEnd) throw this.#reader.error("an opening parenthesis is missing");
    return root;
  }

  #choice(): PatternNode {
    const first = this.#sequence();
    if (this.#reader.peek() !== "|") return first;
    const children = [first];
    while (this.#reader.peek() === "|") {
      this.#reader.take();
      children.push(this.#sequence());
    }
    return { type: "choice", children };
  }

  #sequence(): PatternNode {
    const children: PatternNode[] = [];
    for (
      let next = this.#reader.peek();
      next !== "" && next !== "|" && next !== ")";
      next = this.#reader.peek()
    )
      children.push(this.#repeat(this.#atom()));
    return { type: "sequence", children };
  }

  #repeat(child: PatternNode): PatternNode {
    const counts = this.#counts();
    if (counts === null) return child;
    if (child.type === "assertion") throw this.#reader.error("an assertion cannot be repeated");
    const isLazy = this.#reader.peek() === "?";
    if (isLazy) this.#reader.take();
    if (SIMPLE_COUNTS.has(this.#reader.peek()) || this.#reader.peek() === "{")
      throw this.#reader.error("a repetition must not follow another one");
    return { type: "repeat", child, isLazy, ...counts };
  }

  #counts(): { min: number; max: number | null } | null {
    const next = this.#reader.peek();
    const simple = SIMPLE_COUNTS.get(next);
    if (simple !== undefined) {
      this.#reader.take();
      return simple;
    }
    if (next !== "{") return null;
    const [whole, low = "", comma, high] = this.#reader.match(/^\{(\d+)(,(\d*))?\}/);
    if (whole === undefined)
      throw this.#reader.error('"{" must begin a repetition such as {2,4}, or be written as "\\{"');
    const min = Number(low);
    const max = comma === undefined ? min : high === undefined || high === "" ? null : Number(high);
    if (min > MAX_REPEATS || (max !== null && (max > MAX_REPEATS || max < min)))
      throw this.#reader.error(`a repetition must be in order and at most ${MAX_REPEATS}`);
    return { min, max };
  }

  #atom(): PatternNode {
    const next = this.#reader.take();
    switch (next) {
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case ".":
        return this.#classNode(this.#flags.s ? complementOf([]) : complementOf(LINE_TERMINATORS));
      case "^":
        return assertion(this.#flags.m ? ASSERTIONS.lineStart : ASSERTIONS.start);
      case "$":
        return assertion(this.#flags.m ? ASSERTIONS.lineEnd : ASSERTIONS.end);
      case "\\":
        return this.#escape();
      case "?":
      case "*":
      case "+":
      case "{":
        throw this.#reader.error(`"${next}" has nothing to repeat; write "\\${next}" for the character`);
      case "]":
      case "}":
        throw this.#reader.error(`write "\\${next}" for the character`);
      default:
        return this.#classNode(only(codePointOf(next)));
    }
  }

  #group(): PatternNode {
    if (++this.#depth > MAX_DEPTH)
      throw this.#reader.error(`groups are nested more than ${MAX_DEPTH} levels deep`);
    const outer = this.#flags;
    if (this.#reader.peek() === "?") this.#flags = this.#modifiers(outer);
    const node = this.#choice();
    if (this.#reader.take() !== ")") throw this.#reader.error("a closing parenthesis is missing");
    this.#flags = outer;
    this.#depth--;
    return node;
  }

  /** Reads `?:`, or flags that hold within the group, such as `?i-s:`. */
  #modifiers(outer: Flags): Flags {
    const [whole, added = "", , removed = ""] = this.#reader.match(/^\?([ims]*)(-([ims]*))?:/);
    if (whole === undefined)
      throw this.#reader.error(
        'look-around, named groups and flags without a colon are not supported; write "(?i:…)" to ignore case',
      );
    const flagOf = (flag: "i" | "m" | "s"): boolean =>
      added.includes(flag) || (outer[flag] && !removed.includes(flag));
    return { i: flagOf("i"), m: flagOf("m"), s: flagOf("s") };
  }

  #class(): PatternNode {
    const isNegated = this.#reader.peek() === "^";
    if (isNegated) this.#reader.take();
    const ranges: CodePointRange[] = [];
    while (this.#reader.peek() !== "]") {
      const first = this.#classAtom();
      if (this.#reader.peek() !== "-" || this.#reader.peek(1) === "]") {
        ranges.push(...first);
        continue;
      }
      this.#reader.take();
      const last = this.#classAtom();
      const [low, high] = [soleOf(first), soleOf(last)];
      if (low === null || high === null || low > high)
        throw this.#reader.error("a range of characters is invalid");
      ranges.push([low, high]);
    }
    this.#reader.take();
    const set = this.#folded(unionOf(ranges));
    return { type: "class", set: isNegated ? complementOf(set) : set };
  }

  #classAtom(): CodePointSet {
    const next = this.#reader.take();
    if (next === "") throw this.#reader.error('"]" is missing');
    if (next !== "\\") return only(codePointOf(next));
    if (this.#reader.peek() !== "b" && this.#reader.peek() !== "-") return this.#characterEscape();
    return only(this.#reader.take() === "b" ? 0x08 : 0x2d);
  }

  #escape(): PatternNode {
    const next = this.#reader.peek();
    if (next !== "b" && next !== "B") return this.#classNode(this.#characterEscape());
    this.#reader.take();
    if (this.#flags.i)
      return assertion(next === "b" ? ASSERTIONS.foldedBoundary : ASSERTIONS.noFoldedBoundary);
    return assertion(next === "b" ? ASSERTIONS.boundary : ASSERTIONS.noBoundary);
  }

  #characterEscape(): CodePointSet {
    const next = this.#reader.take();
    const control = CONTROLS.get(next);
    if (control !== undefined) return only(control);
    switch (next) {
      case "d":
        return DIGITS;
      case "D":
        return complementOf(DIGITS);
      case "s":
        return SPACES;
      case "S":
        return complementOf(SPACES);
      case "w":
        return this.#wordCharacters();
      case "W":
        return complementOf(this.#wordCharacters());
      case "p":
      case "P":
        return this.#property(next === "P");
      case "u":
      case "x":
      case "c":
      case "0":
        return only(this.#codeEscape(next));
      default:
        if (!/^[\^$\\.*+?()[\]{}|/]$/.test(next)) throw this.#reader.error(`"\\${next}" is not supported`);
        return only(codePointOf(next));
    }
  }

  #wordCharacters(): CodePointSet {
    return this.#flags.i ? unionOf([...WORD, ...FOLDED_WORD]) : WORD;
  }

  #property(isNegated: boolean): CodePointSet {
    const [whole, property = ""] = this.#reader.match(/^\{([A-Za-z0-9_]+(?:=[A-Za-z0-9_]+)?)\}/);
    if (whole === undefined) throw this.#reader.error("\\p needs a property, such as \\p{L}");
    const set = codePointsWith(property);
    return isNegated ? complementOf(set) : set;
  }

  #codeEscape(type: "u" | "x" | "c" | "0"): number {
    if (type === "0") {
      if (/^\d$/.test(this.#reader.peek())) throw this.#reader.error("octal escapes are not supported");
      return 0;
    }
    if (type === "c") {
      const [letter] = this.#reader.match(/^[a-z]/i);
      if (letter === undefined) throw this.#reader.error("\\c needs a letter");
      return codePointOf(letter) % 32;
    }
    if (type === "x") return this.#reader.hex(/^([\da-f]{2})/i, "\\x needs two hexadecimal digits");
    if (this.#reader.peek() === "{")
      return this.#reader.hex(/^\{0*([\da-f]{1,6})\}/i, "\\u{ needs a code point");
    const [, high, low] = this.#reader.match(/^(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/i);
    if (high === undefined || low === undefined)
      return this.#reader.hex(/^([\da-f]{4})/i, "\\u needs four hexadecimal digits");
    return codePointOf(String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16)));
  }

  #classNode(set: CodePointSet): PatternNode {
    return { type: "class", set: this.#folded(set) };
  }

  #folded(set: CodePointSet): CodePointSet {
    return this.#flags.i ? withAllCases(set) : set;
  }
}

function assertion(kind: Assertion): PatternNode {
  return { type: "assertion", assertion: kind };
}
