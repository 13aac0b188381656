// Runs the automaton of a prefilter over a block of code units, from eight positions at the same time, and records where triggers end, except for
// those that the units around them reject.
// AssemblyScript, not TypeScript: `npm run build:wasm` compiles this file to src/plugins/code_sanitation/read-triggers-wasm.ts.

// The layout of the memory, as in src/plugins/code_sanitation/trigger-memory.ts and src/plugins/code_sanitation/trigger-filter.ts.
/** The columns of the units of each reading, in bytes. */
const COLUMNS: usize = 0x120000;
const RECORDS: usize = 0x135000;
/** Where in TAKEN copies of states are located. */
const COPIES: usize = 0x144000;
/** The triggers that their lists do not reject: the record and the address of the check. */
const POSSIBLE: usize = 0x13c000;
const REJECTED: usize = 0x14d000;
/** By unit, as in the sets: the kind of a second unit, the symbol of a unit in a word, and bits of its classes. */
const SECOND_KINDS: usize = 0x14d100;
const WORD_SYMBOLS: usize = 0x14d200;
const CLASSES: usize = 0x14d300;
const CHECKS: usize = 0x14e000;
const SETS: usize = 0x15e000;
const ROWS: usize = 0x19e000;
/** The states that the readings take, one for each unit. The state before the block is located before those of the first reading. */
const TAKEN: usize = 0x1be040;
/** The states whose copies follow the states. */
const COPIED_STATES: usize = 0x1e0000;
const TRANSITIONS: usize = 0x1f0000;

const READINGS: usize = 8;
// The distances between the readings are constants, so that the loop needs no registers for them. Not powers of two, because
// their addresses would then compete for the same places of the first-level cache.
const COLUMNS_BYTES: usize = 0x1040;
const TAKEN_BYTES: usize = 0x4080;
/** The number of the reading is above these bits of an offset in TAKEN. */
const READING_SHIFT: usize = 14;
const EXCHANGED_BIT: i8 = 0x40;
/** The bytes of a row: 128 transitions of two bytes. */
const ROW_SHIFT: usize = 8;

// As in src/plugins/code_sanitation/trigger-filter.ts and src/plugins/code_sanitation/candidates.ts.
const MAX_CHECKS: u32 = 0x1000;
const CHECK_SHIFT: usize = 4;
const UNKNOWN: u32 = 0;
const NON_ASCII: u32 = 0x80;
const NEAR_START_UNITS: u32 = 128;
/** The bytes of the half of a row that is for positions near the start of a text. */
const NEAR_START_BYTES: usize = 258;

/** The bytes of the conditions of a candidate. */
const CANDIDATE_BYTES: usize = 20;

// As in src/plugins/code_sanitation/word-set.ts.
const MULTIPLIER: u32 = 0x9e3779b1;
const HASH_SHIFT: u32 = 19;

// As in src/plugins/code_sanitation/required-before.ts.
const OPEN_STRING: u32 = 1;
const NAME_WITH_ON: u32 = 2;
const SHORT_STRING: usize = 32;
const MAX_NAME: usize = 26;
const MIN_NAME: usize = 4;
const MAX_WHITESPACE: usize = 4;

// The bits of CLASSES.
const WHITESPACE: u32 = 1;
const LETTER: u32 = 2;
const WORD: u32 = 4;
const QUOTE: u32 = 8;

// As in src/plugins/code_sanitation/search-after.ts.
const CLOSED_WORD: u32 = 1;
const BATCH_CONDITION: u32 = 2;
const NAME_AND_PATH: u32 = 3;
const CONSTANT_OPERAND: u32 = 4;
const MAX_WORD: usize = 24;
const MAX_COMPARED: usize = 40;
const MAX_GROUP: usize = 24;

const NEWLINE: u32 = 0x0a;
const SPACE: u32 = 0x20;
const OPEN_PAREN: u32 = 0x28;
const CLOSE_PAREN: u32 = 0x29;
const DASH: u32 = 0x2d;
const DOT: u32 = 0x2e;
const SLASH: u32 = 0x2f;
const COLON: u32 = 0x3a;
const LESS: u32 = 0x3c;
const EQUALS: u32 = 0x3d;
const CLOSE_BRACKET: u32 = 0x5d;
const TILDE: u32 = 0x7e;
const SINGLE_QUOTE: u32 = 0x27;
const LOWER_CASE: u32 = 0x20;
const LOWER_N: u32 = 0x6e;
const LOWER_O: u32 = 0x6f;

const UNCERTAIN: i32 = -1;
/** In the result of `read`: the number of records is above these bits, the state below. */
const COUNT_SHIFT: i32 = 15;

/** The states that are searched for copies at a time, in bytes. */
const GROUP_BYTES: usize = 128;

/** The address of the block and its position in the text. */
let block: usize = 0;
let blockStart: u32 = 0;
/** The number of the first copy of a state. */
let firstCopy: u32 = 0;

/** Call once, after the states of the copies were written. `states`: their number, without copies. */
export function prepare(states: u32): void {
  firstCopy = states;
}

/**
 * Reads `length` units at `codes`, which are located at `from` in the text, and as many at the distances 1 to 7 times `distance` after them. Writes a
 * record for each trigger that is not rejected, in ascending order: the state in which the trigger ended and, above 16 bits, the number of
 * units before its end. Returns the state after the last unit and the number of records. The units of the text before the block must be there as well, UNITS_BEFORE more
 * than the longest trigger has, and UNITS_AFTER after it (trigger-memory.ts). A zero precedes and zeros follow the text.
 *
 * Each reading but the first, which begins in `state`, begins in the root. After the units that it shares with the reading before, it is in the
 * right state if that is not deeper than their number. The states below `knownStates` are not. Returns UNCERTAIN if there was another one.
 *
 * The loop has no branch, because a processor cannot predict where triggers end, and few instructions: five per unit. So the columns of the units are
 * written before it, and it does not have to distinguish copies from their states.
 */
export function read(
  state: u32,
  length: usize,
  distance: usize,
  knownStates: u32,
  codes: usize,
  from: u32,
): i32 {
  for (let reading: usize = 0; reading < READINGS; reading++)
    writeColumns(codes + ((reading * distance) << 1), length, COLUMNS + reading * COLUMNS_BYTES);
  let first = state;
  let second: u32 = 0;
  let third: u32 = 0;
  let fourth: u32 = 0;
  let fifth: u32 = 0;
  let sixth: u32 = 0;
  let seventh: u32 = 0;
  let eighth: u32 = 0;
  let to: usize = 0;
  for (let at: usize = 0; at < length; at++) {
    first = next(first, load<u8>(at, COLUMNS));
    second = next(second, load<u8>(at, COLUMNS + COLUMNS_BYTES));
    third = next(third, load<u8>(at, COLUMNS + 2 * COLUMNS_BYTES));
    fourth = next(fourth, load<u8>(at, COLUMNS + 3 * COLUMNS_BYTES));
    fifth = next(fifth, load<u8>(at, COLUMNS + 4 * COLUMNS_BYTES));
    sixth = next(sixth, load<u8>(at, COLUMNS + 5 * COLUMNS_BYTES));
    seventh = next(seventh, load<u8>(at, COLUMNS + 6 * COLUMNS_BYTES));
    eighth = next(eighth, load<u8>(at, COLUMNS + 7 * COLUMNS_BYTES));
    store<u16>(to, first, TAKEN);
    store<u16>(to, second, TAKEN + TAKEN_BYTES);
    store<u16>(to, third, TAKEN + 2 * TAKEN_BYTES);
    store<u16>(to, fourth, TAKEN + 3 * TAKEN_BYTES);
    store<u16>(to, fifth, TAKEN + 4 * TAKEN_BYTES);
    store<u16>(to, sixth, TAKEN + 5 * TAKEN_BYTES);
    store<u16>(to, seventh, TAKEN + 6 * TAKEN_BYTES);
    store<u16>(to, eighth, TAKEN + 7 * TAKEN_BYTES);
    to += 2;
  }
  const isKnown =
    withoutCopy(first) < knownStates &&
    withoutCopy(second) < knownStates &&
    withoutCopy(third) < knownStates &&
    withoutCopy(fourth) < knownStates &&
    withoutCopy(fifth) < knownStates &&
    withoutCopy(sixth) < knownStates &&
    withoutCopy(seventh) < knownStates;
  if (!isKnown) return UNCERTAIN;
  store<u16>(TAKEN - 2, state);
  block = codes;
  blockStart = from;
  return (record(length, distance) << COUNT_SHIFT) | (<i32>withoutCopy(eighth));
}

/** Writes the columns of `length` units, multiplied by two: the offsets of transitions in a row. */
function writeColumns(units: usize, length: usize, to: usize): void {
  const end = to + length;
  for (; to < end; to += 32) {
    const left = columnsOf(v128.load(units), v128.load(units, 16));
    const right = columnsOf(v128.load(units, 32), v128.load(units, 48));
    v128.store(to, i8x16.add(left, left));
    v128.store(to, i8x16.add(right, right), 16);
    units += 64;
  }
}

/**
 * As in src/plugins/code_sanitation/prefilter-symbols.ts: the column of a unit is its code, but space and backtick, which have one different bit, are
 * exchanged. Narrowing changes the units outside of ASCII to 0x7f or a negative number.
 */
function columnsOf(left: v128, right: v128): v128 {
  const codes = i8x16.max_s(i8x16.narrow_i16x8_s(left, right), i64x2.splat(0));
  const isExchanged = i8x16.eq(v128.and(codes, i8x16.splat(~EXCHANGED_BIT)), i8x16.splat(<i8>SPACE));
  return v128.xor(codes, v128.and(isExchanged, i8x16.splat(EXCHANGED_BIT)));
}

/** Returns the transition from a state or a copy of it. */
function next(state: u32, column: usize): u32 {
  return <u32>load<u16>(((<usize>state) << ROW_SHIFT) + column, TRANSITIONS);
}

/** Returns the state itself, if it is a copy. */
function withoutCopy(state: u32): u32 {
  return state < firstCopy ? state : <u32>load<u16>((<usize>(state - firstCopy)) << 1, COPIED_STATES);
}

/** Writes the records of the transitions to copies of states, and how many were rejected. Returns the number of records. */
function record(length: usize, distance: usize): i32 {
  const end = findCopies(length, distance);
  // The readings are that much closer to each other in the text than in TAKEN.
  const gap = (TAKEN_BYTES >> 1) - distance;
  let possible = POSSIBLE;
  for (let at = COPIES; at < end; at += 4) {
    const taken = <usize>load<u32>(at);
    const state = withoutCopy(<u32>load<u16>(taken, TAKEN - 2));
    const position = <u32>((taken >> 1) - (taken >> READING_SHIFT) * gap);
    const check = checkOf(state, position);
    store<u32>(possible, (position << 16) | state);
    store<u32>(possible, <u32>check, 4);
    possible += mayMatch(check, block + ((<usize>position) << 1)) << 3;
  }
  const count = recordPossible(possible);
  store<u32>(REJECTED, <u32>((end - COPIES) >> 2) - <u32>count);
  return count;
}

/** Writes where in TAKEN copies of states are located. Returns the end of the list. */
function findCopies(length: usize, distance: usize): usize {
  const one: u64 = 1;
  let to = COPIES;
  for (let reading: usize = 0; reading < READINGS; reading++) {
    const start = TAKEN + reading * TAKEN_BYTES;
    const end = start + (length << 1);
    // Of the units that two readings share, the states of the first one of them are right.
    for (let at = reading == 0 ? start : end - (distance << 1); at < end; at += GROUP_BYTES) {
      let lanes =
        copiesOf(at) | (copiesOf(at + 32) << 16) | (copiesOf(at + 64) << 32) | (copiesOf(at + 96) << 48);
      const left = <u64>((end - at) >> 1);
      if (left < 64) lanes &= (one << left) - 1;
      const next = to + ((<usize>popcnt(lanes)) << 2);
      // Four at a time: the number of copies cannot be predicted. What is written after the last one is overwritten.
      do {
        for (let offset: usize = 0; offset < 16; offset += 4) {
          store<u32>(to + offset, <u32>(at - TAKEN) + ((<u32>ctz(lanes)) << 1));
          lanes &= lanes - 1;
        }
        to += 16;
      } while (lanes != 0);
      to = next;
    }
  }
  return to;
}

/** Writes the records of those triggers of which one candidate can match. Returns their number. */
function recordPossible(end: usize): i32 {
  let to = RECORDS;
  let rejectedWork: u32 = 0;
  for (let at = POSSIBLE; at < end; at += 8) {
    const record = load<u32>(at);
    const check = <usize>load<u32>(at, 4);
    const candidates = SETS + ((<usize>load<u16>(check, 14)) << 2);
    const count = <u32>load<u8>(check, 13);
    const isRejected =
      count != 0 && !mayMatchOneOf(candidates, count, block + ((<usize>(record >> 16)) << 1));
    store<u32>(to, record);
    to += isRejected ? 0 : 4;
    rejectedWork += isRejected ? <u32>load<u8>(candidates, 19) : 0;
  }
  store<u32>(REJECTED, rejectedWork, 4);
  return <i32>((to - RECORDS) >> 2);
}

/** Returns a bit for each of 16 states: 1 if it is a copy. */
function copiesOf(at: usize): u64 {
  const copies = i16x8.splat(<i16>firstCopy);
  const left = i16x8.ge_u(v128.load(at), copies);
  const right = i16x8.ge_u(v128.load(at, 16), copies);
  return <u64>(<u32>i8x16.bitmask(i8x16.narrow_i16x8_s(left, right)));
}

/** Returns the address of the check of the triggers of `state` that end before the unit at `position` of the block; CHECKS if there is none. */
function checkOf(state: u32, position: u32): usize {
  const row = <usize>load<u32>((<usize>state) << 2, ROWS);
  const at = block + ((<usize>position) << 1);
  const half: usize = blockStart + position > NEAR_START_UNITS ? NEAR_START_BYTES : 0;
  const list = <u32>load<u16>(row + half + (indexOf(<u32>load<u16>(at)) << 1));
  const isKnown = (<u32>(row != 0)) & (<u32>(list < MAX_CHECKS));
  return CHECKS + ((<usize>(isKnown != 0 ? list : UNKNOWN)) << CHECK_SHIFT);
}

/**
 * Returns 0 if no pattern can match where triggers end, before the unit at `at`, and otherwise 1. The same checks as
 * in src/plugins/code_sanitation/detector.ts, as far as their tables are known here. All of them, because a processor cannot predict which one rejects.
 */
function mayMatch(check: usize, at: usize): usize {
  const second = <u32>load<u16>(at, 2);
  const start = at - ((<usize>load<u8>(check, 12)) << 1);
  const lastUnits = load<u32>(<usize>load<u32>(check, 4) + (indexOf(<u32>load<u16>(start - 2)) << 2));
  const afterWhitespace = load<u32>(<usize>load<u32>(check, 8) + (indexOf(second) << 2));
  const isPossible =
    (<usize>((load<u32>(check) & bitOf(second)) != 0)) &
    (<usize>((lastUnits & bitOf(<u32>load<u16>(start - 4))) != 0)) &
    (<usize>((afterWhitespace & bitOf(<u32>load<u16>(at, 4))) != 0));
  return isPossible | (<usize>(check == CHECKS));
}

/** Returns whether one of the candidates can match where their triggers end, before the unit at `at`: the conditions of each one of them. */
function mayMatchOneOf(candidates: usize, count: u32, at: usize): bool {
  const second = <u32>load<u16>(at, 2);
  const secondBit = bitOf(second);
  const thirdBit = bitOf(<u32>load<u16>(at, 4));
  const hash = wordHashAt(at);
  const end = candidates + <usize>count * CANDIDATE_BYTES;
  for (let candidate = candidates; candidate < end; candidate += CANDIDATE_BYTES) {
    const start = at - ((<usize>load<u8>(candidate, 16)) << 1);
    const lastUnits = load<u32>(<usize>load<u32>(candidate, 4) + (indexOf(<u32>load<u16>(start - 2)) << 2));
    const afterWhitespace = load<u32>(<usize>load<u32>(candidate, 8) + (indexOf(second) << 2));
    const words = load<u32>(<usize>load<u32>(candidate, 12) + ((<usize>(hash >> 5)) << 2)) >> (hash & 31);
    const isPossible =
      (<u32>((load<u32>(candidate) & secondBit) != 0)) &
      (<u32>((lastUnits & bitOf(<u32>load<u16>(start - 4))) != 0)) &
      (<u32>((afterWhitespace & thirdBit) != 0)) &
      (words | (<u32>(hash == 0)));
    if (!isPossible) continue;
    if (isFoundBefore(<u32>load<u8>(candidate, 17), start) && isFoundAfter(<u32>load<u8>(candidate, 18), at))
      return true;
  }
  return false;
}

/** Returns the hash of the word at `at`, or after the whitespace there; 0 if there is none. */
function wordHashAt(at: usize): u32 {
  const start = at + <usize>((classesOf(<u32>load<u16>(at)) & WHITESPACE) << 1);
  const first = symbolAt(start);
  // Without branches: a processor cannot predict how long words are.
  const second = symbolAt(start + 2) & -(<u32>(first != 0));
  const third = symbolAt(start + 4) & -(<u32>(second != 0));
  const fourth = symbolAt(start + 6) & -(<u32>(third != 0));
  const key = first | (second << 5) | (third << 10) | (fourth << 15);
  return (key * MULTIPLIER) >> HASH_SHIFT;
}

function symbolAt(at: usize): u32 {
  return <u32>load<u8>(indexOf(<u32>load<u16>(at)), WORD_SYMBOLS);
}

/** Returns whether what is searched precedes the trigger that starts at `at`. */
function isFoundBefore(search: u32, at: usize): bool {
  if (search == OPEN_STRING) return !closesShortString(at);
  return search != NAME_WITH_ON || hasNameWithOn(at);
}

/** As in src/plugins/code_sanitation/required-before.ts, and as the next one. */
function closesShortString(at: usize): bool {
  const mark = <u32>load<u16>(at);
  const first = at - (SHORT_STRING << 1);
  let index = at - 2;
  let unit = <u32>load<u16>(index);
  while (index > first && unit != mark && unit != NEWLINE) {
    index -= 2;
    unit = <u32>load<u16>(index);
  }
  if (unit != mark) return false;
  return mark != SINGLE_QUOTE || (classesOf(<u32>load<u16>(index - 2)) & WORD) == 0;
}

function hasNameWithOn(at: usize): bool {
  let end = at;
  while (at - end < MAX_WHITESPACE << 1 && (classesOf(<u32>load<u16>(end - 2)) & WHITESPACE) != 0) end -= 2;
  let start = end;
  while (end - start < MAX_NAME << 1 && (classesOf(<u32>load<u16>(start - 2)) & LETTER) != 0) start -= 2;
  return (
    end - start >= MIN_NAME << 1 &&
    ((<u32>load<u16>(start)) | LOWER_CASE) == LOWER_O &&
    ((<u32>load<u16>(start, 2)) | LOWER_CASE) == LOWER_N
  );
}

/** Returns whether what is searched follows at `at`. As in src/plugins/code_sanitation/search-after.ts, and as the next ones. */
function isFoundAfter(search: u32, at: usize): bool {
  if (search == CLOSED_WORD) return hasClosedWord(at);
  if (search == NAME_AND_PATH) return hasNameAndPath(at);
  if (search == CONSTANT_OPERAND) return mayBeConstantOperand(at);
  return search != BATCH_CONDITION || mayBeBatchCondition(at);
}

function hasClosedWord(at: usize): bool {
  const end = endOfName(at);
  if (end == at) return true;
  const next = <u32>load<u16>(end, 2);
  return (classesOf(<u32>load<u16>(end)) & QUOTE) != 0 && (next == SPACE || (classesOf(next) & LETTER) != 0);
}

function endOfName(at: usize): usize {
  let end = at;
  let unit = <u32>load<u16>(end);
  while (end - at < MAX_WORD << 1 && ((classesOf(unit) & WORD) != 0 || unit == DASH)) {
    end += 2;
    unit = <u32>load<u16>(end);
  }
  return end;
}

function skipWhitespace(at: usize): usize {
  let end = at;
  while (end - at < MAX_WHITESPACE << 1 && (classesOf(<u32>load<u16>(end)) & WHITESPACE) != 0) end += 2;
  return end;
}

function hasNameAndPath(at: usize): bool {
  const start = skipWhitespace(at);
  const end = endOfName(start);
  const after = <u32>load<u16>(end);
  if (end == start || after == SLASH || after == LESS) return true;
  const path = skipWhitespace(end);
  if (path == end) return false;
  const first = <u32>load<u16>(path);
  if (first == SLASH || first == DOT || first == TILDE) return true;
  return (classesOf(first) & LETTER) != 0 && <u32>load<u16>(path, 2) == COLON;
}

function mayBeConstantOperand(at: usize): bool {
  const start = at + <usize>((classesOf(<u32>load<u16>(at)) & WHITESPACE) << 1);
  let end = start;
  while (end - start < MAX_WORD << 1 && (classesOf(<u32>load<u16>(end)) & LETTER) != 0) end += 2;
  if (end == start || <u32>load<u16>(end) != SPACE || (classesOf(<u32>load<u16>(end, 2)) & LETTER) == 0)
    return true;
  return end - start >= 6 && isConstantWord(start);
}

/** The first three letters of `not`, `null`, `binary`, `true`, `false`, `exists`, of variables, and of `select`. */
function isConstantWord(at: usize): bool {
  const third = (<u32>load<u16>(at, 4)) | LOWER_CASE;
  const letters =
    (((<u32>load<u16>(at)) | LOWER_CASE) << 16) | (((<u32>load<u16>(at, 2)) | LOWER_CASE) << 8) | third;
  return (
    letters == 0x6e6f74 ||
    letters == 0x6e756c ||
    letters == 0x62696e ||
    letters == 0x747275 ||
    letters == 0x66616c ||
    letters == 0x657869 ||
    letters == 0x637572 ||
    letters == 0x736573 ||
    letters == 0x737973 ||
    letters == 0x757463 ||
    letters == 0x6c6f63 ||
    letters == 0x73656c
  );
}

function mayBeBatchCondition(at: usize): bool {
  const isGroup = <u32>load<u16>(at) == OPEN_PAREN;
  const start = isGroup ? at + 2 : at;
  let end = start;
  while (end - start < MAX_COMPARED << 1 && (classesOf(<u32>load<u16>(end)) & WORD) != 0) end += 2;
  if (end == start || isConditionWord(lowerCasePair(start)) || isComparison(end)) return true;
  if (!isGroup) return false;
  for (let index = start; index - start <= MAX_GROUP << 1; index += 2) {
    const unit = <u32>load<u16>(index);
    if (unit == CLOSE_PAREN || unit == CLOSE_BRACKET) return isComparison(index + 2);
    if (unit == NEWLINE) return false;
  }
  return false;
}

/** Returns two units as one number, in lower case if they are letters. */
function lowerCasePair(at: usize): u32 {
  return load<u32>(at) | (LOWER_CASE << 16) | LOWER_CASE;
}

/** The start of `not`, `exist`, `defined`, `errorlevel`. */
function isConditionWord(pair: u32): bool {
  return pair == 0x6f006e || pair == 0x780065 || pair == 0x650064 || pair == 0x720065;
}

/** Whether `==`, or the start of `equ`, `neq`, `gtr`, `geq`, `lss`, `leq` follows. */
function isComparison(at: usize): bool {
  const start = skipWhitespace(at);
  if (load<u32>(start) == 0x3d003d) return <u32>load<u16>(start, 4) != EQUALS;
  const pair = lowerCasePair(start);
  return (
    pair == 0x710065 ||
    pair == 0x65006e ||
    pair == 0x740067 ||
    pair == 0x650067 ||
    pair == 0x73006c ||
    pair == 0x65006c
  );
}

function classesOf(unit: u32): u32 {
  return <u32>load<u8>(indexOf(unit), CLASSES);
}

/** Returns the index of a unit in a set: units outside of ASCII share one. */
function indexOf(unit: u32): usize {
  return <usize>(unit < NON_ASCII ? unit : NON_ASCII);
}

/** Returns the bit of the kind of a second unit. */
function bitOf(unit: u32): u32 {
  return 1 << (<u32>load<u8>(indexOf(unit), SECOND_KINDS));
}
