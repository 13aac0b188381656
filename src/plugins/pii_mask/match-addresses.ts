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
import { ipv4End } from "./match-numbers.ts";

const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
/** How far before an address the bracket of a subscript is searched. */
const MAX_SUBSCRIPT = 64;
const LINE_FEED = 0x0a;
const CLOSING_PARENTHESIS = 0x29;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
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

/**
 * Eight groups of up to four hex digits, or fewer with one "::", of which the last two may be an IPv4 address. Stops
 * at the first character that no address has at its place.
 */
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
  let end = colons === 1 ? at - 1 : at;
  const embedded = digits > 0 && groups < maxGroups ? ipv4End(text, at - digits) : -1;
  if (embedded > 0) {
    end = embedded;
    groups++;
  }
  if (maxGroups === 8) return groups === 8 ? end : -1;
  return groups > 2 || (groups > 0 && isShortAddress(text, start, end)) ? end : -1;
}

/**
 * Whether two groups or fewer with "::" are an address: slices (`xs[1::2]`) and scopes (`Add::add`) look like one.
 * An address is `::1`, or begins with an assigned prefix (RFC 4291, and IANA's registry of special-purpose
 * addresses) and has a digit.
 */
function isShortAddress(text: string, start: number, end: number): boolean {
  const address = text.slice(start, end);
  return (address === "::1" || SHORT_ADDRESS.test(address)) && !isInSubscript(text, start);
}

/** Global unicast, unique local, link-local and multicast addresses, NAT64, and the discard prefix. */
const SHORT_ADDRESS = /^(?=.*\d)(?:[23][\da-f]{3}|f[cdf][\da-f]{2}|fe[89ab][\da-f]|64|100)::/i;

/** Whether a bracket that follows a name or an expression is open before `start`, outside of a string. */
function isInSubscript(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1);
  if (before === QUOTE || before === APOSTROPHE) return false;
  const first = Math.max(0, start - MAX_SUBSCRIPT);
  let closed = 0;
  for (let at = start - 1; at >= first; at--) {
    const unit = text.charCodeAt(at);
    if (unit === LINE_FEED) return false;
    if (unit === CLOSING_BRACKET) closed++;
    else if (unit === OPENING_BRACKET && closed-- === 0) return isSubscripted(text.charCodeAt(at - 1));
  }
  return false;
}

function isSubscripted(unit: number): boolean {
  return isWord(unit) || unit === CLOSING_BRACKET || unit === CLOSING_PARENTHESIS;
}

/** Whether at most four hex digits and a colon follow. */
export function hasColonAfterGroup(text: string, start: number): boolean {
  let at = start;
  while (at - start < 4 && isHex(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}
