// Decodes the content of a JSON string and normalizes it, 16 bytes at a time where it is ASCII without escapes. AssemblyScript, not
// TypeScript: `npm run build:wasm` compiles this file to src/plugins/code_sanitation/normalize-json-wasm.ts. The rules are those of
// src/plugins/code_sanitation/normalize.ts; its tables are copied into the memory.

// The layout of the memory, as in src/plugins/code_sanitation/normalize-json.ts.
const KINDS: usize = 0;
const FOLDED: usize = 0x10000;
const TABLES: usize = 0x30000;
/** The numbers of special positions and of decoded units after `normalize`. */
const COUNTS: usize = 0x30020;
const INPUT: usize = 0x30040;
const CODES: usize = 0x50080;
const SPECIALS: usize = 0x900c0;

// As in src/plugins/code_sanitation/char-classes.ts.
const SPECIAL_UNIT: u32 = 1;
const FOLDED_UNIT: u32 = 2;
const WHITESPACE_UNIT: u32 = 4;
const REMOVED: u32 = 0;
const NEWLINE: u32 = 0x0a;
const SPACE: u32 = 0x20;
const BACKSLASH: u32 = 0x5c;

/** The result for a string with an escape that JSON does not have. */
const INVALID: i32 = -1;
const BLOCK: usize = 16;

let specialCount: i32 = 0;
let unitCount: i32 = 0;
let length: usize = 0;
/** Whether the unit before is whitespace or was removed, and whether this run of units has left a unit. */
let isInRun: bool = false;
let hasUnit: bool = false;

/**
 * Writes two tables of 16 bytes: by the low four bits of an ASCII character, a bit for each value of its high four bits with which it is
 * special, and with which it is not copied as it is. Call once, after the tables of all units were written.
 */
export function prepare(): void {
  const one: u8 = 1;
  for (let byte: usize = 0; byte < 0x80; byte++) {
    const kind = <u32>load<u8>(KINDS + byte);
    const high = <u8>(byte >> 4);
    const bit = one << high;
    const low = byte & 15;
    const table = TABLES + low;
    if ((kind & SPECIAL_UNIT) != 0) store<u8>(table, load<u8>(table) | bit);
    if ((kind & FOLDED_UNIT) != 0 || byte == <usize>BACKSLASH || byte == <usize>NEWLINE)
      store<u8>(table, load<u8>(table, 16) | bit, 16);
  }
}

/** Normalizes `bytes` bytes at INPUT, valid UTF-8, to CODES and SPECIALS, and writes COUNTS. Returns the number of normalized units, or INVALID. */
export function normalize(bytes: usize): i32 {
  const end = INPUT + bytes;
  const highBits = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  const specialTable = v128.load(TABLES);
  const otherTable = v128.load(TABLES, 16);
  length = 0;
  specialCount = 0;
  unitCount = 0;
  isInRun = false;
  hasUnit = false;
  let at = INPUT;
  while (at + BLOCK <= end) {
    const block = v128.load(at);
    const low = v128.and(block, i8x16.splat(0x0f));
    const high = i8x16.swizzle(highBits, i8x16.shr_u(block, 4));
    const others = v128.and(i8x16.swizzle(otherTable, low), high);
    const spaces = <u32>i8x16.bitmask(i8x16.eq(block, i8x16.splat(<i8>SPACE)));
    const isRepeated = spaces & ((spaces << 1) | (<u32>isInRun));
    // The bytes that are not copied as they are. Those from 0x80 have the sign bit.
    const rest = (<u32>i8x16.bitmask(v128.or(i8x16.ne(others, i64x2.splat(0)), block))) | isRepeated;
    const codes = CODES + (length << 1);
    v128.store(codes, i16x8.extend_low_i8x16_u(block));
    v128.store(codes, i16x8.extend_high_i8x16_u(block), 16);
    let specials = <u32>(
      i8x16.bitmask(i8x16.ne(v128.and(i8x16.swizzle(specialTable, low), high), i64x2.splat(0)))
    );
    if (rest == 0) {
      for (; specials != 0; specials &= specials - 1) addSpecial(length + <usize>ctz(specials));
      addCopied(BLOCK, spaces);
      at += BLOCK;
      continue;
    }
    const copied = <usize>ctz(rest);
    specials &= (1 << (<u32>copied)) - 1;
    for (; specials != 0; specials &= specials - 1) addSpecial(length + <usize>ctz(specials));
    if (copied > 0) addCopied(copied, spaces);
    at += copied;
    do {
      at = normalizeNext(at, end);
      if (at == 0) return INVALID;
    } while (at < end && isNotCopied(<u32>load<u8>(at)));
  }
  while (at < end) {
    at = normalizeNext(at, end);
    if (at == 0) return INVALID;
  }
  // Zeros, so that a matcher may look a few units past the end.
  v128.store(CODES + (length << 1), i64x2.splat(0));
  store<i32>(COUNTS, specialCount);
  store<i32>(COUNTS, unitCount, 4);
  return <i32>length;
}

/** Whether a byte after one that is not copied is not copied either, as in indented lines and outside of ASCII. */
function isNotCopied(byte: u32): bool {
  return byte >= 0x80 || byte == BACKSLASH || (byte == SPACE && isInRun);
}

/** Adds units that were copied as they are. `spaces` has the bits of those that are spaces. */
function addCopied(units: usize, spaces: u32): void {
  length += units;
  unitCount += <i32>units;
  isInRun = hasUnit = ((spaces >> (<u32>units - 1)) & 1) != 0;
}

/** Normalizes one character or escape. Returns the address after it, or 0 if it is invalid. */
function normalizeNext(at: usize, end: usize): usize {
  const byte = <u32>load<u8>(at);
  if (byte < 0x80) {
    if (byte == BACKSLASH) return normalizeEscape(at, end);
    addUnit(byte);
    return at + 1;
  }
  if (byte < 0xe0) {
    addUnit(((byte & 0x1f) << 6) | continuation(at, 1));
    return at + 2;
  }
  if (byte < 0xf0) {
    addUnit(((byte & 0x0f) << 12) | (continuation(at, 1) << 6) | continuation(at, 2));
    return at + 3;
  }
  const code =
    ((byte & 7) << 18) | (continuation(at, 1) << 12) | (continuation(at, 2) << 6) | continuation(at, 3);
  addUnit(0xd7c0 + (code >> 10));
  addUnit(0xdc00 | (code & 0x3ff));
  return at + 4;
}

function continuation(at: usize, offset: usize): u32 {
  return (<u32>load<u8>(at + offset)) & 0x3f;
}

function normalizeEscape(at: usize, end: usize): usize {
  if (at + 2 > end) return 0;
  const letter = <u32>load<u8>(at, 1);
  if (letter == 0x75) {
    if (at + 6 > end) return 0;
    const digits = load<u32>(at, 2);
    const unit =
      (hexValue(digits & 0xff) << 12) |
      (hexValue((digits >> 8) & 0xff) << 8) |
      (hexValue((digits >> 16) & 0xff) << 4) |
      hexValue(digits >> 24);
    if (unit > 0xffff) return 0;
    addUnit(unit);
    return at + 6;
  }
  let unit = letter;
  if (letter == 0x6e) unit = 0x0a;
  else if (letter == 0x74) unit = 0x09;
  else if (letter == 0x72) unit = 0x0d;
  else if (letter == 0x62) unit = 0x08;
  else if (letter == 0x66) unit = 0x0c;
  else if (letter != 0x22 && letter != 0x5c && letter != 0x2f) return 0;
  addUnit(unit);
  return at + 2;
}

/** Above 0xffff if the byte is not a hexadecimal digit. */
function hexValue(byte: u32): u32 {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 0x10000;
}

function addUnit(unit: u32): void {
  unitCount++;
  const folded = <u32>load<u16>(FOLDED + ((<usize>unit) << 1));
  if (((<u32>load<u8>(KINDS + <usize>unit)) & (WHITESPACE_UNIT | FOLDED_UNIT)) == 0 || folded > SPACE) {
    if (((<u32>load<u8>(KINDS + <usize>folded)) & SPECIAL_UNIT) != 0) addSpecial(length);
    store<u16>(CODES + (length++ << 1), <u16>folded);
    isInRun = false;
    hasUnit = false;
    return;
  }
  isInRun = true;
  if (folded == REMOVED) return;
  if (!hasUnit) {
    store<u16>(CODES + (length++ << 1), <u16>folded);
    hasUnit = true;
  } else if (folded == NEWLINE) store<u16>(CODES - 2 + (length << 1), <u16>NEWLINE);
}

function addSpecial(position: usize): void {
  store<u32>(SPECIALS + ((<usize>specialCount) << 2), <u32>position);
  specialCount++;
}
