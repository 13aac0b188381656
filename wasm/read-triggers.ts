// Runs the automaton of a prefilter over a block of code units, from six positions at the same time, and records where triggers end.
// AssemblyScript, not TypeScript: `npm run build:wasm` compiles this file to src/plugins/code_sanitation/read-triggers-wasm.ts.

// The layout of the memory, as in src/plugins/code_sanitation/trigger-memory.ts.
const CODES: usize = 0x10000;
const RECORDS: usize = 0x12000;
/** The bytes for the records of one reading, which are moved together at the end. */
const READING_BYTES: usize = 0x4000;
const TRANSITIONS: usize = 0x2a000;

// As in src/plugins/code_sanitation/prefilter.ts: a transition is a state below 2^15, and the bit above it marks the end of a trigger.
const MARK: u32 = 0x8000;
const STATE_MASK: u32 = 0x7fff;
/** The bytes of a row: 64 transitions of two bytes. */
const ROW_SHIFT: usize = 7;
const ROW_MASK: usize = (<usize>STATE_MASK) << ROW_SHIFT;

const UNCERTAIN: i32 = -1;
/** In the result of `read`: the number of records is above these bits, the state below. */
const COUNT_SHIFT: i32 = 15;

/**
 * Reads `length` units at CODES, and as many at the distances 1 to 5 times `distance` after them, and writes a record for each trigger, in ascending
 * order: the state in which the trigger ended and, above 16 bits, the number of units before its end. Returns the state after the last unit and the
 * number of records.
 *
 * Each reading but the first, which begins in `state`, begins in the root. After the units that it shares with the reading before, it is in the
 * right state if that is not deeper than their number. The states below `knownStates` are not. Returns UNCERTAIN if there was another one.
 */
export function read(state: u32, length: usize, distance: usize, knownStates: u32): i32 {
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
  const end = CODES + (length << 1);
  for (let at = CODES; at < end; at += 2) {
    const afterFirst = next(first, at);
    const afterSecond = next(second, at + toSecond);
    const afterThird = next(third, at + toThird);
    const afterFourth = next(fourth, at + toFourth);
    const afterFifth = next(fifth, at + toFifth);
    const afterSixth = next(sixth, at + toSixth);
    if (isMarked(afterFirst | afterSecond | afterThird | afterFourth | afterFifth | afterSixth)) {
      // The number of units, above 16 bits.
      const before = (<u32>(at - CODES)) << 15;
      if (isMarked(afterFirst)) firstRecord = add(firstRecord, before, first);
      if (isMarked(afterSecond)) secondRecord = add(secondRecord, before, second);
      if (isMarked(afterThird)) thirdRecord = add(thirdRecord, before, third);
      if (isMarked(afterFourth)) fourthRecord = add(fourthRecord, before, fourth);
      if (isMarked(afterFifth)) fifthRecord = add(fifthRecord, before, fifth);
      if (isMarked(afterSixth)) sixthRecord = add(sixthRecord, before, sixth);
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
  let to = firstRecord;
  to = move(1, secondRecord, distance, overlap, to);
  to = move(2, thirdRecord, distance, overlap, to);
  to = move(3, fourthRecord, distance, overlap, to);
  to = move(4, fifthRecord, distance, overlap, to);
  to = move(5, sixthRecord, distance, overlap, to);
  const count = <i32>((to - RECORDS) >> 2);
  return (count << COUNT_SHIFT) | (<i32>(sixth & STATE_MASK));
}

/** Returns the transition from the state of `transition` with the unit at `at`. The symbols of units are at 0, times two. */
function next(transition: u32, at: usize): u32 {
  const row = ((<usize>transition) << ROW_SHIFT) & ROW_MASK;
  return <u32>load<u16>(row + <usize>load<u8>(<usize>load<u16>(at)), TRANSITIONS);
}

function isMarked(transition: u32): bool {
  return (transition & MARK) != 0;
}

function isBelow(transition: u32, states: u32): bool {
  return (transition & STATE_MASK) < states;
}

/** Writes a record and returns the address of the next one. */
function add(record: usize, before: u32, transition: u32): usize {
  store<u32>(record, before | (transition & STATE_MASK));
  return record + 4;
}

/**
 * Moves the records of a reading to `to`, without those of the overlap, which the reading before has as well. Returns the address after them.
 */
function move(reading: usize, end: usize, distance: usize, overlap: usize, to: usize): usize {
  const start = (<u32>overlap) << 16;
  const offset = (<u32>(reading * distance)) << 16;
  for (let at = RECORDS + reading * READING_BYTES; at < end; at += 4) {
    const record = load<u32>(at);
    if (record < start) continue;
    store<u32>(to, record + offset);
    to += 4;
  }
  return to;
}
