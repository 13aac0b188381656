// Sets of code units as lookup tables. A pattern checks one unit before and after its trigger with them, which rejects most
// candidates before any matcher runs.
import { isInClass, WORD } from "./char-classes.ts";

/** By unit: 1 if it is in the set. Index 0 is the start or end of the text; all non-ASCII units share the last index. */
export type CharSet = Uint8Array;

/** The index that all non-ASCII units share. */
export const NON_ASCII = 0x80;
export const CHAR_SET_SIZE = NON_ASCII + 1;

export function charSetHas(set: CharSet, code: number): boolean {
  return set[code < NON_ASCII ? code : NON_ASCII] === 1;
}

/** Returns the set of the units for which `test` returns true. */
export function charSetWhere(test: (code: number) => boolean): CharSet {
  const set = new Uint8Array(CHAR_SET_SIZE);
  for (let code = 0; code < CHAR_SET_SIZE; code++) if (test(code)) set[code] = 1;
  return set;
}

const setsByClasses = new Map<number, CharSet>();

function charSetOfClasses(classBits: number): CharSet {
  let set = setsByClasses.get(classBits);
  if (set === undefined) {
    set = charSetWhere((code) => isInClass(code, classBits));
    setsByClasses.set(classBits, set);
  }
  return set;
}

/** Returns the set of the units in these classes and of these characters. */
export function charSet(classBits: number, characters = ""): CharSet {
  if (characters === "") return charSetOfClasses(classBits);
  const set = charSetOfClasses(classBits).slice();
  for (let index = 0; index < characters.length; index++) {
    const code = characters.charCodeAt(index);
    set[code < NON_ASCII ? code : NON_ASCII] = 1;
  }
  return set;
}

/** Returns the set of all units except those in these classes and these characters. */
export function charSetExcept(classBits: number, characters = ""): CharSet {
  const excluded = charSet(classBits, characters);
  return charSetWhere((code) => excluded[code] === 0);
}

/** Returns the set of these characters in upper and lower case. */
export function charSetIgnoringCase(characters: string): CharSet {
  return charSet(0, characters.toLowerCase() + characters.toUpperCase());
}

/** Every unit that does not make an adjacent keyword part of a longer word. */
export const NOT_WORD: CharSet = charSetExcept(WORD);
