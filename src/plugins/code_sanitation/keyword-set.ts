// Words: finding where a word ends, reading it in lower case, and looking it up in a set of keywords.
import { isInClass, toLower, WORD } from "./char-classes.ts";
import { unitAt, type NormalizedText } from "./normalized-text.ts";
import { stepsToRead } from "./work-budget.ts";

/** Longer words are cut off here, so that the work per position is bounded. */
export const MAX_WORD_LENGTH = 40;

/** A set of keywords that ranges of a text are looked up in. First letter and length decide most lookups. */
export class KeywordSet {
  readonly #keywords: readonly string[];
  /** A hash table with linear probing: 1 + index in #keywords; 0 if empty. Created on first use: most sets are never used. */
  #slots: Int16Array | null = null;
  /** By first letter: bit n is set if a keyword has n letters. */
  readonly #lengths = new Int32Array(0x80);

  constructor(keywords: Iterable<string>) {
    this.#keywords = [...new Set(keywords)];
    for (const keyword of this.#keywords) {
      const first = keyword.charCodeAt(0);
      this.#lengths[first] = (this.#lengths[first] ?? 0) | (1 << keyword.length);
    }
  }

  has(input: NormalizedText, from: number, to: number): boolean {
    const { codes } = input;
    const lengths = this.#lengths[toLower(codes[from] ?? 0)] ?? 0;
    if ((lengths & (1 << (to - from))) === 0) return false;
    input.work.steps += STEPS_PER_LOOKUP + ((to - from) >> 2);
    let hash = 0;
    for (let index = from; index < to; index++) hash = (Math.imul(hash, 31) + toLower(codes[index] ?? 0)) | 0;
    const slots = (this.#slots ??= hashTableOf(this.#keywords));
    const last = slots.length - 1;
    for (let slot = slotOf(hash, last); slots[slot] !== 0; slot = (slot + 1) & last) {
      const keyword = this.#keywords[(slots[slot] ?? 0) - 1] ?? "";
      if (keyword.length === to - from && isTextAt(input, from, keyword)) return true;
    }
    return false;
  }
}

/** The work of looking up a word that has the first letter and the length of a keyword. */
const STEPS_PER_LOOKUP = 3;

function slotOf(hash: number, last: number): number {
  return (hash ^ (hash >>> 15)) & last;
}

/** A quarter of the slots is used, so that a lookup rarely compares more than one keyword. */
function hashTableOf(keywords: readonly string[]): Int16Array {
  let size = 4;
  while (size < keywords.length * 4) size *= 2;
  const slots = new Int16Array(size);
  for (const [index, keyword] of keywords.entries()) {
    let slot = slotOf(hashOf(keyword), size - 1);
    while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
    slots[slot] = index + 1;
  }
  return slots;
}

/** Returns whether the lower-case text is at this position, ignoring ASCII case. Creating a string to compare takes longer. */
export function isTextAt(input: NormalizedText, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (toLower(unitAt(input, at + index)) !== text.charCodeAt(index)) return false;
  return true;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return hash;
}

/** Returns the end of the word at a position; the position itself if there is no word. */
export function endOfWord(input: NormalizedText, at: number): number {
  return endOfRun(input, at, WORD, MAX_WORD_LENGTH);
}

/** Returns the end of at most `max` units of the classes. */
export function endOfRun(input: NormalizedText, at: number, classBits: number, max: number): number {
  const { codes } = input;
  const last = Math.min(at + max, input.length);
  let end = at;
  while (end < last && isInClass(codes[end] ?? 0, classBits)) end++;
  input.work.steps += stepsToRead(end - at);
  return end;
}

/** Words that were read recently, by hash: texts repeat their words, and creating a string takes longer than comparing it. */
const recentWords: string[] = new Array<string>(1024).fill("");
/** Longer texts are not kept: they are more likely keys than words. Creating one takes twice as long as reading a kept one. */
const MAX_KEPT_LENGTH = 16;

/** Returns the text from `from` up to `to`, with ASCII letters in lower case. */
export function lowerCaseText(input: NormalizedText, from: number, to: number): string {
  const length = to - from;
  input.work.steps += 1 + (length > MAX_KEPT_LENGTH ? length : length >> 1);
  let hash = 0;
  for (let index = from; index < to; index++)
    hash = (Math.imul(hash, 31) + toLower(unitAt(input, index))) | 0;
  const slot = (hash ^ (hash >>> 10)) & (recentWords.length - 1);
  const recent = recentWords[slot] ?? "";
  if (isLowerCaseText(input, from, to, recent)) return recent;
  let text = "";
  for (let index = from; index < to; index++) text += String.fromCharCode(toLower(unitAt(input, index)));
  if (length <= MAX_KEPT_LENGTH) recentWords[slot] = text;
  return text;
}

/** Returns whether the `length` units at two positions are the same, ignoring ASCII case. */
export function isSameText(input: NormalizedText, one: number, other: number, length: number): boolean {
  input.work.steps += stepsToRead(length);
  for (let index = 0; index < length; index++)
    if (toLower(unitAt(input, one + index)) !== toLower(unitAt(input, other + index))) return false;
  return true;
}

function isLowerCaseText(input: NormalizedText, from: number, to: number, text: string): boolean {
  if (text.length !== to - from) return false;
  for (let index = from; index < to; index++)
    if (toLower(unitAt(input, index)) !== text.charCodeAt(index - from)) return false;
  return true;
}

/** Splits a text at whitespace: long keyword lists read better as lines than as one quoted string per keyword. */
export function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
