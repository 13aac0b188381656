// Runs the automaton of a prefilter over a block of code units, from six positions at the same time, and records where triggers end, except for
// those that the units around them reject.
// AssemblyScript, not TypeScript: `npm run build:wasm` compiles this file to src/plugins/code_sanitation/read-triggers-wasm.ts.

// The layout of the memory, as in src/plugins/code_sanitation/trigger-memory.ts and src/plugins/code_sanitation/trigger-filter.ts.
const SYMBOLS: usize = 0x120000;
const RECORDS: usize = 0x135000;
/** The bytes for the records of one reading, which are moved together at the end. */
const READING_BYTES: usize = 0x4000;
const REJECTED: usize = 0x14d000;
/** By unit, as in the sets: the kind of a second unit, the symbol of a unit in a word, and bits of its classes. */
const SECOND_KINDS: usize = 0x14d100;
const WORD_SYMBOLS: usize = 0x14d200;
const CLASSES: usize = 0x14d300;
const CHECKS: usize = 0x14e000;
const SETS: usize = 0x15e000;
const ROWS: usize = 0x19e000;
const TRANSITIONS: usize = 0x1be000;

// As in src/plugins/code_sanitation/prefilter.ts: a transition is a state below 2^15, and the bit above it marks the end of a trigger.
const MARK: u32 = 0x8000;
const STATE_MASK: u32 = 0x7fff;
/** The bytes of a row: 64 transitions of two bytes. */
const ROW_SHIFT: usize = 7;
const ROW_MASK: usize = (<usize>STATE_MASK) << ROW_SHIFT;

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

const NEWLINE: u32 = 0x0a;
const SINGLE_QUOTE: u32 = 0x27;
const LOWER_CASE: u32 = 0x20;
const LOWER_N: u32 = 0x6e;
const LOWER_O: u32 = 0x6f;

const UNCERTAIN: i32 = -1;
/** In the result of `read`: the number of records is above these bits, the state below. */
const COUNT_SHIFT: i32 = 15;

/** The address of the block, its position in the text, and the number of records before any was rejected. */
let block: usize = 0;
let blockStart: u32 = 0;
let recorded: u32 = 0;
/** The number of candidates of the triggers that were rejected because none of their candidates can match. */
let rejectedCandidates: u32 = 0;

/**
 * Reads `length` units at `codes`, which are located at `from` in the text, and as many at the distances 1 to 5 times `distance` after them. Writes a
 * record for each trigger that is not rejected, in ascending order: the state in which the trigger ended and, above 16 bits, the number of
 * units before its end. Returns the state after the last unit and the number of records. The units of the text before the block must be there as well, UNITS_BEFORE more
 * than the longest trigger has, and UNITS_AFTER after it (trigger-memory.ts). A zero precedes and zeros follow the text.
 *
 * Each reading but the first, which begins in `state`, begins in the root. After the units that it shares with the reading before, it is in the
 * right state if that is not deeper than their number. The states below `knownStates` are not. Returns UNCERTAIN if there was another one.
 */
export function read(
  state: u32,
  length: usize,
  distance: usize,
  knownStates: u32,
  codes: usize,
  from: u32,
): i32 {
  let first = state;
  let second: u32 = 0;
  let third: u32 = 0;
  let fourth: u32 = 0;
  let fifth: u32 = 0;
  let sixth: u32 = 0;
  let firstRecord = RECORDS;
  let secondRecord = RECORDS + READING_BYTES;
  let thirdRecord = RECORDS + 2 * READING_BYTES;
  let fourthRecord = RECORDS + 3 * READING_BYTES;
  let fifthRecord = RECORDS + 4 * READING_BYTES;
  let sixthRecord = RECORDS + 5 * READING_BYTES;
  const toSecond = distance << 1;
  const toThird = toSecond << 1;
  const toFourth = toSecond + toThird;
  const toFifth = toThird << 1;
  const toSixth = toFifth + toSecond;
  const end = codes + (length << 1);
  for (let at = codes; at < end; at += 2) {
    const afterFirst = next(first, at);
    const afterSecond = next(second, at + toSecond);
    const afterThird = next(third, at + toThird);
    const afterFourth = next(fourth, at + toFourth);
    const afterFifth = next(fifth, at + toFifth);
    const afterSixth = next(sixth, at + toSixth);
    if (isMarked(afterFirst | afterSecond | afterThird | afterFourth | afterFifth | afterSixth)) {
      // The number of units, above 16 bits.
      const before = (<u32>(at - codes)) << 15;
      firstRecord = add(firstRecord, before, first, afterFirst);
      secondRecord = add(secondRecord, before, second, afterSecond);
      thirdRecord = add(thirdRecord, before, third, afterThird);
      fourthRecord = add(fourthRecord, before, fourth, afterFourth);
      fifthRecord = add(fifthRecord, before, fifth, afterFifth);
      sixthRecord = add(sixthRecord, before, sixth, afterSixth);
    }
    first = afterFirst;
    second = afterSecond;
    third = afterThird;
    fourth = afterFourth;
    fifth = afterFifth;
    sixth = afterSixth;
  }
  const isKnown =
    isBelow(first, knownStates) &&
    isBelow(second, knownStates) &&
    isBelow(third, knownStates) &&
    isBelow(fourth, knownStates) &&
    isBelow(fifth, knownStates);
  if (!isKnown) return UNCERTAIN;
  const overlap = length - distance;
  block = codes;
  blockStart = from;
  recorded = 0;
  rejectedCandidates = 0;
  let to = move(0, firstRecord, distance, 0, RECORDS);
  to = move(1, secondRecord, distance, overlap, to);
  to = move(2, thirdRecord, distance, overlap, to);
  to = move(3, fourthRecord, distance, overlap, to);
  to = move(4, fifthRecord, distance, overlap, to);
  to = move(5, sixthRecord, distance, overlap, to);
  const count = <i32>((to - RECORDS) >> 2);
  store<u32>(REJECTED, recorded - <u32>count);
  store<u32>(REJECTED, rejectedCandidates, 4);
  return (count << COUNT_SHIFT) | (<i32>(sixth & STATE_MASK));
}

/** Returns the transition from the state of `transition` with the unit at `at`. The symbols are multiplied by two. */
function next(transition: u32, at: usize): u32 {
  const row = ((<usize>transition) << ROW_SHIFT) & ROW_MASK;
  return <u32>load<u16>(row + <usize>load<u8>(<usize>load<u16>(at), SYMBOLS), TRANSITIONS);
}

function isMarked(transition: u32): bool {
  return (transition & MARK) != 0;
}

function isBelow(transition: u32, states: u32): bool {
  return (transition & STATE_MASK) < states;
}

/** Writes a record and returns the address of the next one: the same if `after` is not marked. A branch would often be mispredicted. */
function add(record: usize, before: u32, transition: u32, after: u32): usize {
  store<u32>(record, before | (transition & STATE_MASK));
  return record + <usize>((after & MARK) >> 13);
}

/**
 * Moves the records of a reading to `to`, without those of the overlap, which the reading before has as well, and without those that are rejected.
 * Returns the address after them.
 */
function move(reading: usize, end: usize, distance: usize, overlap: usize, to: usize): usize {
  const start = (<u32>overlap) << 16;
  const offset = (<u32>(reading * distance)) << 16;
  for (let at = RECORDS + reading * READING_BYTES; at < end; at += 4) {
    const record = load<u32>(at);
    if (record < start) continue;
    const moved = record + offset;
    store<u32>(to, moved);
    to += mayMatch(moved & STATE_MASK, moved >> 16) << 2;
    recorded++;
  }
  return to;
}

/**
 * Returns 0 if no pattern can match where the triggers of `state` end, before the unit at `position` of the block, and otherwise 1. The same checks as
 * in src/plugins/code_sanitation/detector.ts, as far as their tables are known here. All of them, because a processor cannot predict which one rejects.
 */
function mayMatch(state: u32, position: u32): usize {
  const row = <usize>load<u32>((<usize>state) << 2, ROWS);
  if (row == 0) return 1;
  const at = block + ((<usize>position) << 1);
  const half: usize = blockStart + position > NEAR_START_UNITS ? NEAR_START_BYTES : 0;
  const list = <u32>load<u16>(row + half + (indexOf(<u32>load<u16>(at)) << 1));
  const check = CHECKS + ((<usize>(list < MAX_CHECKS ? list : UNKNOWN)) << CHECK_SHIFT);
  const second = <u32>load<u16>(at, 2);
  const start = at - ((<usize>load<u8>(check, 12)) << 1);
  const lastUnits = load<u32>(<usize>load<u32>(check, 4) + (indexOf(<u32>load<u16>(start - 2)) << 2));
  const afterWhitespace = load<u32>(<usize>load<u32>(check, 8) + (indexOf(second) << 2));
  const isPossible =
    (<usize>((load<u32>(check) & bitOf(second)) != 0)) &
    (<usize>((lastUnits & bitOf(<u32>load<u16>(start - 4))) != 0)) &
    (<usize>((afterWhitespace & bitOf(<u32>load<u16>(at, 4))) != 0));
  const count = <u32>load<u8>(check, 13);
  if (!isPossible || count == 0) return isPossible;
  if (mayMatchOneOf(SETS + ((<usize>load<u16>(check, 14)) << 2), count, at)) return 1;
  rejectedCandidates += count;
  return 0;
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
    if (isPossible && isFoundBefore(<u32>load<u8>(candidate, 17), start)) return true;
  }
  return false;
}

/** Returns the hash of the word at `at`, or after the whitespace there; 0 if there is none. */
function wordHashAt(at: usize): u32 {
  const start = at + <usize>((classesOf(<u32>load<u16>(at)) & WHITESPACE) << 1);
  const first = symbolAt(start);
  const second = first == 0 ? 0 : symbolAt(start + 2);
  const third = second == 0 ? 0 : symbolAt(start + 4);
  const fourth = third == 0 ? 0 : symbolAt(start + 6);
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
