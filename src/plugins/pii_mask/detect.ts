// Finds values of the configured types in a text, in one pass and without backtracking.
import { LinearPattern } from "../../sdk/index.ts";
import {
  AT_COLON,
  AT_DIGIT,
  AT_HEX_LETTER,
  AT_LETTER,
  AT_PHONE,
  AT_SIGN,
  NOTHING,
  STARTS,
  WORD,
} from "./characters.ts";
import {
  creditCardEnd,
  emailAround,
  hasColonAfterGroup,
  ibanEnd,
  ipv4End,
  ipv6End,
  mayBeginNumber,
  mayIbanBegin,
  maySecretBegin,
  phoneEnd,
  secretEnd,
  ssnEnd,
} from "./matchers.ts";
import type { PiiMaskSettings, PiiType } from "./settings.ts";

export interface Finding {
  /** A built-in type or the name of a custom pattern. */
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Returns the findings in order, without overlaps. */
export type Detect = (text: string) => Finding[];

interface Matcher {
  readonly type: PiiType;
  readonly endOf: (text: string, start: number) => number;
}

/** The matchers that are tried at a character, by what may begin there. The first that matches counts: more specific ones are first. */
const MATCHERS: Readonly<Record<number, readonly Matcher[]>> = {
  [AT_DIGIT]: [
    { type: "us_ssn", endOf: ssnEnd },
    { type: "credit_card", endOf: creditCardEnd },
    { type: "ip", endOf: ipv4End },
    { type: "phone", endOf: phoneEnd },
    { type: "ip", endOf: ipv6End },
  ],
  [AT_LETTER]: [
    { type: "secret", endOf: secretEnd },
    { type: "iban", endOf: ibanEnd },
  ],
  [AT_HEX_LETTER]: [
    { type: "secret", endOf: secretEnd },
    { type: "iban", endOf: ibanEnd },
    { type: "ip", endOf: ipv6End },
  ],
  [AT_PHONE]: [{ type: "phone", endOf: phoneEnd }],
  [AT_COLON]: [{ type: "ip", endOf: ipv6End }],
};

export function compileDetector({ types, custom }: Pick<PiiMaskSettings, "types" | "custom">): Detect {
  const selected = new Set<PiiType>(types);
  const scanner: Scanner = {
    hasEmail: selected.has("email"),
    matchers: Array.from({ length: AT_SIGN + 1 }, (_, start) =>
      (MATCHERS[start] ?? []).filter(({ type }) => selected.has(type)),
    ),
  };
  const patterns = custom.map(({ name, pattern }) => ({ name, pattern: new LinearPattern(pattern) }));
  return (text) => {
    const found = scan(text, scanner);
    if (patterns.length === 0) return found;
    const own = patterns.flatMap(({ name, pattern }) =>
      pattern.matches(text).map(({ start, end }) => ({ type: name, start, end })),
    );
    return withoutOverlaps([...own, ...found]);
  };
}

interface Scanner {
  readonly hasEmail: boolean;
  readonly matchers: readonly (readonly Matcher[])[];
}

function scan(text: string, scanner: Scanner): Finding[] {
  const found: Finding[] = [];
  let wasWord = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const start = unit < 128 ? (STARTS[unit] ?? NOTHING) : NOTHING;
    if (start === AT_SIGN) {
      if (scanner.hasEmail) at = takeEmail(text, at, found);
      wasWord = false;
      continue;
    }
    if (!wasWord && start > WORD && mayBegin(text, at, start)) {
      const finding = first(text, at, scanner.matchers[start]);
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
 * Whether a value of any type may begin at a character. Most words and numbers end the search here, after two or three characters: the
 * matchers themselves are called in a loop, which costs several times as much.
 */
function mayBegin(text: string, at: number, start: number): boolean {
  switch (start) {
    case AT_DIGIT:
      return mayBeginNumber(text, at);
    case AT_LETTER:
      return maySecretBegin(text, at) || mayIbanBegin(text, at);
    case AT_HEX_LETTER:
      return maySecretBegin(text, at) || mayIbanBegin(text, at) || hasColonAfterGroup(text, at);
    default:
      return true;
  }
}

// An index is several times faster than an iterator, and words begin often.
function first(text: string, start: number, matchers: readonly Matcher[] | undefined): Finding | null {
  if (matchers === undefined) return null;
  for (let index = 0; index < matchers.length; index++) {
    const matcher = matchers[index];
    const end = matcher === undefined ? -1 : matcher.endOf(text, start);
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
