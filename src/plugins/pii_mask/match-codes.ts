// Matchers of values that begin with letters: IBANs and credentials. Each returns where a value that begins at a position ends, or -1.
import { isAlphanumeric, isDigit, isToken, isWord } from "./characters.ts";
import { addToRemainder, ibanLength } from "./number-checks.ts";
import { SECRET_PREFIXES, SENDGRID } from "./secret-prefixes.ts";

const MAX_SECRET = 4096;
const MIN_WEB_TOKEN_PART = 10;
const MIN_SENDGRID_SECRET = 20;
const DOT = 0x2e;
const SPACE = 0x20;

/** A country, two check digits, and groups of letters and digits that may be separated by spaces. */
export function ibanEnd(text: string, start: number): number {
  if (!isDigit(text.charCodeAt(start + 2)) || !isDigit(text.charCodeAt(start + 3))) return -1;
  const length = ibanLength(text.charCodeAt(start), text.charCodeAt(start + 1));
  let remainder = 0;
  let at = start + 4;
  for (let count = 4; count < length; at++) {
    const unit = text.charCodeAt(at);
    if (isAlphanumeric(unit)) {
      remainder = addToRemainder(remainder, unit);
      count++;
    } else if (unit !== SPACE || !isAlphanumeric(text.charCodeAt(at + 1))) return -1;
  }
  if (length === 0 || isWord(text.charCodeAt(at))) return -1;
  // The country and the check digits count as if they were at the end.
  for (let first = start; first < start + 4; first++)
    remainder = addToRemainder(remainder, text.charCodeAt(first));
  return remainder % 97 === 1 ? at : -1;
}

/** The prefixes by their first two characters: most words have other ones. */
const SECRETS_BY_START = Map.groupBy(SECRET_PREFIXES, ([prefix]) => pairAt(prefix, 0));

function pairAt(text: string, at: number): number {
  return text.charCodeAt(at) * 256 + text.charCodeAt(at + 1);
}

/** A bit for every sequence of three ASCII characters that a credential may begin with. */
const SECRET_STARTS = new Uint32Array(128 * 128 * 4);
for (const prefix of [...SECRET_PREFIXES.map(([each]) => each), "eyJ"]) {
  const third = prefix.charCodeAt(2);
  const index = (((prefix.charCodeAt(0) << 7) | prefix.charCodeAt(1)) << 2) | (third >> 5);
  SECRET_STARTS[index] = (SECRET_STARTS[index] ?? 0) | (1 << (third & 31));
}

/** Whether an IBAN or a credential may begin with the letter `first` at a position. */
export function mayCodeBegin(text: string, start: number, first: number): boolean {
  const second = text.charCodeAt(start + 1);
  const third = text.charCodeAt(start + 2);
  if (!(second < 128 && third < 128)) return false;
  const bits = SECRET_STARTS[(((first << 7) | second) << 2) | (third >> 5)] ?? 0;
  if ((bits & (1 << (third & 31))) !== 0) return true;
  return isDigit(third) && isDigit(text.charCodeAt(start + 3)) && ibanLength(first, second) > 0;
}

/** `runs` are those of the text, for one search from its start to its end. */
export function secretEnd(text: string, start: number, runs: TokenRuns): number {
  if (text.startsWith("eyJ", start)) return runs.webTokenEnd(start);
  const candidates = SECRETS_BY_START.get(pairAt(text, start));
  if (candidates === undefined) return -1;
  for (const [prefix, atLeast] of candidates) {
    if (!text.startsWith(prefix, start)) continue;
    const from = start + prefix.length;
    // The run of a prefix with a dot begins after it.
    const runEnd = prefix.includes(".") ? ownRunEnd(text, from) : runs.endFrom(start);
    const end = Math.min(runEnd, from + MAX_SECRET);
    if (end - from < atLeast) continue;
    return prefix === SENDGRID ? sendGridEnd(text, end) : end;
  }
  return -1;
}

function ownRunEnd(text: string, start: number): number {
  let at = start;
  while (at - start < MAX_SECRET && isToken(text.charCodeAt(at))) at++;
  return at;
}

/** Two parts: an id, and a secret of 43 characters. */
function sendGridEnd(text: string, idEnd: number): number {
  const end = text.charCodeAt(idEnd) === DOT ? ownRunEnd(text, idEnd + 1) : idEnd;
  return end - idEnd > MIN_SENDGRID_SECRET ? end : -1;
}

/**
 * The runs of base64url characters in a text. Credentials may begin at many places of a run, which is read once nevertheless. Positions
 * must be passed in ascending order.
 */
export class TokenRuns {
  readonly #text: string;
  /** The end of the last run that was read. */
  #end = 0;
  /** The second part of the web token that was searched last, and its end. */
  #secondPart = -1;
  #webTokenEnd = -1;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the end of the run that the character at `start` belongs to. */
  endFrom(start: number): number {
    if (start < this.#end) return this.#end;
    let at = start;
    while (isToken(this.#text.charCodeAt(at))) at++;
    this.#end = at;
    return at;
  }

  /** A JSON Web Token: three parts of base64url. */
  webTokenEnd(start: number): number {
    const end = this.endFrom(start);
    const length = end - start;
    if (length < MIN_WEB_TOKEN_PART || length > MAX_SECRET || this.#text.charCodeAt(end) !== DOT) return -1;
    if (this.#secondPart !== end + 1) {
      this.#secondPart = end + 1;
      const secondEnd = partEnd(this.#text, end + 1);
      this.#webTokenEnd =
        secondEnd < 0 || this.#text.charCodeAt(secondEnd) !== DOT ? -1 : partEnd(this.#text, secondEnd + 1);
    }
    return this.#webTokenEnd;
  }
}

/** Returns the end of a part of a web token, or -1. */
function partEnd(text: string, start: number): number {
  const end = ownRunEnd(text, start);
  return end - start < MIN_WEB_TOKEN_PART ? -1 : end;
}
