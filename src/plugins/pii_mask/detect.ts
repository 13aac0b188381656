// Finds values of the configured types in a text, in one pass and without backtracking.
import {
  AT_COLON,
  AT_DIGIT,
  AT_HEX_LETTER,
  AT_LETTER,
  AT_PHONE,
  AT_SIGN,
  isDigit,
  NOTHING,
  STARTS,
  WORD,
} from "./characters.ts";
import { customPattern } from "./custom-pattern.ts";
import type { Finding } from "./finding.ts";
import { foldText } from "./fold.ts";
import { emailAround, hasColonAfterGroup, ipv6End } from "./match-addresses.ts";
import { ibanEnd, mayCodeBegin, secretEnd, TokenRuns } from "./match-codes.ts";
import { namedSecrets } from "./match-named-secrets.ts";
import { creditCardEnd, ipv4End, mayCardBegin, MIN_CARD_DIGITS, phoneEnd, ssnEnd } from "./match-numbers.ts";
import type { PiiMaskSettings, PiiType } from "./settings.ts";

const SPACE = 0x20;
const HYPHEN = 0x2d;
const DOT = 0x2e;
const COLON = 0x3a;

/** Returns the findings in order, without overlaps. `name`: the JSON field that has the text. */
export type Detect = (text: string, name?: string) => Finding[];

interface Matcher {
  readonly type: PiiType;
  readonly endOf: (text: string, start: number, runs: TokenRuns) => number;
}

const CARD: Matcher = { type: "credit_card", endOf: creditCardEnd };
const IBAN: Matcher = { type: "iban", endOf: ibanEnd };
const IPV4: Matcher = { type: "ip", endOf: ipv4End };
const IPV6: Matcher = { type: "ip", endOf: ipv6End };
const PHONE: Matcher = { type: "phone", endOf: phoneEnd };
const SECRET: Matcher = { type: "secret", endOf: secretEnd };
const SSN: Matcher = { type: "us_ssn", endOf: ssnEnd };

/** What the first characters of a word, number or sign allow. */
const NO_VALUE = 0;
const CARD_NUMBER = 1;
const GROUPS_OF_DIGITS = 2;
const DOTTED_NUMBER = 3;
const HEX_GROUP = 4;
const CODE = 5;
const PHONE_NUMBER = 6;

/** The matchers that are tried for each. The first that matches counts: more specific ones are first. */
const MATCHERS: readonly (readonly Matcher[])[] = [
  [],
  [CARD],
  [SSN, CARD, PHONE],
  [IPV4, PHONE],
  [IPV6],
  [SECRET, IBAN],
  [PHONE],
];

export function compileDetector({ types, custom }: Pick<PiiMaskSettings, "types" | "custom">): Detect {
  const selected = new Set<PiiType>(types);
  const scanner: Scanner = {
    hasEmail: selected.has("email"),
    matchers: MATCHERS.map((matchers) => matchers.filter(({ type }) => selected.has(type))),
  };
  const findBuiltIn: Detect = selected.has("secret")
    ? (text, name = "") => joined(scan(text, scanner), namedSecrets(text, name))
    : (text) => scan(text, scanner);
  const patterns = custom.map(({ name, pattern }) => ({ name, pattern: customPattern(pattern) }));
  return (text, name) => {
    const found = withFolded(text, name, findBuiltIn);
    if (patterns.length === 0) return found;
    const own = patterns.flatMap(({ name, pattern }) =>
      pattern.matches(text).map(({ start, end }) => ({ type: name, start, end })),
    );
    return own.length === 0 ? found : withoutOverlaps([...own, ...found]);
  };
}

/**
 * Adds the findings in the folded text. Folding only adds findings: a character without a width may separate a
 * value from the word before it.
 */
function withFolded(text: string, name: string | undefined, find: Detect): Finding[] {
  const found = find(text, name);
  const folded = foldText(text);
  if (folded === null) return found;
  const { positions } = folded;
  const further = find(folded.text, name).map(({ type, start, end }) => ({
    type,
    start: positions[start] ?? 0,
    end: (positions[end - 1] ?? 0) + 1,
  }));
  return joined(found, further);
}

/** Findings that overlap become one, with the type of the one that begins first. */
function joined(findings: Finding[], further: readonly Finding[]): Finding[] {
  if (further.length === 0) return findings;
  const kept: Finding[] = [];
  for (const finding of [...findings, ...further].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = kept.at(-1);
    if (last === undefined || finding.start >= last.end) kept.push(finding);
    else if (finding.end > last.end) kept[kept.length - 1] = { ...last, end: finding.end };
  }
  return kept;
}

interface Scanner {
  readonly hasEmail: boolean;
  readonly matchers: readonly (readonly Matcher[])[];
}

function scan(text: string, scanner: Scanner): Finding[] {
  const found: Finding[] = [];
  const runs = new TokenRuns(text);
  let wasWord = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const start = unit < 128 ? (STARTS[unit] ?? NOTHING) : NOTHING;
    if (start === AT_SIGN) {
      if (scanner.hasEmail) at = takeEmail(text, at, found);
      wasWord = false;
      continue;
    }
    if (!wasWord && start > WORD) {
      const allowed = allowedAt(text, at, unit, start);
      const finding = allowed === NO_VALUE ? null : first(text, at, scanner.matchers[allowed], runs);
      if (finding !== null) {
        found.push(finding);
        at = finding.end - 1;
        wasWord = true;
        continue;
      }
    }
    wasWord = start !== NOTHING && start <= AT_DIGIT;
  }
  return found;
}

/** Adds the address around the "@" at `at`, if there is one. Returns its last character, or `at`. */
function takeEmail(text: string, at: number, found: Finding[]): number {
  const email = emailAround(text, at);
  if (email === null) return at;
  // What begins within the address is part of it.
  while ((found.at(-1)?.end ?? 0) > email.start) found.pop();
  found.push({ type: "email", ...email });
  return email.end - 1;
}

/**
 * Returns which values may begin at a character. Most words and numbers end the search here, after two or three characters: calling the
 * matchers in a loop costs several times as much.
 */
function allowedAt(text: string, at: number, unit: number, start: number): number {
  switch (start) {
    case AT_DIGIT:
      return allowedAtDigit(text, at, unit);
    case AT_LETTER:
      return mayCodeBegin(text, at, unit) ? CODE : NO_VALUE;
    case AT_HEX_LETTER:
      if (hasColonAfterGroup(text, at)) return HEX_GROUP;
      return mayCodeBegin(text, at, unit) ? CODE : NO_VALUE;
    case AT_COLON:
      return text.charCodeAt(at + 1) === COLON ? HEX_GROUP : NO_VALUE;
    case AT_PHONE:
      return PHONE_NUMBER;
    default:
      return NO_VALUE;
  }
}

/** A number without a separator and another digit after it, such as a year, is no value unless it is as long as that of a card. */
function allowedAtDigit(text: string, start: number, unit: number): number {
  let end = start + 1;
  while (end - start < MIN_CARD_DIGITS && isDigit(text.charCodeAt(end))) end++;
  const length = end - start;
  const next = text.charCodeAt(end);
  if (
    length >= MIN_CARD_DIGITS ||
    ((next === SPACE || next === HYPHEN) && isDigit(text.charCodeAt(end + 1)))
  ) {
    if (length === 3) return GROUPS_OF_DIGITS;
    return mayCardBegin(unit) ? CARD_NUMBER : NO_VALUE;
  }
  if (next === DOT) return length <= 3 && isDigit(text.charCodeAt(end + 1)) ? DOTTED_NUMBER : NO_VALUE;
  return length <= 4 && hasColonAfterGroup(text, start) ? HEX_GROUP : NO_VALUE;
}

// An index is several times faster than an iterator, and words begin often.
function first(
  text: string,
  start: number,
  matchers: readonly Matcher[] | undefined,
  runs: TokenRuns,
): Finding | null {
  if (matchers === undefined) return null;
  for (let index = 0; index < matchers.length; index++) {
    const matcher = matchers[index];
    const end = matcher === undefined ? -1 : matcher.endOf(text, start, runs);
    if (matcher !== undefined && end > start) return { type: matcher.type, start, end };
  }
  return null;
}

/** Of findings that overlap, the one that begins first counts, then the longer one, then the one that is listed first. */
function withoutOverlaps(findings: readonly Finding[]): Finding[] {
  const kept: Finding[] = [];
  for (const finding of findings.toSorted((a, b) => a.start - b.start || b.end - a.end))
    if (finding.start >= (kept.at(-1)?.end ?? 0)) kept.push(finding);
  return kept;
}
