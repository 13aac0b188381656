// Runs the automaton of a prefilter over a block of code units, from four positions at the same time, and records where triggers end.
// AssemblyScript, not TypeScript: `npm run build:wasm` compiles this file to src/plugins/code_sanitation/read-triggers-wasm.ts.

// The layout of the memory, as in src/plugins/code_sanitation/trigger-memory.ts.
const CODES: usize = 0x10000;
const RECORDS: usize = 0x12000;
const RECORD_BYTES: usize = 0x4000;
const TRANSITIONS: usize = 0x22000;

// As in src/plugins/code_sanitation/prefilter.ts: a transition is a state below 2^15, and the bit above it marks the end of a trigger.
const MARK_SHIFT: u32 = 15;
const STATE_MASK: u32 = 0x7fff;
/** The bytes of a row: 64 transitions of two bytes. */
const ROW_SHIFT: usize = 7;
const ROW_MASK: usize = (<usize>STATE_MASK) << ROW_SHIFT;

/** The number of records of each reading after `read`. */
export let firstCount: i32 = 0;
export let secondCount: i32 = 0;
export let thirdCount: i32 = 0;
export let fourthCount: i32 = 0;

/**
 * Reads `length` units at CODES, and as many at `distance`, 2 × `distance` and 3 × `distance` units after them. The first reading begins in
 * `state`, the others in the root. Returns the state of the last one. A record is the transition to the state in which the trigger ended
 * and, above 16 bits, the number of units read before. It is written for every unit, and the next one overwrites it unless a trigger ended.
 */
export function read(state: u32, length: usize, distance: usize): u32 {
  let first = state;
  let second: u32 = 0;
  let third: u32 = 0;
  let fourth: u32 = 0;
  let firstRecord = RECORDS;
  let secondRecord = RECORDS + RECORD_BYTES;
  let thirdRecord = RECORDS + 2 * RECORD_BYTES;
  let fourthRecord = RECORDS + 3 * RECORD_BYTES;
  const toSecond = distance << 1;
  const toThird = toSecond << 1;
  const toFourth = toSecond + toThird;
  const end = CODES + (length << 1);
  let units: u32 = 0;
  for (let at = CODES; at < end; at += 2) {
    store<u32>(firstRecord, units | first);
    store<u32>(secondRecord, units | second);
    store<u32>(thirdRecord, units | third);
    store<u32>(fourthRecord, units | fourth);
    first = next(first, at);
    second = next(second, at + toSecond);
    third = next(third, at + toThird);
    fourth = next(fourth, at + toFourth);
    firstRecord += recordBytes(first);
    secondRecord += recordBytes(second);
    thirdRecord += recordBytes(third);
    fourthRecord += recordBytes(fourth);
    units += 0x10000;
  }
  firstCount = <i32>((firstRecord - RECORDS) >> 2);
  secondCount = <i32>((secondRecord - (RECORDS + RECORD_BYTES)) >> 2);
  thirdCount = <i32>((thirdRecord - (RECORDS + 2 * RECORD_BYTES)) >> 2);
  fourthCount = <i32>((fourthRecord - (RECORDS + 3 * RECORD_BYTES)) >> 2);
  return fourth & STATE_MASK;
}

/** Returns the transition from the state of `transition` with the unit at `at`. The symbols of units are at 0, times two. */
function next(transition: u32, at: usize): u32 {
  const row = ((<usize>transition) << ROW_SHIFT) & ROW_MASK;
  return <u32>load<u16>(row + <usize>load<u8>(<usize>load<u16>(at)), TRANSITIONS);
}

/** Returns 4 if a trigger ended, else 0. */
function recordBytes(transition: u32): usize {
  return <usize>((transition >> (MARK_SHIFT - 2)) & 4);
}
