// Matchers of values that consist of digits: card, social security and telephone numbers, and IPv4 addresses. Each returns where a value
// that begins at a position ends, or -1, after reading a bounded number of characters and without creating strings.
import { isDigit, isWord } from "./characters.ts";
import { isSsn } from "./number-checks.ts";

const DOT = 0x2e;
const HYPHEN = 0x2d;
const SPACE = 0x20;
const PLUS = 0x2b;
const SLASH = 0x2f;
const OPEN = 0x28;
const CLOSE = 0x29;
const ZERO = 0x30;
const TWO = 0x32;
const SIX = 0x36;
export const MIN_CARD_DIGITS = 13;
const MAX_CARD_DIGITS = 19;

/** Whether a card number may begin with this character. */
export function mayCardBegin(unit: number): boolean {
  return unit >= TWO && unit <= SIX;
}

/** 13 to 19 digits, with single spaces or hyphens between them. The longest number with a valid checksum counts. */
export function creditCardEnd(text: string, start: number): number {
  if (!mayCardBegin(text.charCodeAt(start))) return -1;
  // ISO/IEC 7812-1, annex B: every second digit counts double, beginning with the one before the last. So the digits doubled in the sum
  // of a number are the others in the sum of the number with one digit more.
  let sum = 0;
  let otherSum = 0;
  let end = -1;
  for (let at = start, length = 1; length <= MAX_CARD_DIGITS; at++, length++) {
    let unit = text.charCodeAt(at);
    if (unit === SPACE || unit === HYPHEN) unit = text.charCodeAt(++at);
    if (!isDigit(unit)) break;
    const digit = unit - ZERO;
    const longerSum = otherSum + digit;
    otherSum = sum + (digit > 4 ? digit * 2 - 9 : digit * 2);
    sum = longerSum;
    if (length >= MIN_CARD_DIGITS && sum % 10 === 0 && !isWord(text.charCodeAt(at + 1))) end = at + 1;
  }
  return end;
}

/** `078-05-1120` or `078 05 1120`. */
export function ssnEnd(text: string, start: number): number {
  const separator = text.charCodeAt(start + 3);
  if ((separator !== HYPHEN && separator !== SPACE) || text.charCodeAt(start + 6) !== separator) return -1;
  const area = numberAt(text, start, 3);
  const group = numberAt(text, start + 4, 2);
  const serial = numberAt(text, start + 7, 4);
  if (area < 0 || group < 0 || serial < 0) return -1;
  const next = text.charCodeAt(start + 11);
  const goesOn = isWord(next) || (next === HYPHEN && isDigit(text.charCodeAt(start + 12)));
  return !goesOn && isSsn(area, group, serial) ? start + 11 : -1;
}

/** Returns the number with this many digits, or -1. */
function numberAt(text: string, start: number, length: number): number {
  let number = 0;
  for (let at = start; at < start + length; at++) {
    const unit = text.charCodeAt(at);
    if (!isDigit(unit)) return -1;
    number = number * 10 + unit - ZERO;
  }
  return number;
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
      if (digits === 0 && unit === ZERO) return -1;
      digits++;
      separators = 0;
      if (digits >= 7 && !isWord(text.charCodeAt(at + 1))) end = at + 1;
    } else if (digits > 0 && isPhoneSeparator(unit)) separators++;
    else break;
  }
  return digits > 15 ? -1 : end;
}

function isPhoneSeparator(unit: number): boolean {
  return isGroupSeparator(unit) || unit === SLASH || unit === OPEN || unit === CLOSE;
}

function isGroupSeparator(unit: number): boolean {
  return unit === SPACE || unit === HYPHEN || unit === DOT;
}

function northAmericanEnd(text: string, start: number): number {
  let at = start;
  const hasParenthesis = text.charCodeAt(at) === OPEN;
  if (hasParenthesis) at++;
  if (!isGroup(text, at, 3) || text.charCodeAt(at) < TWO) return -1;
  at += 3;
  if (hasParenthesis && text.charCodeAt(at++) !== CLOSE) return -1;
  const separator = text.charCodeAt(at);
  const isSeparated = isGroupSeparator(separator);
  if (!isSeparated && !hasParenthesis) return -1;
  if (isSeparated) at++;
  if (!isGroup(text, at, 3) || text.charCodeAt(at) < TWO) return -1;
  at += 3;
  const second = text.charCodeAt(at);
  if (hasParenthesis ? !isGroupSeparator(second) : second !== separator) return -1;
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
    const end = octetEnd(text, at);
    if (end < 0) return -1;
    at = end;
  }
  const next = text.charCodeAt(at);
  const goesOn = isWord(next) || (next === DOT && isDigit(text.charCodeAt(at + 1)));
  return goesOn ? -1 : at;
}

/** One to three digits, up to 255, without leading zeros. */
function octetEnd(text: string, start: number): number {
  let at = start;
  let number = 0;
  for (; at - start < 4 && isDigit(text.charCodeAt(at)); at++)
    number = number * 10 + text.charCodeAt(at) - ZERO;
  const hasLeadingZero = at - start > 1 && text.charCodeAt(start) === ZERO;
  return at === start || number > 255 || hasLeadingZero ? -1 : at;
}
