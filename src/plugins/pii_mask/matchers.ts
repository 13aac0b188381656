// Matchers of the built-in types. Each returns where a value that begins at a position ends, or -1, after reading a bounded number of
// characters.
import { isAlphanumeric, isDigit, isHex, isLatin, isLetter, isLocal, isToken, isWord } from "./characters.ts";
import { ibanLength, isIban, isSsn, LuhnSums } from "./number-checks.ts";

const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
const MAX_ADDRESS = 45;
const MAX_SECRET = 4096;
const DOT = 0x2e;
const HYPHEN = 0x2d;
const SPACE = 0x20;
const PLUS = 0x2b;
const COLON = 0x3a;

/** Returns the address around the "@" at `at`, or null. */
export function emailAround(text: string, at: number): { start: number; end: number } | null {
  let start = at;
  while (start > 0 && at - start < MAX_LOCAL && isLocal(text.charCodeAt(start - 1))) start--;
  while (start < at && !isAlphanumericOrLatin(text.charCodeAt(start))) start++;
  if (start === at) return null;
  const end = domainEnd(text, at + 1);
  return end < 0 ? null : { start, end };
}

/** Returns the end of a domain with at least two labels, of which the last has two letters or more, and no digits. */
function domainEnd(text: string, start: number): number {
  let end = -1;
  let labelStart = start;
  let lettersOnly = true;
  const last = Math.min(text.length, start + MAX_DOMAIN);
  for (let at = start; at <= last; at++) {
    const unit = at < last ? text.charCodeAt(at) : SPACE;
    if (isLetter(unit) || isLatin(unit)) continue;
    if (isDigit(unit) || unit === HYPHEN) {
      lettersOnly = false;
      continue;
    }
    const labelEnd = withoutHyphens(text, labelStart, at);
    if (labelEnd === labelStart || text.charCodeAt(labelStart) === HYPHEN) return end;
    const isTopLevel = labelEnd - labelStart >= 2 && (lettersOnly || isEncodedLabel(text, labelStart));
    if (labelStart > start && isTopLevel) end = labelEnd;
    if (unit !== DOT || labelEnd !== at) return end;
    labelStart = at + 1;
    lettersOnly = true;
  }
  return end;
}

function withoutHyphens(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && text.charCodeAt(at - 1) === HYPHEN) at--;
  return at;
}

/** Whether the label has letters that are not ASCII, in Punycode. */
function isEncodedLabel(text: string, start: number): boolean {
  return text.slice(start, start + 4).toLowerCase() === "xn--";
}

function isAlphanumericOrLatin(unit: number): boolean {
  return isAlphanumeric(unit) || isLatin(unit);
}

/**
 * Whether a number that begins here may be a value: it has 13 digits or more, or a separator and a digit or a colon follow. A
 * number without any, such as a year, is none. A colon may also follow the hex digits of a group.
 */
export function mayBeginNumber(text: string, start: number): boolean {
  let at = start + 1;
  while (at - start < 13 && isDigit(text.charCodeAt(at))) at++;
  if (at - start >= 13) return true;
  const unit = text.charCodeAt(at);
  if (unit === SPACE || unit === HYPHEN || unit === DOT) return isDigit(text.charCodeAt(at + 1));
  return unit === COLON || (at - start < 4 && isHex(unit) && hasColonAfterGroup(text, start));
}

/** 13 to 19 digits, with single spaces or hyphens between them. The longest number with a valid checksum counts. */
export function creditCardEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first < 0x32 || first > 0x36) return -1;
  const luhn = new LuhnSums();
  let end = -1;
  for (let at = start; luhn.length < 19; at++) {
    const unit = text.charCodeAt(at);
    if (!isDigit(unit)) {
      if ((unit !== SPACE && unit !== HYPHEN) || !isDigit(text.charCodeAt(at + 1))) break;
      continue;
    }
    luhn.add(unit - 0x30);
    if (luhn.length >= 13 && luhn.isValid && !isWord(text.charCodeAt(at + 1))) end = at + 1;
  }
  return end;
}

/** `078-05-1120` or `078 05 1120`. */
export function ssnEnd(text: string, start: number): number {
  const separator = text.charCodeAt(start + 3);
  if ((separator !== HYPHEN && separator !== SPACE) || text.charCodeAt(start + 6) !== separator) return -1;
  const digits =
    text.slice(start, start + 3) + text.slice(start + 4, start + 6) + text.slice(start + 7, start + 11);
  if (digits.length !== 9 || !areDigits(digits)) return -1;
  const next = text.charCodeAt(start + 11);
  const goesOn = isWord(next) || (next === HYPHEN && isDigit(text.charCodeAt(start + 12)));
  return !goesOn && isSsn(digits) ? start + 11 : -1;
}

function areDigits(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/** A country, two check digits, and groups of letters and digits that may be separated by spaces. */
export function ibanEnd(text: string, start: number): number {
  if (!mayIbanBegin(text, start)) return -1;
  const length = ibanLength(text.slice(start, start + 2));
  if (length === null) return -1;
  let iban = "";
  let at = start;
  for (; iban.length < length; at++) {
    const unit = text.charCodeAt(at);
    if (isAlphanumeric(unit)) iban += text.charAt(at);
    else if (unit !== SPACE || !isAlphanumeric(text.charCodeAt(at + 1))) return -1;
  }
  return !isWord(text.charCodeAt(at)) && isIban(iban) ? at : -1;
}

/** The check digits follow the country. */
export function mayIbanBegin(text: string, start: number): boolean {
  return isDigit(text.charCodeAt(start + 2)) && isDigit(text.charCodeAt(start + 3));
}

/** `+` and 7 to 15 digits with separators (E.164), or ten digits of North America in groups. */
export function phoneEnd(text: string, start: number): number {
  return text.charCodeAt(start) === PLUS ? internationalEnd(text, start) : northAmericanEnd(text, start);
}

function internationalEnd(text: string, start: number): number {
  let digits = 0;
  let separators = 0;
  let end = -1;
  for (let at = start + 1; digits <= 15 && separators <= 2; at++) {
    const unit = text.charCodeAt(at);
    if (isDigit(unit)) {
      if (digits === 0 && unit === 0x30) return -1;
      digits++;
      separators = 0;
      if (digits >= 7 && !isWord(text.charCodeAt(at + 1))) end = at + 1;
    } else if (digits > 0 && PHONE_SEPARATORS.includes(text.charAt(at)) && at < text.length) separators++;
    else break;
  }
  return digits > 15 ? -1 : end;
}

const PHONE_SEPARATORS = " -./()";

function northAmericanEnd(text: string, start: number): number {
  let at = start;
  const hasParenthesis = text.charAt(at) === "(";
  if (hasParenthesis) at++;
  if (!isGroup(text, at, 3) || text.charCodeAt(at) < 0x32) return -1;
  at += 3;
  if (hasParenthesis && text.charAt(at++) !== ")") return -1;
  const separator = text.charAt(at);
  const isSeparated = separator !== "" && " -.".includes(separator);
  if (!isSeparated && !hasParenthesis) return -1;
  if (isSeparated) at++;
  if (!isGroup(text, at, 3) || text.charCodeAt(at) < 0x32) return -1;
  at += 3;
  const second = text.charAt(at);
  if (second === "" || !(hasParenthesis ? " -." : separator).includes(second)) return -1;
  at++;
  return isGroup(text, at, 4) && !isWord(text.charCodeAt(at + 4)) ? at + 4 : -1;
}

function isGroup(text: string, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/** Four numbers up to 255. A longer sequence, such as a version, is none. */
export function ipv4End(text: string, start: number): number {
  if (text.charCodeAt(start - 1) === DOT) return -1;
  let at = start;
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && text.charCodeAt(at++) !== DOT) return -1;
    const from = at;
    while (at - from < 4 && isDigit(text.charCodeAt(at))) at++;
    // Most numbers end here.
    if (octet < 3 && text.charCodeAt(at) !== DOT) return -1;
    const digits = text.slice(from, at);
    if (digits === "" || Number(digits) > 255 || (digits.length > 1 && digits.startsWith("0"))) return -1;
  }
  const next = text.charCodeAt(at);
  const goesOn = isWord(next) || (next === DOT && isDigit(text.charCodeAt(at + 1)));
  return goesOn ? -1 : at;
}

export function ipv6End(text: string, start: number): number {
  if (!hasColonAfterGroup(text, start)) return -1;
  let end = start;
  while (end - start <= MAX_ADDRESS && (isHex(text.charCodeAt(end)) || text.charCodeAt(end) === COLON)) end++;
  if (isWord(text.charCodeAt(end))) return -1;
  if (text.charCodeAt(end - 1) === COLON && text.charCodeAt(end - 2) !== COLON) end--;
  return isIpv6(text.slice(start, end)) ? end : -1;
}

/** Whether at most four hex digits and a colon follow. */
export function hasColonAfterGroup(text: string, start: number): boolean {
  let at = start;
  while (at - start < 4 && isHex(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}

function isIpv6(address: string): boolean {
  const halves = address.split("::");
  if (halves.length > 2 || address.length < 4) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  if (!groups.every((group) => group !== "" && group.length <= 4)) return false;
  return halves.length === 1 ? groups.length === 8 : groups.length >= 1 && groups.length <= 7;
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

export function secretEnd(text: string, start: number): number {
  if (text.charCodeAt(start + 2) === 0x4a && text.startsWith("eyJ", start)) return webTokenEnd(text, start);
  const candidates = maySecretBegin(text, start) ? SECRETS_BY_START.get(pairAt(text, start)) : undefined;
  if (candidates === undefined) return -1;
  for (const [prefix, atLeast] of candidates) {
    if (!text.startsWith(prefix, start)) continue;
    const from = start + prefix.length;
    const end = tokenEnd(text, from);
    if (end - from >= atLeast) return end;
  }
  return -1;
}

/** By the first two characters, of seven bits each. */
const SECRET_STARTS = new Uint8Array(128 * 128);
for (const prefix of [...SECRETS.map(([each]) => each), "eyJ"])
  SECRET_STARTS[prefix.charCodeAt(0) * 128 + prefix.charCodeAt(1)] = 1;

/** Whether the first two characters are those of a credential. */
export function maySecretBegin(text: string, start: number): boolean {
  const second = text.charCodeAt(start + 1);
  return second < 128 && SECRET_STARTS[text.charCodeAt(start) * 128 + second] === 1;
}

/** A JSON Web Token: three parts of base64url. */
function webTokenEnd(text: string, start: number): number {
  let at = start;
  for (let part = 0; part < 3; part++) {
    if (part > 0 && text.charCodeAt(at++) !== DOT) return -1;
    const end = tokenEnd(text, at);
    if (end - at < 10) return -1;
    at = end;
  }
  return at;
}

function tokenEnd(text: string, start: number): number {
  let at = start;
  while (at - start < MAX_SECRET && isToken(text.charCodeAt(at))) at++;
  return at;
}
