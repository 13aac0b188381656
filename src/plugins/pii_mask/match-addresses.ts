// Matchers of e-mail and IPv6 addresses. They read a bounded number of characters.
import {
  DOMAIN_LETTER,
  DOMAIN_OTHER,
  domainKind,
  isAlphanumeric,
  isHex,
  isLatin,
  isLocal,
  isWord,
} from "./characters.ts";

const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
const MIN_IPV6_LENGTH = 4;
const DOT = 0x2e;
const HYPHEN = 0x2d;
const SPACE = 0x20;
const COLON = 0x3a;

/** Returns the address around the "@" at `at`, or null. */
export function emailAround(text: string, at: number): { start: number; end: number } | null {
  // What follows decides more often than what precedes, and is read only up to the first character that no domain has.
  if (at === 0 || !isLocal(text.charCodeAt(at - 1))) return null;
  const end = domainEnd(text, at + 1);
  if (end < 0) return null;
  let start = at - 1;
  while (start > 0 && at - start < MAX_LOCAL && isLocal(text.charCodeAt(start - 1))) start--;
  while (start < at && !isAlphanumericOrLatin(text.charCodeAt(start))) start++;
  return start === at ? null : { start, end };
}

/** Returns the end of a domain with at least two labels, of which the last has two letters or more, and no digits. */
function domainEnd(text: string, start: number): number {
  let end = -1;
  let labelStart = start;
  let lettersOnly = true;
  const last = Math.min(text.length, start + MAX_DOMAIN);
  for (let at = start; at <= last; at++) {
    const unit = at < last ? text.charCodeAt(at) : SPACE;
    const kind = domainKind(unit);
    if (kind === DOMAIN_LETTER) continue;
    if (kind === DOMAIN_OTHER) {
      lettersOnly = false;
      continue;
    }
    const labelEnd = text.charCodeAt(at - 1) === HYPHEN ? withoutHyphens(text, labelStart, at) : at;
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

/** Eight groups of up to four hex digits, or fewer with one "::". Stops at the first character that no address has at its place. */
export function ipv6End(text: string, start: number): number {
  if (text.charCodeAt(start) === COLON && text.charCodeAt(start + 1) !== COLON) return -1;
  let groups = 0;
  let maxGroups = 8;
  let digits = 0;
  let colons = 0;
  let at = start;
  for (; ; at++) {
    const unit = text.charCodeAt(at);
    if (isHex(unit)) {
      if (digits === 0) groups++;
      digits++;
      colons = 0;
      if (digits > 4 || groups > maxGroups) return -1;
    } else if (unit === COLON) {
      digits = 0;
      colons++;
      if (colons === 1) continue;
      if (colons > 2 || maxGroups < 8 || groups > 7) return -1;
      maxGroups = 7;
    } else {
      if (isWord(unit)) return -1;
      break;
    }
  }
  // A single colon at the end is punctuation.
  const end = colons === 1 ? at - 1 : at;
  const isComplete = maxGroups < 8 ? groups > 0 : groups === 8;
  return isComplete && end - start >= MIN_IPV6_LENGTH ? end : -1;
}

/** Whether at most four hex digits and a colon follow. */
export function hasColonAfterGroup(text: string, start: number): boolean {
  let at = start;
  while (at - start < 4 && isHex(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}
