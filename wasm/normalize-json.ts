// Decodes the content of a JSON string and normalizes it, 32 bytes at a time: a mask has a bit for each byte, its lane, and what has to be changed in a
// block is found without branches, because a processor cannot predict where a text has line ends, quotes and spaces. AssemblyScript, not
// TypeScript: `npm run build:wasm` compiles this file to src/plugins/code_sanitation/normalize-json-wasm.ts. The rules are those of
// src/plugins/code_sanitation/normalize.ts; its tables are copied into the memory.

// The layout of the memory, as in src/plugins/code_sanitation/normalize-json.ts.
const KINDS: usize = 0;
const FOLDED: usize = 0x10000;
/** By the low four bits of an ASCII character: a bit for each value of its high four bits with which it is special. */
const SPECIAL_TABLE: usize = 0x30000;
/** The numbers of special positions and of decoded units after `normalize`. */
const COUNTS: usize = 0x30020;
const INPUT: usize = 0x30040;
const CODES: usize = 0x50080;
const SPECIALS: usize = 0x90100;
/** By a mask of eight lanes: the numbers of the lanes in it, one byte each. */
const LANE_NUMBERS: usize = 0x110200;

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
const BLOCK: usize = 32;
const BLOCK_LANES: u64 = 0xffffffff;
const EVEN_LANES: u64 = 0x55555555;
/** A block with more bytes than this that are not handled in blocks is normalized byte by byte. */
const MAX_OTHER_BYTES: u64 = 4;
/** The units that `findSpecials` reads at a time, in bytes. */
const GROUP_BYTES: usize = 128;

/** Where the next normalized unit is written, and the number of decoded units. */
let to: usize = 0;
let unitCount: u32 = 0;
/** 1 if the last unit is whitespace, which the next whitespace is merged with, and if it is a newline. */
let isInRun: u64 = 0;
let isNewlineRun: u64 = 0;

/** Writes the tables. Call once, after the tables of all units were written. */
export function prepare(): void {
  const one: u8 = 1;
  for (let byte: usize = 0; byte < 0x80; byte++) {
    if (((<u32>load<u8>(KINDS + byte)) & SPECIAL_UNIT) == 0) continue;
    const high = <u8>(byte >> 4);
    const bit = one << high;
    const table = SPECIAL_TABLE + (byte & 15);
    store<u8>(table, load<u8>(table) | bit);
  }
  for (let mask: usize = 0; mask < 0x100; mask++) {
    let entry = LANE_NUMBERS + (mask << 3);
    for (let lane: usize = 0; lane < 8; lane++) if (((mask >> lane) & 1) != 0) store<u8>(entry++, <u8>lane);
  }
}

/** Normalizes `bytes` bytes at INPUT, valid UTF-8, to CODES and SPECIALS, and writes COUNTS. Returns the number of normalized units, or INVALID. */
export function normalize(bytes: usize): i32 {
  const end = INPUT + bytes;
  const one: u64 = 1;
  let codes = CODES;
  let units: u32 = 0;
  let inRun: u64 = 0;
  let newlineRun: u64 = 0;
  unitCount = 0;
  let at = INPUT;
  while (at < end) {
    const left = v128.load(at);
    const right = v128.load(at, 16);
    const others = lanesOf(isOther(left), isOther(right));
    const spaces = lanesOf(isByte(left, 0x20), isByte(right, 0x20));
    const backslashes = lanesOf(isByte(left, 0x5c), isByte(right, 0x5c));
    const size = end - at;
    if ((others | backslashes | (spaces & ((spaces << 1) | inRun))) == 0 && size >= BLOCK) {
      v128.store(codes, i16x8.extend_low_i8x16_u(left));
      v128.store(codes, i16x8.extend_high_i8x16_u(left), 16);
      v128.store(codes, i16x8.extend_low_i8x16_u(right), 32);
      v128.store(codes, i16x8.extend_high_i8x16_u(right), 48);
      codes += 2 * BLOCK;
      units += <u32>BLOCK;
      inRun = spaces >> 31;
      newlineRun = 0;
      at += BLOCK;
      continue;
    }
    const starts = escapeStarts(backslashes);
    const escaped = starts << 1;
    const newlines = escaped & lanesOf(isEither(left, 0x6e, 0x72), isEither(right, 0x6e, 0x72));
    const escapedSpaces = newlines | (escaped & lanesOf(isByte(left, 0x74), isByte(right, 0x74)));
    const escapedSyntax = backslashes | lanesOf(isEither(left, 0x22, 0x2f), isEither(right, 0x22, 0x2f));
    const rest = others | (escaped & BLOCK_LANES & ~(escapedSpaces | escapedSyntax));
    const blockSize = <u64>(size < BLOCK ? size : BLOCK);
    const blockEnd = one << blockSize;
    let stop = ctz(rest | blockEnd);
    const restLanes = ctz(~(rest >> stop));
    // An escape is not divided: it is normalized with the next block or byte by byte.
    const isDivided = (escaped >> stop) & 1;
    stop -= isDivided;
    const lanes = (one << stop) - 1;
    // The whitespace of a run is merged to its last lane. The carry of an addition is located after the runs that have a newline.
    const runs = (spaces | escapedSpaces | (escapedSpaces >> 1)) & lanes;
    const runEnds = runs & ~(runs >> 1);
    const merged = runs & inRun;
    const newlineEnds = ((runs + ((newlines & lanes) | (merged & newlineRun))) & ~runs) >> 1;
    const kept = lanes & ~((starts | runs) ^ runEnds);
    codes -= (<usize>merged) << 1;
    const start = codes;
    codes = add(left, kept & 0xff, codes);
    codes = add(upperHalf(left), (kept >> 8) & 0xff, codes);
    codes = add(right, (kept >> 16) & 0xff, codes);
    codes = add(upperHalf(right), kept >> 24, codes);
    // Nearly always one run or none; without one, this writes after the units.
    let changed = newlineEnds | (runEnds & escapedSpaces);
    do {
      const lane = changed & (0 - changed);
      const position = <usize>popcnt(kept & (lane - 1));
      store<u16>(start + (position << 1), (lane & newlineEnds) != 0 ? <u16>NEWLINE : <u16>SPACE);
      changed ^= lane;
    } while (changed != 0);
    units += <u32>(stop - popcnt(starts & lanes));
    if (stop == <u64>BLOCK) {
      inRun = runs >> 31;
      newlineRun = newlineEnds >> 31;
      at += BLOCK;
      continue;
    }
    if (stop > 0) {
      inRun = (runs >> (stop - 1)) & 1;
      newlineRun = (newlineEnds >> (stop - 1)) & 1;
      at += <usize>stop;
      if (restLanes == 0 || at == end) continue;
    }
    to = codes;
    isInRun = inRun;
    isNewlineRun = newlineRun;
    const count = popcnt(rest) > MAX_OTHER_BYTES ? BLOCK : <usize>(isDivided + restLanes);
    at = normalizeBytes(at, at + count, end);
    if (at == 0) return INVALID;
    codes = to;
    inRun = isInRun;
    newlineRun = isNewlineRun;
  }
  // Zeros, so that a matcher may look a few units past the end.
  for (let offset: usize = 0; offset < GROUP_BYTES; offset += 16) v128.store(codes + offset, i64x2.splat(0));
  store<i32>(COUNTS, findSpecials(codes));
  store<i32>(COUNTS, unitCount + units, 4);
  return <i32>((codes - CODES) >> 1);
}

/** Bytes that are not handled in blocks: those from 0x7f and control characters, as signed numbers. */
function isOther(bytes: v128): v128 {
  return i8x16.lt_s(i8x16.add(bytes, i8x16.splat(1)), i8x16.splat(0x21));
}

function isByte(bytes: v128, byte: i8): v128 {
  return i8x16.eq(bytes, i8x16.splat(byte));
}

function isEither(bytes: v128, one: i8, other: i8): v128 {
  return v128.or(isByte(bytes, one), isByte(bytes, other));
}

function upperHalf(bytes: v128): v128 {
  return i64x2.shuffle(bytes, bytes, 1, 1);
}

function lanesOf(left: v128, right: v128): u64 {
  return (<u64>(<u32>i8x16.bitmask(left))) | ((<u64>(<u32>i8x16.bitmask(right))) << 16);
}

/** Returns the backslashes that begin an escape: of those that follow each other, every second one from the first. */
function escapeStarts(backslashes: u64): u64 {
  const firsts = backslashes & ~(backslashes << 1);
  // The carry of an addition clears the backslashes that follow one in an even lane.
  const fromEven = backslashes & ~(backslashes + (firsts & EVEN_LANES));
  return (fromEven & EVEN_LANES) | ((backslashes ^ fromEven) & ~EVEN_LANES);
}

/** Writes those of the first eight bytes whose lanes are kept. Returns the address after them. */
function add(bytes: v128, kept: u64, codes: usize): usize {
  const numbers = v128.load64_zero(LANE_NUMBERS + ((<usize>kept) << 3));
  v128.store(codes, i16x8.extend_low_i8x16_u(i8x16.swizzle(bytes, numbers)));
  return codes + ((<usize>popcnt(kept)) << 1);
}

/** Normalizes the characters and escapes that begin before `limit`. Returns the address after them, or 0 if one is invalid. */
function normalizeBytes(from: usize, limit: usize, end: usize): usize {
  let at = from;
  let codes = to;
  let inRun = isInRun;
  let units = unitCount;
  while (at < limit && at < end) {
    let unit = <u32>load<u8>(at);
    if (unit == BACKSLASH) {
      const escape = readEscape(at, end);
      if (escape == 0) return 0;
      at += <usize>(escape >> 16);
      unit = escape & 0xffff;
    } else if (unit < 0x80) at++;
    else if (unit < 0xe0) {
      unit = ((unit & 0x1f) << 6) | continuation(at, 1);
      at += 2;
    } else if (unit < 0xf0) {
      unit = ((unit & 0x0f) << 12) | (continuation(at, 1) << 6) | continuation(at, 2);
      at += 3;
    } else {
      const code =
        ((unit & 7) << 18) | (continuation(at, 1) << 12) | (continuation(at, 2) << 6) | continuation(at, 3);
      store<u16>(codes, <u16>(0xd7c0 + (code >> 10)));
      codes += 2;
      units++;
      unit = 0xdc00 | (code & 0x3ff);
      at += 4;
    }
    units++;
    const folded = <u32>load<u16>(FOLDED + ((<usize>unit) << 1));
    if (((<u32>load<u8>(KINDS + <usize>unit)) & (WHITESPACE_UNIT | FOLDED_UNIT)) == 0 || folded > SPACE) {
      store<u16>(codes, <u16>folded);
      codes += 2;
      inRun = 0;
    } else if (folded != REMOVED) {
      const isNewline = <u64>(folded == NEWLINE);
      codes -= (<usize>inRun) << 1;
      isNewlineRun = isNewline | (inRun & isNewlineRun);
      store<u16>(codes, isNewlineRun != 0 ? <u16>NEWLINE : <u16>SPACE);
      codes += 2;
      inRun = 1;
    }
  }
  to = codes;
  unitCount = units;
  isInRun = inRun;
  return at;
}

function continuation(at: usize, offset: usize): u32 {
  return (<u32>load<u8>(at + offset)) & 0x3f;
}

/** Returns the unit of an escape and, above 16 bits, its number of bytes. Returns 0 if it is invalid. */
function readEscape(at: usize, end: usize): u32 {
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
    return unit > 0xffff ? 0 : (6 << 16) | unit;
  }
  let unit = letter;
  if (letter == 0x6e) unit = 0x0a;
  else if (letter == 0x74) unit = 0x09;
  else if (letter == 0x72) unit = 0x0d;
  else if (letter == 0x62) unit = 0x08;
  else if (letter == 0x66) unit = 0x0c;
  else if (letter != 0x22 && letter != 0x5c && letter != 0x2f) return 0;
  return (2 << 16) | unit;
}

/** Above 0xffff if the byte is not a hexadecimal digit. */
function hexValue(byte: u32): u32 {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 0x10000;
}

/** Writes the positions of the special units before `end`, after which a group of zeros is located. Returns their number. */
function findSpecials(end: usize): i32 {
  const table = v128.load(SPECIAL_TABLE);
  let special = SPECIALS;
  for (let at = CODES; at < end; at += GROUP_BYTES) {
    let lanes = ~(
      ordinaryLanes(at, table) |
      (ordinaryLanes(at + 32, table) << 16) |
      (ordinaryLanes(at + 64, table) << 32) |
      (ordinaryLanes(at + 96, table) << 48)
    );
    const next = special + ((<usize>popcnt(lanes)) << 2);
    const position = <u32>((at - CODES) >> 1);
    // Four at a time: the number of special units cannot be predicted. What is written after the last one is overwritten.
    while (lanes != 0) {
      for (let offset: usize = 0; offset < 16; offset += 4) {
        store<u32>(special + offset, position + <u32>ctz(lanes));
        lanes &= lanes - 1;
      }
      special += 16;
    }
    special = next;
  }
  return <i32>((special - SPECIALS) >> 2);
}

/** Returns those of 16 units that are not special. Narrowing changes the units of more than eight bits to 0 or 0xff. */
function ordinaryLanes(at: usize, table: v128): u64 {
  const highBits = i8x16(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  const bytes = i8x16.narrow_i16x8_u(v128.load(at), v128.load(at, 16));
  const lows = i8x16.swizzle(table, v128.and(bytes, i8x16.splat(0x0f)));
  // x64 processors cannot shift bytes.
  const highs = i8x16.swizzle(highBits, v128.and(i16x8.shr_u(bytes, 4), i8x16.splat(0x0f)));
  return <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.and(lows, highs), i64x2.splat(0))));
}
