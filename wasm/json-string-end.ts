// Finds the end of a JSON string in memory, 64 bytes at a time, and validates it. AssemblyScript, not TypeScript: `npm run build:wasm`
// compiles this file to src/base/json-string-end-wasm.ts. Bit n of each u64 describes byte n of the block of 64 bytes.

/** No closing quote up to the limit. Continue with `continueString` where the last whole block ended. */
const UNFINISHED: i32 = 0;
const INVALID: i32 = -1;

const QUOTE: u8 = 0x22;
const LETTER_U: u8 = 0x75;
const BLOCK: usize = 64;
const ODD_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/** 1 if the last block ended with a backslash that escapes the first byte of the next one, else 0. */
let escapesNext: u64 = 0;

/**
 * Returns the index after the closing quote of the string whose content starts at `start`, `INVALID` or `UNFINISHED`. Only whole
 * blocks before `limit` are read, and the four bytes after them for `\u`. The text must be followed by a byte 0 if it ends before
 * `limit`: a string does not contain it, so nothing after it has an effect.
 */
export function endOfString(start: usize, limit: usize): i32 {
  escapesNext = 0;
  return continueString(start, limit);
}

/** Continues an unfinished string. */
export function continueString(start: usize, limit: usize): i32 {
  let isFirstEscaped = escapesNext;
  for (let at = start; at + BLOCK <= limit; at += BLOCK) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    const backslashes = bits(isBackslash(a), isBackslash(b), isBackslash(c), isBackslash(d));
    let ends = bits(isEnd(a), isEnd(b), isEnd(c), isEnd(d));
    if ((backslashes | isFirstEscaped) != 0) {
      // In a run of backslashes every second one is escaped. The subtraction carries through each run, which tells where it
      // ends on an odd or even position: the method of simdjson (Langdale and Lemire, 2019, section 3.1.1).
      const candidates = backslashes & ~isFirstEscaped;
      const marks = (((candidates << 1) | ODD_BITS) - candidates) ^ ODD_BITS;
      const escaped = marks ^ (backslashes | isFirstEscaped);
      isFirstEscaped = (marks & backslashes) >> 63;
      ends &= ~escaped;
      // Up to the first end; all bits if there is none.
      const inString = ends ^ (ends - 1);
      const others = escaped & inString & ~bits(isLetter(a), isLetter(b), isLetter(c), isLetter(d));
      if (others != 0 && !areCodeUnits(at, others)) return INVALID;
    }
    if (ends != 0) {
      const end = at + <usize>ctz(ends);
      return load<u8>(end) == QUOTE ? <i32>end + 1 : INVALID;
    }
  }
  escapesNext = isFirstEscaped;
  return UNFINISHED;
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

/** The results of comparing 4 times 16 bytes, as one bit per byte. */
function bits(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    (<u64>i8x16.bitmask(a)) |
    ((<u64>i8x16.bitmask(b)) << 16) |
    ((<u64>i8x16.bitmask(c)) << 32) |
    ((<u64>i8x16.bitmask(d)) << 48)
  );
}

function isBackslash(bytes: v128): v128 {
  return i8x16.eq(bytes, i8x16.splat(0x5c));
}

/** Whether a byte is a quote (0x22) or below 0x20. Flipping bit 1 leaves exactly these at 0x20 or below. */
function isEnd(bytes: v128): v128 {
  const flipped = v128.xor(bytes, i8x16.splat(2));
  return i8x16.eq(i8x16.min_u(flipped, i8x16.splat(0x20)), flipped);
}

/** Whether a byte is one of `"\/bfnrt`. Each has its own place in the table: the low four bits of x + ((x + 2) >> 3). */
function isLetter(bytes: v128): v128 {
  const table = i8x16(0x72, 0, 0x74, 0x66, 0, 0x2f, 0x22, 0x5c, 0, 0, 0, 0, 0x6e, 0, 0x62, 0);
  // Shifts two bytes at once, which is one instruction: the bits from the other byte are not among the low four.
  const hash = i8x16.add(bytes, i16x8.shr_u(i8x16.add(bytes, i8x16.splat(2)), 3));
  return i8x16.eq(i8x16.swizzle(table, v128.and(hash, i8x16.splat(0x0f))), bytes);
}
