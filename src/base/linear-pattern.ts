// Regular expressions for patterns that an operator configures and texts that clients send: they mean what ECMA-262 says with the flag
// `u`, and are searched for in linear time instead of being tried with backtracking. Two readings find each match: backwards, to know
// where matches can be completed, and forwards along the path that ECMA-262 prefers of those that can.
import { soleOf } from "./code-point-sets.ts";
import { ASCII } from "./pattern-alphabet.ts";
import { parsePattern, type PatternNode } from "./linear-pattern-syntax.ts";
import { EDGE } from "./pattern-assertions.ts";
import { IS_START, PatternAutomaton, UNKNOWN, type StateSet } from "./pattern-automaton.ts";
import { ACCEPT, canBeEmpty, PatternProgram } from "./pattern-program.ts";

/** Sets of states are kept for this many characters at a time, and once for each further part. */
const PART = 4096;

interface PatternMatch {
  readonly start: number;
  readonly end: number;
}

export class LinearPattern {
  readonly #program: PatternProgram;
  readonly #automaton: PatternAutomaton;
  readonly #requiredText: string;
  /** Whether a match may contain no character. */
  readonly canBeEmpty: boolean;

  /** Throws an error that says what is wrong with the pattern. `ignoresCase`: with the flag `i`. */
  constructor(source: string, { ignoresCase = false }: { readonly ignoresCase?: boolean } = {}) {
    const root = parsePattern(source, ignoresCase);
    this.#program = new PatternProgram(root);
    this.#automaton = new PatternAutomaton(this.#program);
    this.#requiredText = requiredTextOf(root);
    this.canBeEmpty = canBeEmpty(root);
  }

  /** Returns whether the text contains a match. */
  test(text: string): boolean {
    return text.includes(this.#requiredText) && this.#partsOf(text, true).some(({ hasStart }) => hasStart);
  }

  /** Returns the matches as `text.matchAll` does, leftmost first, without overlaps. */
  matches(text: string): PatternMatch[] {
    // Most texts do not contain it, and a native search takes a tenth of the time of the automaton.
    if (!text.includes(this.#requiredText)) return [];
    const found: PatternMatch[] = [];
    const places = new Places(this.#partsOf(text, false), (part) => this.#setsOf(text, part));
    let from = 0;
    for (let start = places.startFrom(from); start >= 0; start = places.startFrom(from)) {
      const end = this.#endFrom(text, start, places);
      found.push({ start, end });
      from = end > start ? end : end + widthAfter(text, end);
    }
    return found;
  }

  /** Returns the parts of the text; `isOneEnough`: only those from the last one on in which a match begins. */
  #partsOf(text: string, isOneEnough: boolean): Part[] {
    const parts: Part[] = [];
    let end = text.length;
    let set = this.#automaton.atEnd(this.#kindBefore(text, end));
    let hasStart = set.isStart;
    do {
      const start = startOfPart(text, end);
      const read = this.#read(text, start, end, set, null);
      hasStart ||= read.hasStart;
      parts.push({ start, end, set, hasStart });
      if (hasStart && isOneEnough) return parts;
      ({ set } = read);
      end = start;
      hasStart = false;
    } while (end > 0);
    return parts.reverse();
  }

  /** Returns the set at each place of a part, by its distance from the start of the part; null within a character. */
  #setsOf(text: string, { start, end, set }: Part): (StateSet | null)[] {
    const sets: (StateSet | null)[] = Array.from({ length: end - start + 1 }, () => null);
    sets[end - start] = set;
    this.#read(text, start, end, set, sets);
    return sets;
  }

  /** Reads backwards from `end`, where the set is given. Returns the one at `start`, and whether a match begins before `end`. */
  #read(text: string, start: number, end: number, set: StateSet, sets: (StateSet | null)[] | null): PartRead {
    const automaton = this.#automaton;
    const { alphabet } = this.#program;
    // Local, because this loop reads every character of most texts that are searched.
    const { ascii, kinds } = alphabet;
    const { kindColumns } = automaton;
    let id = automaton.idOf(set);
    let starts = 0;
    let codePoint = codePointBefore(text, end);
    let characters = alphabet.classOf(codePoint);
    for (let at = end; at > start;) {
      at -= codePoint > 0xffff ? 2 : 1;
      let before = EDGE;
      let charactersBefore = 0;
      if (at > 0) {
        codePoint = text.charCodeAt(at - 1);
        if (codePoint < ASCII) charactersBefore = ascii[codePoint] ?? 0;
        else {
          codePoint = codePointBefore(text, at);
          charactersBefore = alphabet.classOf(codePoint);
        }
        before = kinds[charactersBefore] ?? EDGE;
      }
      const column = characters * kindColumns + before;
      const known = automaton.transitions[id * automaton.columns + column] ?? UNKNOWN;
      const transition = known === UNKNOWN ? automaton.build(id, characters, before) : known;
      id = transition >> 1;
      starts |= transition & IS_START;
      if (sets !== null) sets[at - start] = automaton.set(id);
      characters = charactersBefore;
    }
    return { set: automaton.set(id), hasStart: starts !== 0 };
  }

  /** Follows the preferred path from a place where a match begins. */
  #endFrom(text: string, start: number, places: Places): number {
    const { states } = this.#program;
    let at = start;
    let state = this.#program.start;
    while (state !== ACCEPT) {
      const { characters, next } = states[state] ?? { characters: null, next: [] };
      if (characters !== null) at += widthAfter(text, at);
      const set = places.setAt(at);
      state = (next.length === 1 ? next[0] : next.find((each) => set.has(each))) ?? ACCEPT;
    }
    return at;
  }

  #kindBefore(text: string, at: number): number {
    const { alphabet } = this.#program;
    return at === 0 ? EDGE : (alphabet.kinds[alphabet.classOf(codePointBefore(text, at))] ?? EDGE);
  }
}

/** A part of a text, and the set at its end. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly set: StateSet;
  /** A match begins in it, or at its end if that is the end of the text. */
  readonly hasStart: boolean;
}

interface PartRead {
  readonly set: StateSet;
  readonly hasStart: boolean;
}

/** The sets of a text, read from start to end: those of one part at a time are kept. */
class Places {
  readonly #parts: readonly Part[];
  readonly #setsOf: (part: Part) => (StateSet | null)[];
  #index = -1;
  #start = 0;
  #end = -1;
  #sets: (StateSet | null)[] = [];

  constructor(parts: readonly Part[], setsOf: (part: Part) => (StateSet | null)[]) {
    this.#parts = parts;
    this.#setsOf = setsOf;
  }

  /** Returns where the first match begins that does not begin before `from`; -1 if there is none. */
  startFrom(from: number): number {
    for (let index = Math.max(0, this.#index); index < this.#parts.length; index++) {
      const part = this.#parts[index];
      if (part === undefined || part.end < from || !part.hasStart) continue;
      this.#load(index);
      for (let at = Math.max(from, part.start); at <= part.end; at++)
        if (this.#sets[at - part.start]?.isStart === true) return at;
    }
    return -1;
  }

  /** `at` is not before the part that was read last. */
  setAt(at: number): StateSet {
    while (at > this.#end && this.#index + 1 < this.#parts.length) this.#load(this.#index + 1);
    const set = this.#sets[at - this.#start];
    if (set === null || set === undefined) throw new Error("no set is known for this place");
    return set;
  }

  #load(index: number): void {
    const part = this.#parts[index];
    if (index === this.#index || part === undefined) return;
    this.#index = index;
    this.#start = part.start;
    this.#end = part.end;
    this.#sets = this.#setsOf(part);
  }
}

/** The longest text that every match contains at the same place of the pattern; empty if there is none. */
function requiredTextOf(root: PatternNode): string {
  let longest = "";
  let current = "";
  for (const node of root.type === "sequence" ? root.children : [root]) {
    const codePoint = node.type === "class" ? soleOf(node.set) : null;
    current = codePoint === null ? "" : current + String.fromCodePoint(codePoint);
    if (current.length > longest.length) longest = current;
  }
  return longest;
}

function startOfPart(text: string, end: number): number {
  const start = Math.max(0, end - PART);
  return start > 0 && codePointBefore(text, start + 1) > 0xffff ? start - 1 : start;
}

/** Returns the code point that ends at a place. Halves of characters that are alone count as such. */
function codePointBefore(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  if (unit < 0xdc00 || unit > 0xdfff || at < 2) return unit;
  const codePoint = text.codePointAt(at - 2) ?? unit;
  return codePoint > 0xffff ? codePoint : unit;
}

/** Returns the number of UTF-16 units of the character at a place; 1 at the end of the text. */
function widthAfter(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
