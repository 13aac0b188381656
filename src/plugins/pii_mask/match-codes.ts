// Matchers of values that begin with letters: IBANs and credentials. Each returns where a value that begins at a position ends, or -1.
import { isAlphanumeric, isDigit, isLetter, isToken, isWord } from "./characters.ts";
import { addToRemainder, ibanLength } from "./number-checks.ts";

const MAY_BE_IBAN = 1;
const MAY_BE_SECRET = 2;
const MAX_SECRET = 4096;
const MIN_WEB_TOKEN_PART = 10;
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

/** How credentials of well-known services begin, and how many characters follow at least. */
const SECRETS: readonly (readonly [prefix: string, atLeast: number])[] = [
  ["sk-", 20],
  ["sk_live_", 16],
  ["rk_live_", 16],
  ["pk_live_", 16],
  ["whsec_", 16],
  ["ghp_", 36],
  ["gho_", 36],
  ["ghu_", 36],
  ["ghs_", 36],
  ["ghr_", 36],
  ["github_pat_", 22],
  ["glpat-", 20],
  ["npm_", 36],
  ["hf_", 30],
  ["gsk_", 20],
  ["xai-", 20],
  ["xoxb-", 10],
  ["xoxp-", 10],
  ["xoxa-", 10],
  ["xoxr-", 10],
  ["xoxs-", 10],
  ["AKIA", 16],
  ["ASIA", 16],
  ["AIza", 35],
];
/** The prefixes by their first two characters: most words have other ones. */
const SECRETS_BY_START = Map.groupBy(SECRETS, ([prefix]) => pairAt(prefix, 0));

function pairAt(text: string, at: number): number {
  return text.charCodeAt(at) * 256 + text.charCodeAt(at + 1);
}

/** By the first two characters, of seven bits each: whether an IBAN or a credential may begin with them. */
const CODE_STARTS = Uint8Array.from({ length: 128 * 128 }, (_, pair) =>
  isLetter(pair >> 7) && ibanLength(pair >> 7, pair & 127) > 0 ? MAY_BE_IBAN : 0,
);
for (const prefix of [...SECRETS.map(([each]) => each), "eyJ"])
  CODE_STARTS[(prefix.charCodeAt(0) << 7) | prefix.charCodeAt(1)] = MAY_BE_SECRET;

/** Whether an IBAN or a credential may begin with the letter `first` at a position. Few words need a look at more than two characters. */
export function mayCodeBegin(text: string, start: number, first: number): boolean {
  const second = text.charCodeAt(start + 1);
  const flags = second < 128 ? CODE_STARTS[(first << 7) | second] : 0;
  if (flags === 0) return false;
  return (
    flags === MAY_BE_SECRET || (isDigit(text.charCodeAt(start + 2)) && isDigit(text.charCodeAt(start + 3)))
  );
}

/** `runs` are those of the text, for one search from its start to its end. */
export function secretEnd(text: string, start: number, runs: TokenRuns): number {
  if (text.startsWith("eyJ", start)) return runs.webTokenEnd(start);
  const candidates = SECRETS_BY_START.get(pairAt(text, start));
  if (candidates === undefined) return -1;
  for (const [prefix, atLeast] of candidates) {
    if (!text.startsWith(prefix, start)) continue;
    const from = start + prefix.length;
    const end = Math.min(runs.endFrom(start), from + MAX_SECRET);
    if (end - from >= atLeast) return end;
  }
  return -1;
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
  let at = start;
  while (at - start < MAX_SECRET && isToken(text.charCodeAt(at))) at++;
  return at - start < MIN_WEB_TOKEN_PART ? -1 : at;
}
