// Compiles a parsed pattern to a nondeterministic automaton whose paths are ordered: the first path that leads to the end of a match is
// the match that ECMA-262 prescribes.
import type { CodePointSet } from "./code-point-sets.ts";
import type { PatternNode } from "./linear-pattern-syntax.ts";
import { PatternAlphabet } from "./pattern-alphabet.ts";
import type { Assertion } from "./pattern-assertions.ts";

const MAX_STATES = 4000;

interface ProgramState {
  /** 1 for each class of characters that leads to the next state; null if no character is read. */
  readonly characters: Uint8Array | null;
  /** Null if there is no condition. */
  readonly assertion: Assertion | null;
  /** The next states; the preferred one is first. */
  readonly next: number[];
}

/** A match ends in this state. */
export const ACCEPT = 0;
/** Leads nowhere. */
const FAIL = 1;

export class PatternProgram {
  readonly states: ProgramState[] = [];
  readonly alphabet: PatternAlphabet;
  readonly hasAssertions: boolean;
  readonly start: number;

  constructor(root: PatternNode) {
    const sets = new Set<CodePointSet>();
    this.hasAssertions = collect(root, sets);
    this.alphabet = new PatternAlphabet(sets, this.hasAssertions);
    this.#add(null, []);
    this.#add(null, []);
    this.start = this.#compile(root, ACCEPT, ACCEPT);
  }

  #add(characters: Uint8Array | null, next: number[], assertion: Assertion | null = null): number {
    if (this.states.length >= MAX_STATES)
      throw new Error("the pattern is too large; use smaller repetitions");
    return this.states.push({ characters, assertion, next }) - 1;
  }

  /**
   * Returns the state in which the node begins. It ends in `consumed` if it has read a character, and in `empty` if not: an optional
   * repetition that reads nothing fails, and the next alternative is tried.
   */
  #compile(node: PatternNode, consumed: number, empty: number): number {
    switch (node.type) {
      case "class":
        return this.#add(this.alphabet.membersOf(node.set), [consumed]);
      case "assertion":
        return this.#add(null, [empty], node.assertion);
      case "sequence":
        return this.#sequence(node.children, consumed, empty);
      case "choice":
        return this.#add(
          null,
          node.children.map((child) => this.#compile(child, consumed, empty)),
        );
      case "repeat":
        return this.#repeat(node, consumed, empty);
    }
  }

  #sequence(children: readonly PatternNode[], consumed: number, empty: number): number {
    let [afterConsumed, afterEmpty] = [consumed, empty];
    for (const [index, child] of children.toReversed().entries()) {
      const isFirst = index === children.length - 1;
      const isSame = afterConsumed === afterEmpty || !canBeEmpty(child);
      const nextEmpty = isSame
        ? this.#compile(child, afterConsumed, afterConsumed)
        : this.#compile(child, afterConsumed, afterEmpty);
      if (!isFirst) afterConsumed = isSame ? nextEmpty : this.#compile(child, afterConsumed, afterConsumed);
      afterEmpty = nextEmpty;
    }
    return afterEmpty;
  }

  #repeat(node: PatternNode & { type: "repeat" }, consumed: number, empty: number): number {
    const { child, min, max, isLazy } = node;
    let afterConsumed = consumed;
    let afterEmpty = empty;
    const choose = (body: number, exit: number): number[] => (isLazy ? [exit, body] : [body, exit]);
    if (max === null) {
      afterConsumed = this.#add(null, []);
      const body = this.#compile(child, afterConsumed, FAIL);
      this.states[afterConsumed]?.next.push(...choose(body, consumed));
      afterEmpty = consumed === empty ? afterConsumed : this.#add(null, choose(body, empty));
    } else
      for (let count = min; count < max; count++) {
        const body = this.#compile(child, afterConsumed, FAIL);
        afterConsumed = this.#add(null, choose(body, consumed));
        afterEmpty = consumed === empty ? afterConsumed : this.#add(null, choose(body, empty));
      }
    return this.#sequence(
      Array.from({ length: min }, () => child),
      afterConsumed,
      afterEmpty,
    );
  }
}

/** Collects the sets of characters. Returns whether the pattern has assertions. */
function collect(node: PatternNode, sets: Set<CodePointSet>): boolean {
  switch (node.type) {
    case "class":
      sets.add(node.set);
      return false;
    case "assertion":
      return true;
    case "repeat":
      return collect(node.child, sets);
    default:
      return node.children.map((child) => collect(child, sets)).includes(true);
  }
}

export function canBeEmpty(node: PatternNode): boolean {
  switch (node.type) {
    case "class":
      return false;
    case "assertion":
      return true;
    case "sequence":
      return node.children.every(canBeEmpty);
    case "choice":
      return node.children.some(canBeEmpty);
    case "repeat":
      return node.min === 0 || canBeEmpty(node.child);
  }
}
