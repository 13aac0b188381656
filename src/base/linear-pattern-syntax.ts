// Parses the patterns of linear-pattern.ts: literals, `.`, classes, groups, `|`, `?`, `*`, `+`, `{m,n}`, and `\b` at both ends.

/** From the first to the last UTF-16 code unit. */
export type UnitRange = readonly [first: number, last: number];

export type PatternNode =
  | {
      readonly type: "class";
      readonly ranges: readonly UnitRange[];
      readonly children: readonly PatternNode[];
    }
  | { readonly type: "sequence" | "choice"; readonly children: readonly PatternNode[] }
  | {
      readonly type: "repeat";
      readonly children: readonly PatternNode[];
      readonly min: number;
      /** Null: no limit. */
      readonly max: number | null;
    };

interface ParsedPattern {
  readonly root: PatternNode;
  readonly startsAtBoundary: boolean;
  readonly endsAtBoundary: boolean;
  /** The longest text that every match contains at the same place of the pattern; empty if there is none. */
  readonly requiredText: string;
}

const MAX_LENGTH = 500;
const MAX_REPEATS = 100;
const MAX_DEPTH = 20;
const LAST_UNIT = 0xffff;
const DIGITS: readonly UnitRange[] = [[0x30, 0x39]];
const WORD: readonly UnitRange[] = [...DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const SPACES: readonly UnitRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x2028, 0x2029],
];
const SETS: ReadonlyMap<string, readonly UnitRange[]> = new Map([
  ["d", DIGITS],
  ["D", complementOf(DIGITS)],
  ["w", WORD],
  ["W", complementOf(WORD)],
  ["s", SPACES],
  ["S", complementOf(SPACES)],
]);
const CONTROLS: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** Throws an error that says what is wrong. */
export function parsePattern(source: string): ParsedPattern {
  if (source.length > MAX_LENGTH) throw new Error(`the pattern is longer than ${MAX_LENGTH} characters`);
  const startsAtBoundary = source.startsWith("\\b");
  const inner = startsAtBoundary ? source.slice(2) : source;
  const endsAtBoundary = /(?:^|[^\\])(?:\\\\)*\\b$/.test(inner);
  const parser = new Parser(endsAtBoundary ? inner.slice(0, -2) : inner);
  const root = parser.parse();
  return { root, startsAtBoundary, endsAtBoundary, requiredText: requiredTextOf(root) };
}

function requiredTextOf(root: PatternNode): string {
  let longest = "";
  let current = "";
  for (const node of root.type === "sequence" ? root.children : [root]) {
    const [range] = node.type === "class" && node.ranges.length === 1 ? node.ranges : [];
    current = range !== undefined && range[0] === range[1] ? current + String.fromCharCode(range[0]) : "";
    if (current.length > longest.length) longest = current;
  }
  return longest;
}

class Parser {
  readonly #source: string;
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): PatternNode {
    const root = this.#choice();
    if (this.#at < this.#source.length) throw this.#error("an opening parenthesis is missing");
    return root;
  }

  #choice(): PatternNode {
    const children = [this.#sequence()];
    while (this.#peek() === "|") {
      this.#at++;
      children.push(this.#sequence());
    }
    return children.length === 1
      ? (children[0] ?? { type: "sequence", children: [] })
      : { type: "choice", children };
  }

  #sequence(): PatternNode {
    const children: PatternNode[] = [];
    for (let next = this.#peek(); next !== "" && next !== "|" && next !== ")"; next = this.#peek())
      children.push(this.#repeat(this.#atom()));
    return { type: "sequence", children };
  }

  #repeat(node: PatternNode): PatternNode {
    const counts = this.#counts();
    if (counts === null) return node;
    if (this.#counts() !== null || this.#peek() === "?")
      throw this.#error("a repetition must not follow another one");
    return { type: "repeat", children: [node], ...counts };
  }

  #counts(): { min: number; max: number | null } | null {
    const simple = { "?": { min: 0, max: 1 }, "*": { min: 0, max: null }, "+": { min: 1, max: null } };
    const next = this.#peek();
    if (next === "?" || next === "*" || next === "+") {
      this.#at++;
      return simple[next];
    }
    if (next !== "{") return null;
    const [whole, low = "", comma, high] =
      /^\{(\d{1,3})(,(\d{0,3}))?\}/.exec(this.#source.slice(this.#at)) ?? [];
    if (whole === undefined)
      throw this.#error('"{" must begin a repetition such as {2,4}, or be written as "\\{"');
    this.#at += whole.length;
    const min = Number(low);
    const max = comma === undefined ? min : high === undefined || high === "" ? null : Number(high);
    if (min > MAX_REPEATS || (max !== null && (max > MAX_REPEATS || max < min)))
      throw this.#error(`a repetition must be in order and at most ${MAX_REPEATS}`);
    return { min, max };
  }

  #atom(): PatternNode {
    const next = this.#take();
    switch (next) {
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case ".":
        return classNode(
          complementOf([
            [0x0a, 0x0a],
            [0x0d, 0x0d],
            [0x2028, 0x2029],
          ]),
        );
      case "\\":
        return classNode(this.#escape());
      case "?":
      case "*":
      case "+":
      case "{":
        throw this.#error(`"${next}" has nothing to repeat; write "\\${next}" for the character`);
      case "^":
      case "$":
        throw this.#error(`"${next}" is not supported; write "\\${next}" for the character`);
      default:
        return classNode([unitRange(next)]);
    }
  }

  #group(): PatternNode {
    if (++this.#depth > MAX_DEPTH) throw this.#error(`groups are nested more than ${MAX_DEPTH} levels deep`);
    if (this.#peek() === "?") {
      if (!this.#source.startsWith("?:", this.#at))
        throw this.#error("look-around, named groups and flags are not supported");
      this.#at += 2;
    }
    const node = this.#choice();
    if (this.#take() !== ")") throw this.#error("a closing parenthesis is missing");
    this.#depth--;
    return node;
  }

  #class(): PatternNode {
    const isNegated = this.#peek() === "^";
    if (isNegated) this.#at++;
    const ranges: UnitRange[] = [];
    for (let next = this.#take(); next !== "]"; next = this.#take()) {
      if (next === "") throw this.#error('"]" is missing');
      const first = next === "\\" ? this.#escape() : [unitRange(next)];
      if (
        this.#peek() !== "-" ||
        this.#source[this.#at + 1] === "]" ||
        this.#source[this.#at + 1] === undefined
      ) {
        ranges.push(...first);
        continue;
      }
      this.#at++;
      const end = this.#take();
      const last = end === "\\" ? this.#escape() : [unitRange(end)];
      const [low, high] = [first[0]?.[0] ?? 0, last[0]?.[1] ?? 0];
      if (first.length > 1 || last.length > 1 || low > high)
        throw this.#error("a range of characters is invalid");
      ranges.push([low, high]);
    }
    if (ranges.length === 0) throw this.#error("a class must not be empty");
    return classNode(isNegated ? complementOf(ranges) : ranges);
  }

  #escape(): readonly UnitRange[] {
    const next = this.#take();
    const set = SETS.get(next);
    if (set !== undefined) return set;
    const control = CONTROLS.get(next);
    if (control !== undefined) return [unitRange(control)];
    if (next === "u") {
      const hex = /^[0-9a-f]{4}/i.exec(this.#source.slice(this.#at))?.[0];
      if (hex === undefined) throw this.#error("\\u needs four hexadecimal digits");
      this.#at += 4;
      return [unitRange(String.fromCharCode(Number.parseInt(hex, 16)))];
    }
    if (next === "b") throw this.#error("\\b is supported at the start and the end of a pattern only");
    if (next === "" || /[a-z0-9]/i.test(next)) throw this.#error(`"\\${next}" is not supported`);
    return [unitRange(next)];
  }

  #peek(): string {
    return this.#source[this.#at] ?? "";
  }

  #take(): string {
    return this.#source[this.#at++] ?? "";
  }

  #error(problem: string): Error {
    return new Error(`${problem} (at character ${Math.min(this.#at, this.#source.length)})`);
  }
}

function classNode(ranges: readonly UnitRange[]): PatternNode {
  return { type: "class", ranges, children: [] };
}

function unitRange(character: string): UnitRange {
  const unit = character.charCodeAt(0);
  return [unit, unit];
}

function complementOf(ranges: readonly UnitRange[]): UnitRange[] {
  const complement: UnitRange[] = [];
  let next = 0;
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    if (first > next) complement.push([next, first - 1]);
    next = Math.max(next, last + 1);
  }
  if (next <= LAST_UNIT) complement.push([next, LAST_UNIT]);
  return complement;
}
