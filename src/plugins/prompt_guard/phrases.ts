// Finds phrases in a text: sequences of words with a bounded number of other words between them, in one pass.

/** Words in lower case, separated by spaces; up to `gap` other words may precede them (none before the first slot). */
export interface Slot {
  readonly words: string;
  readonly gap: number;
}

export interface Phrase {
  readonly slots: readonly Slot[];
  /** The phrase does not count if one of the three words before it negates it: "do not ignore the previous instructions". */
  readonly isNegatable?: boolean;
}

/** A sentence ends here: no phrase continues after it. */
const END = -1;
const UNKNOWN = 0;
const NEGATIONS = "not never dont cannot cant wont shouldnt without doesnt didnt";
const NEGATION_DISTANCE = 3;
/** No word of a phrase is longer, apostrophes included. */
const MAX_WORD_LENGTH = 32;

interface CompiledSlot {
  readonly has: Uint8Array;
  readonly gap: number;
}

interface CompiledPhrase<Id> {
  readonly id: Id;
  readonly slots: readonly CompiledSlot[];
  readonly isNegatable: boolean;
}

/** The phrases of all rules. The words of a text become numbers once, and every phrase is compared with the numbers. */
export class PhraseTable<Id> {
  readonly #numbers = new Map<string, number>();
  readonly #negations: Uint8Array;
  readonly #byFirst: readonly CompiledPhrase<Id>[][];

  constructor(phrases: readonly { readonly id: Id; readonly phrase: Phrase }[]) {
    for (const { phrase } of phrases)
      for (const { words } of phrase.slots) for (const word of words.split(" ")) this.#numberOf(word);
    for (const word of NEGATIONS.split(" ")) this.#numberOf(word);
    this.#negations = this.#compile(NEGATIONS);
    this.#byFirst = Array.from({ length: this.#numbers.size + 1 }, () => []);
    for (const { id, phrase } of phrases) {
      const slots = phrase.slots.map(({ words, gap }) => ({ has: this.#compile(words), gap }));
      const compiled = { id, slots, isNegatable: phrase.isNegatable === true };
      for (const [number, isFirst] of (slots[0]?.has ?? []).entries())
        if (isFirst === 1) this.#byFirst[number]?.push(compiled);
    }
  }

  /** Adds the ids of the phrases in the text. The text is in lower case. */
  find(text: string, found: Set<Id>): void {
    const words = readWords(text, this.#numbers);
    for (let at = 0; at < words.length; at++) {
      const word = words[at] ?? UNKNOWN;
      if (word <= UNKNOWN) continue;
      for (const phrase of this.#byFirst[word] ?? [])
        if (!found.has(phrase.id) && this.#matches(words, at, phrase)) found.add(phrase.id);
    }
  }

  /** Each slot takes the nearest word that fits, so that the work per word is bounded by the sum of the gaps. */
  #matches(words: readonly number[], start: number, { slots, isNegatable }: CompiledPhrase<Id>): boolean {
    let at = start;
    for (let index = 1; index < slots.length; index++) {
      const slot = slots[index];
      if (slot === undefined) return false;
      const last = at + 1 + slot.gap;
      do at++;
      while (at <= last && (words[at] ?? END) !== END && slot.has[words[at] ?? 0] !== 1);
      if (at > last || (words[at] ?? END) === END) return false;
    }
    return !isNegatable || !this.#isNegated(words, start);
  }

  #isNegated(words: readonly number[], start: number): boolean {
    for (let at = start - 1; at >= start - NEGATION_DISTANCE && (words[at] ?? END) !== END; at--)
      if (this.#negations[words[at] ?? 0] === 1) return true;
    return false;
  }

  #numberOf(word: string): void {
    if (!this.#numbers.has(word)) this.#numbers.set(word, this.#numbers.size + 1);
  }

  #compile(words: string): Uint8Array {
    const has = new Uint8Array(this.#numbers.size + 1);
    for (const word of words.split(" ")) has[this.#numbers.get(word) ?? 0] = 1;
    return has;
  }
}

const SEPARATOR = 0;
const WORD = 1;
const STOP = 2;
const APOSTROPHE = 3;
const COLON = 4;
const BACKSLASH = 5;

const CLASSES = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/[a-z0-9]/.test(character)) return WORD;
  if (/[.!?;]/.test(character)) return STOP;
  if (character === "'") return APOSTROPHE;
  if (character === "\\") return BACKSLASH;
  return character === ":" ? COLON : SEPARATOR;
});

function classOf(unit: number): number {
  if (unit < 128) return CLASSES[unit] ?? SEPARATOR;
  if (unit === 0x2019) return APOSTROPHE;
  if (unit === 0x3002) return STOP;
  // Latin-1 symbols, general punctuation to dingbats, CJK punctuation, and what replaces invalid bytes are no letters.
  const isSymbol =
    unit < 0xc0 || (unit >= 0x2000 && unit < 0x2c00) || (unit >= 0x3000 && unit < 0x3040) || unit === 0xfffd;
  return isSymbol ? SEPARATOR : WORD;
}

/** The number of each word. An apostrophe is part of no word: "don't" is "dont". A colon is a word. */
function readWords(text: string, numbers: ReadonlyMap<string, number>): number[] {
  const words: number[] = [];
  const colon = numbers.get(":") ?? UNKNOWN;
  for (let at = 0; at < text.length; at++) {
    const kind = classOf(text.charCodeAt(at));
    if (kind === WORD) {
      const end = wordEnd(text, at);
      words.push(end - at > MAX_WORD_LENGTH ? UNKNOWN : (numbers.get(plainWord(text, at, end)) ?? UNKNOWN));
      at = end - 1;
    } else if (kind === COLON) words.push(colon);
    else if (kind === STOP && isSentenceEnd(text, at + 1)) words.push(END);
    // A JSON text within a string has its line breaks escaped: the letter is part of the escape, not of the next word.
    else if (kind === BACKSLASH && "nrt".includes(text.charAt(at + 1))) at++;
  }
  return words;
}

function wordEnd(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end++) {
    const kind = classOf(text.charCodeAt(end));
    if (kind !== WORD && kind !== APOSTROPHE) break;
  }
  return end;
}

/** A replacement takes longer than the rest, and most words have no apostrophe. */
function plainWord(text: string, start: number, end: number): string {
  const word = text.slice(start, end);
  return word.includes("'") || word.includes("\u2019") ? word.replace(/['\u2019]/g, "") : word;
}

/** Whether the sentence ends before `at`: the period of "v1.2" ends none. */
function isSentenceEnd(text: string, at: number): boolean {
  return at >= text.length || classOf(text.charCodeAt(at)) !== WORD;
}
