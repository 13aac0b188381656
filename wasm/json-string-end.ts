// Finds the end of a JSON string in memory, 64 bytes at a time, or of an object or array, and validates it. AssemblyScript, not TypeScript:
// `npm run build:wasm` compiles this file to src/base/json-string-end-wasm.ts. Bit n of each u64 describes byte n of the block of 64 bytes.
import { bits } from "./lanes";

/** No closing quote up to the limit. Continue with `continueString` where the last whole block ended. */
const UNFINISHED: i32 = 0;
const INVALID: i32 = -1;
const TOO_DEEP: i32 = -2;
const TOO_DENSE: i32 = -3;

/** The memory before the text, as src/base/json-string-end-simd.ts describes it. */
const VALUES_LEFT: usize = 0;
const MAY_HAVE_SUFFIXES: usize = 4;
/** The closing byte that each open object or array needs, by depth. */
const CLOSERS: usize = 64;
/** By the last byte of a key, the number of the suffix that ends with it; 0 if there is none. */
const SUFFIX_NUMBERS: usize = 1024;
/** Each suffix: its length, and its bytes. Number 0 is not used. */
const SUFFIXES: usize = 1280;
const SUFFIX_SHIFT: usize = 5;

/** As in src/base/json-scanner.ts. */
const MAX_DEPTH: usize = 512;

const COMMA: u8 = 0x2c;
const COLON: u8 = 0x3a;
const OPEN_BRACKET: u8 = 0x5b;
const OPEN_BRACE: u8 = 0x7b;
const CLOSE_BRACE: u8 = 0x7d;
/** From an opening byte to its closing byte. */
const TO_CLOSER: u8 = 2;

const QUOTE: u8 = 0x22;
const LETTER_U: u8 = 0x75;
const BLOCK: usize = 64;
const ODD_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/** Added to the result if a byte of the string is not ASCII. Larger than any index. */
const NOT_ASCII: i32 = 1 << 30;

/** 1 if the last block ended with a backslash that escapes the first byte of the next one, else 0. */
let escapesNext: u64 = 0;
/** NOT_ASCII if a byte of the blocks so far is not ASCII, else 0. */
let isNotAscii: i32 = 0;

/**
 * Returns the index after the closing quote of the string whose content starts at `start`, `INVALID` or `UNFINISHED`. Only whole
 * blocks before `limit` are read, and the four bytes after them for `\u`. The text must be followed by a byte 0 if it ends before
 * `limit`: a string does not contain it, so nothing after it has an effect.
 */
export function endOfString(start: usize, limit: usize): i32 {
  escapesNext = 0;
  isNotAscii = 0;
  return continueString(start, limit);
}

/** Continues an unfinished string. */
export function continueString(start: usize, limit: usize): i32 {
  let isFirstEscaped = escapesNext;
  // In programs nearly every block has a backslash, and searching for the next one takes longer than reading the block.
  let isLastPlain = isFirstEscaped == 0;
  for (let at = start; at + BLOCK <= limit; at += BLOCK) {
    if (isLastPlain) {
      at = skipPlain(at, limit);
      if (at + BLOCK > limit) break;
    }
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const backslashes = bits(isBackslash(a), isBackslash(b), isBackslash(c), isBackslash(d));
    let ends = bits(isEnd(flip(a)), isEnd(flip(b)), isEnd(flip(c)), isEnd(flip(d)));
    isLastPlain = (backslashes | isFirstEscaped) == 0;
    if (!isLastPlain) {
      // In a run of backslashes every second one is escaped. The subtraction carries through each run, which tells where it
      // ends on an odd or even position: the method of simdjson (Langdale and Lemire, 2019, section 3.1.1).
      const candidates = backslashes & ~isFirstEscaped;
      const marks = (((candidates << 1) | ODD_BITS) - candidates) ^ ODD_BITS;
      const escaped = marks ^ (backslashes | isFirstEscaped);
      isFirstEscaped = (marks & backslashes) >> 63;
      ends &= ~escaped;
      const others = escaped & upTo(ends) & ~bits(isLetter(a), isLetter(b), isLetter(c), isLetter(d));
      if (others != 0 && !areCodeUnits(at, others)) return INVALID;
    }
    if (i8x16.bitmask(v128.or(v128.or(a, b), v128.or(c, d))) != 0 && (bits(a, b, c, d) & upTo(ends)) != 0)
      isNotAscii = NOT_ASCII;
    if (ends != 0) {
      const end = at + <usize>ctz(ends);
      return load<u8>(end) == QUOTE ? (<i32>end + 1) | isNotAscii : INVALID;
    }
  }
  escapesNext = isFirstEscaped;
  return UNFINISHED;
}

/**
 * Returns the first block with an end or a backslash, or where less than a block is left. Most blocks of prose have neither. A loop of its own,
 * because it takes a third of the time of one that also reads such blocks.
 */
function skipPlain(start: usize, limit: usize): usize {
  let at = start;
  let united = i8x16.splat(0);
  for (; at + BLOCK <= limit; at += BLOCK) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const least = i8x16.min_u(i8x16.min_u(flip(a), flip(b)), i8x16.min_u(flip(c), flip(d)));
    const backslashes = v128.or(
      v128.or(isBackslash(a), isBackslash(b)),
      v128.or(isBackslash(c), isBackslash(d)),
    );
    if (i8x16.bitmask(v128.or(isEnd(least), backslashes)) != 0) break;
    united = v128.or(united, v128.or(v128.or(a, b), v128.or(c, d)));
  }
  if (i8x16.bitmask(united) != 0) isNotAscii = NOT_ASCII;
  return at;
}

/** The bits up to the lowest one; all bits if there is none. */
function upTo(bits: u64): u64 {
  return bits ^ (bits - 1);
}

/** Whether `u` and four hexadecimal digits are located at each of these positions. */
function areCodeUnits(at: usize, positions: u64): bool {
  for (let rest = positions; rest != 0; rest &= rest - 1) {
    const position = at + <usize>ctz(rest);
    if (load<u8>(position) != LETTER_U || !areHex(load<u32>(position, 1))) return false;
  }
  return true;
}

/** Whether each of four bytes is a hexadecimal digit. The high bit of each byte keeps a subtraction from borrowing from the next. */
function areHex(bytes: u32): bool {
  const high: u32 = 0x80808080;
  const lower = bytes | 0x20202020;
  const isDigit = ((bytes | high) - 0x30303030) & (0xb9b9b9b9 - (bytes & ~high));
  const isLetter = ((lower | high) - 0x61616161) & (0xe6e6e6e6 - (lower & ~high));
  return ((isDigit | isLetter) & ~bytes & high) == high;
}

function isBackslash(bytes: v128): v128 {
  return i8x16.eq(bytes, i8x16.splat(0x5c));
}

/** Flips bit 1, which leaves exactly the quote (0x22) and the bytes below 0x20 at 0x20 or below. */
function flip(bytes: v128): v128 {
  return v128.xor(bytes, i8x16.splat(2));
}

/** Whether a byte, flipped, is a quote or below 0x20. */
function isEnd(bytes: v128): v128 {
  return i8x16.eq(i8x16.min_u(bytes, i8x16.splat(0x20)), bytes);
}

/** Whether a byte is one of `"\/bfnrt`. Each has its own place in the table: the low four bits of x + ((x + 2) >> 3). */
function isLetter(bytes: v128): v128 {
  const table = i8x16(0x72, 0, 0x74, 0x66, 0, 0x2f, 0x22, 0x5c, 0, 0, 0, 0, 0x6e, 0, 0x62, 0);
  // Shifts two bytes at once, which is one instruction: the bits from the other byte are not among the low four.
  const hash = i8x16.add(bytes, i16x8.shr_u(i8x16.add(bytes, i8x16.splat(2)), 3));
  return i8x16.eq(i8x16.swizzle(table, v128.and(hash, i8x16.splat(0x0f))), bytes);
}

/** NOT_ASCII if a string of the value so far has a byte that is not ASCII, else 0. */
let isValueNotAscii: i32 = 0;

/**
 * Returns the index after the object or array at `start`, which is in the outermost object or array, or `INVALID`, `TOO_DEEP` or
 * `TOO_DENSE`. `limit` is as for `endOfString`. The byte 0 after the text ends every loop.
 */
export function endOfNested(start: usize, limit: usize): i32 {
  let valuesLeft = load<i32>(VALUES_LEFT);
  let depth: usize = 1;
  let at = start;
  isValueNotAscii = 0;
  while (true) {
    const byte = load<u8>(at);
    if (byte == OPEN_BRACE || byte == OPEN_BRACKET) {
      if (depth == MAX_DEPTH) return TOO_DEEP;
      const closer = byte + TO_CLOSER;
      store<u8>(CLOSERS + ++depth, closer);
      at = skipWhitespace(at + 1);
      if (load<u8>(at) != closer) {
        if (closer == CLOSE_BRACE && (at = valueOfKey(at, limit)) == 0) return INVALID;
        if (--valuesLeft < 0) return TOO_DENSE;
        continue;
      }
    } else {
      at = byte == QUOTE ? endOfText(at + 1, limit) : endOfScalar(at);
      if (at == 0) return INVALID;
      at = skipWhitespace(at);
    }
    // After a value, or at the closing byte of an empty object or array.
    while (load<u8>(at) == load<u8>(CLOSERS + depth)) {
      at++;
      if (--depth == 1) {
        store<i32>(VALUES_LEFT, valuesLeft);
        return (<i32>at) | isValueNotAscii;
      }
      at = skipWhitespace(at);
    }
    if (load<u8>(at) != COMMA) return INVALID;
    at = skipWhitespace(at + 1);
    if (load<u8>(CLOSERS + depth) == CLOSE_BRACE && (at = valueOfKey(at, limit)) == 0) return INVALID;
    if (--valuesLeft < 0) return TOO_DENSE;
  }
}

/** Returns where the value of the key at `start` begins; 0 if there is no valid key. */
function valueOfKey(start: usize, limit: usize): usize {
  if (load<u8>(start) != QUOTE) return 0;
  const end = endOfKey(start + 1, limit);
  if (end == 0) return 0;
  const colon = skipWhitespace(end);
  return load<u8>(colon) == COLON ? skipWhitespace(colon + 1) : 0;
}

/** As `endOfText`, for a key. Sets MAY_HAVE_SUFFIXES. */
function endOfKey(start: usize, limit: usize): usize {
  const a = v128.load(start);
  const b = v128.load(start, 16);
  const ends = pairBits(isEnd(flip(a)), isEnd(flip(b)));
  const length = ctz(ends | pairBits(isBackslash(a), isBackslash(b)));
  // Long, or spelled with escapes.
  if (length == 32 || ((ends >> length) & 1) == 0) {
    store<u8>(MAY_HAVE_SUFFIXES, 1);
    return endOfText(start, limit);
  }
  const end = start + <usize>length;
  if (load<u8>(end) != QUOTE) return 0;
  if ((pairBits(a, b) & (((<u32>1) << length) - 1)) != 0) isValueNotAscii = NOT_ASCII;
  // That of an empty key is the quote before it, with which no suffix ends.
  const number = <usize>load<u8>(SUFFIX_NUMBERS + <usize>load<u8>(end - 1));
  if (number != 0 && hasSuffix(end, SUFFIXES + (number << SUFFIX_SHIFT))) store<u8>(MAY_HAVE_SUFFIXES, 1);
  return end + 1;
}

/** Whether the key that ends at `end` has this suffix. The quote before a key is in no suffix, so nothing before it is compared. */
function hasSuffix(end: usize, suffix: usize): bool {
  const length = <usize>load<u8>(suffix);
  for (let back: usize = 1; back <= length; back++)
    if (load<u8>(end - back) != load<u8>(suffix + 1 + length - back)) return false;
  return true;
}

/** Returns the index after the closing quote of the string whose content starts at `start`; 0 if it is not valid. */
function endOfText(start: usize, limit: usize): usize {
  const bytes = v128.load(start);
  const ends = <u32>i8x16.bitmask(isEnd(flip(bytes)));
  const length = ctz(ends | (<u32>i8x16.bitmask(isBackslash(bytes))));
  if (length < 16 && ((ends >> length) & 1) == 1) {
    const end = start + <usize>length;
    if (((<u32>i8x16.bitmask(bytes)) & (((<u32>1) << length) - 1)) != 0) isValueNotAscii = NOT_ASCII;
    return load<u8>(end) == QUOTE ? end + 1 : 0;
  }
  const found = endOfString(start, limit);
  // A byte 0 ends every string, so none is unfinished.
  if (found <= 0) return 0;
  isValueNotAscii |= found & NOT_ASCII;
  return <usize>(found & ~NOT_ASCII);
}

function skipWhitespace(start: usize): usize {
  let at = start;
  for (let byte = load<u8>(at); byte <= 0x20; byte = load<u8>(++at))
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) break;
  return at;
}

/** Returns the index after the literal or number at `start`; 0 if there is none. */
function endOfScalar(start: usize): usize {
  const first = load<u32>(start);
  // `true`, `null` and `fals`, the first byte being the lowest one.
  if (first == 0x65757274 || first == 0x6c6c756e) return start + 4;
  if (first == 0x736c6166) return load<u8>(start, 4) == 0x65 ? start + 5 : 0;
  return endOfNumber(start);
}

/** RFC 8259, section 6: an optional minus, an integer without leading zeros, an optional fraction and exponent. */
function endOfNumber(start: usize): usize {
  let at = load<u8>(start) == 0x2d ? start + 1 : start;
  if (load<u8>(at) == 0x30) at++;
  else if ((at = endOfDigits(at)) == 0) return 0;
  if (load<u8>(at) == 0x2e && (at = endOfDigits(at + 1)) == 0) return 0;
  if ((load<u8>(at) | 0x20) != 0x65) return at;
  const sign = load<u8>(at, 1);
  return endOfDigits(sign == 0x2b || sign == 0x2d ? at + 2 : at + 1);
}

/** Returns the index after at least one digit; 0 if there is none. */
function endOfDigits(start: usize): usize {
  let at = start;
  while (<u8>(load<u8>(at) - 0x30) < 10) at++;
  return at == start ? 0 : at;
}

/** The high bits of 2 times 16 bytes, as one bit per byte. */
function pairBits(a: v128, b: v128): u32 {
  return (<u32>i8x16.bitmask(a)) | ((<u32>i8x16.bitmask(b)) << 16);
}
