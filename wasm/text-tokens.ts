// Adds up the estimated tokens of an ASCII text in a JSON string, 64 characters at a time: the automaton of src/formats/text-automaton.ts
// without its table. AssemblyScript, not TypeScript: a part of the module of estimated-fields.ts.
// Bit n of each u64 describes character n of a block. Blocks are read in order, and the last bits of a block are carried to the next one:
// `after(x, last)` has a bit where the character before has one in x.
import { bits } from "./lanes";

// The layout of the memory, as in src/formats/estimated-fields-module.ts.
const WEIGHTS: usize = 0;
/** The characters of escape sequences, by the byte after the backslash; 0 for rare ones. */
const ESCAPED: usize = 0x100;
/** By length, the units of a word of lowercase letters: up to MAX_LETTERS in the blocks before, and those of one block. */
const WORD_UNITS: usize = 0x200;
// From here to 0xc00, only this file uses it.
/** The decoded characters. The one before them is at SCRATCH - 1. */
const SCRATCH: usize = 0x380;
const SCRATCH_BYTES: usize = 0x400;
// A bit for each of the characters.
const LOWER: usize = 0x7a0;
const UPPER: usize = 0x830;
const VOWELS: usize = 0x8c0;
const DIGITS: usize = 0x950;
const WHITE: usize = 0x9e0;
const SPACES: usize = 0xa70;
/** By weight, the characters of the text that have it. */
const COUNTS: usize = 0xb00;

const BLOCK: usize = 64;
const QUOTE: u8 = 0x22;
const BACKSLASH: u8 = 0x5c;
/** Letters of a word after these add as much as the last one of them. */
const MAX_LETTERS: u64 = 13;

// The places of the weights, which are units of tokens.
const CONTINUED = 0;
const UPPER_MORE = 1;
const MIXED_FIRST = 2;
const MIXED_MORE = 3;
const CROWDED = 4;
const DIGIT_TOKEN = 5;
const SPACE_BEFORE_DIGITS = 6;
const FIRST_TAB = 7;
const SECOND_AFTER_SPACE = 8;
const SECOND_AFTER_TAB = 9;
const MORE_SPACE = 10;
const NEWLINE = 11;
const NEWLINE_AFTER_NEWLINE = 12;
const NEWLINE_AFTER_PUNCTUATION = 13;
const PUNCTUATION = 14;
const PUNCTUATION_AFTER_SPACE = 15;
const UNPAID_PREFIX = 16;
const REPEATED = 17;
const FURTHER_PUNCTUATION = 18;
/** In addition to FURTHER_PUNCTUATION. */
const LONG_PUNCTUATION = 19;
/** From here on, what each letter adds to its word. */
const LETTERS = 20;
/** Of all weights, and zeros up to whole vectors. */
const WEIGHT_BYTES: usize = 0x90;

/** The index of the closing quote of the last text. */
export let textEnd: i32 = 0;

/** Units of the words that blocks begin with, or within. */
let firstWordUnits: i32 = 0;
/** Letters of a word that the next block may continue, at most MAX_LETTERS. */
let wordLetters: u64 = 0;
// Bits of the block before: the last one of each kind, or all bits of the block where the name says so.
let lower: u64 = 0;
let upper: u64 = 0;
let furtherUpper: u64 = 0;
let mixed: u64 = 0;
let blank: u64 = 0;
let firstBlank: u64 = 0;
let space: u64 = 0;
let tab: u64 = 0;
let spaceState: u64 = 0;
let newline: u64 = 0;
let prefix: u64 = 0;
let second: u64 = 0;
let third: u64 = 0;
let fourth: u64 = 0;
let digitBlock: u64 = 0;
let digitTokenBlock: u64 = 0;
let consonantBlock: u64 = 0;
let consonantPairBlock: u64 = 0;
let punctuationBlock: u64 = 0;
let punctuationPairBlock: u64 = 0;

/**
 * Returns the units of the text that starts at `start`, or -1 if it has other characters than ASCII or rare escape sequences. A closing
 * quote must follow.
 */
export function unitsOfText(start: usize): i32 {
  reset();
  let at = start;
  let out = SCRATCH;
  for (;;) {
    const bytes = v128.load(at);
    v128.store(out, bytes);
    const stops = i8x16.bitmask(
      v128.or(bytes, v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH)))),
    );
    if (stops == 0) {
      at += 16;
      out += 16;
    } else {
      const read = <usize>ctz(stops);
      at += read;
      out += read;
      const character = load<u8>(ESCAPED + load<u8>(at, 1));
      if (load<u8>(at) != BACKSLASH || character == 0) break;
      store<u8>(out, character);
      at += 2;
      out += 1;
    }
    if (out >= SCRATCH + SCRATCH_BYTES) {
      countBlocks(SCRATCH + SCRATCH_BYTES);
      // Up to 15 characters are left.
      store<u8>(SCRATCH - 1, load<u8>(SCRATCH + SCRATCH_BYTES - 1));
      v128.store(SCRATCH, v128.load(SCRATCH + SCRATCH_BYTES));
      out -= SCRATCH_BYTES;
    }
  }
  if (load<u8>(at) != QUOTE) return -1;
  textEnd = <i32>at;
  countBlocks(out);
  return units();
}

function reset(): void {
  lower = upper = furtherUpper = mixed = blank = firstBlank = space = tab = spaceState = newline = 0;
  prefix = second = third = fourth = digitBlock = digitTokenBlock = 0;
  consonantBlock = consonantPairBlock = punctuationBlock = punctuationPairBlock = 0;
  wordLetters = 0;
  firstWordUnits = 0;
  for (let at: usize = 0; at < WEIGHT_BYTES; at += 16) v128.store(COUNTS + at, i32x4.splat(0));
  // No character: differs from every other one.
  store<u8>(SCRATCH - 1, 0);
}

/** Reads the characters from SCRATCH to `end`. */
function countBlocks(end: usize): void {
  classify(end);
  for (let at = SCRATCH; at < end; at += BLOCK) countBlock(at, firstBits(end - at));
}

/** Writes a bit for each character and class. Stores keep the compiler from mixing the vectors, which do not all fit into the registers. */
function classify(end: usize): void {
  let bytes: usize = 0;
  for (let at = SCRATCH; at < end; at += 16) {
    const vector = v128.load(at);
    store<u16>(LOWER + bytes, <u16>i8x16.bitmask(lowerOf(vector)));
    store<u16>(VOWELS + bytes, <u16>i8x16.bitmask(vowelOf(vector)));
    store<u16>(UPPER + bytes, <u16>i8x16.bitmask(upperOf(vector)));
    store<u16>(DIGITS + bytes, <u16>i8x16.bitmask(digitOf(vector)));
    store<u16>(WHITE + bytes, <u16>i8x16.bitmask(whiteOf(vector)));
    store<u16>(SPACES + bytes, <u16>i8x16.bitmask(spaceOf(vector)));
    bytes += 2;
  }
}

/** `valid` are the characters that belong to the text. */
function countBlock(at: usize, valid: u64): void {
  const bytes = (at - SCRATCH) >> 3;
  const isLower = load<u64>(LOWER + bytes) & valid;
  const isUpper = load<u64>(UPPER + bytes) & valid;
  const isVowel = load<u64>(VOWELS + bytes);
  const isDigit = load<u64>(DIGITS + bytes) & valid;
  const isWhite = load<u64>(WHITE + bytes) & valid;
  const isSpace = load<u64>(SPACES + bytes) & valid;
  const isLetter = isLower | isUpper;
  const isPunctuation = valid & ~(isLetter | isDigit | isWhite);
  const isControl = isWhite & ~isSpace;
  const isTab = isControl == 0 ? 0 : tabsAt(at) & isControl;
  const isNewline = isControl & ~isTab;
  const afterDigit = after(isDigit, digitBlock >> 63);
  countLetters(isLower, isUpper, isLower & ~isVowel, afterDigit);
  const isBlank = isSpace | isTab;
  const afterBlank = after(isBlank, blank);
  const hasSpaceState = isSpace | (isTab & afterBlank);
  const afterSpaceState = after(hasSpaceState, spaceState);
  spaceState = hasSpaceState >> 63;
  if (isDigit != 0) countDigits(isDigit, afterDigit, afterSpaceState);
  else digitTokenBlock = 0;
  digitBlock = isDigit;
  countBlanks(isBlank, isSpace, isTab, afterBlank);
  const afterPunctuation = after(isPunctuation, punctuationBlock >> 63);
  if (isNewline != 0) {
    const afterNewline = after(isNewline, newline);
    count(NEWLINE_AFTER_NEWLINE, isNewline & afterNewline);
    count(NEWLINE_AFTER_PUNCTUATION, isNewline & afterPunctuation);
    count(NEWLINE, isNewline & ~(afterNewline | afterPunctuation));
  }
  newline = isNewline >> 63;
  const isFirst = isPunctuation & ~afterPunctuation;
  const isPrefix = isFirst & ~afterSpaceState;
  count(PUNCTUATION, isPrefix);
  count(UNPAID_PREFIX, after(isPrefix, prefix) & valid & ~isLetter);
  count(PUNCTUATION_AFTER_SPACE, isFirst & afterSpaceState);
  prefix = isPrefix >> 63;
  const isFurther = isPunctuation & afterPunctuation;
  if (isFurther != 0) {
    countFurtherPunctuation(isPunctuation, isFurther, isFurther & repeatedAt(at));
  } else second = third = fourth = punctuationPairBlock = 0;
  punctuationBlock = isPunctuation;
}

function countLetters(isLower: u64, isUpper: u64, isConsonant: u64, afterDigit: u64): void {
  const afterLower = after(isLower, lower);
  const afterUpper = after(isUpper, upper);
  lower = isLower >> 63;
  upper = isUpper >> 63;
  const isFurtherUpper = isUpper & afterUpper;
  const isFirstUpper = isUpper & ~afterUpper;
  // Lowercase letters after several uppercase ones, up to the end of the word.
  const isFirstMixed = isLower & after(isFurtherUpper, furtherUpper);
  furtherUpper = isFurtherUpper >> 63;
  // The addition carries through the letters after each start.
  const isMixed = isLower & ~(isLower + (isFirstMixed | (isLower & mixed)));
  mixed = isMixed >> 63;
  const isInWord = isLower & ~isMixed;
  count(CONTINUED, (isFirstUpper & (afterLower | afterDigit)) | (isInWord & afterDigit));
  if (isFurtherUpper != 0) count(UPPER_MORE, isFurtherUpper);
  if (isMixed != 0) {
    count(MIXED_FIRST, isFirstMixed);
    count(MIXED_MORE, isMixed & ~isFirstMixed);
  }
  countWords(isInWord, isFirstUpper);
  const isPair = isConsonant & after(isConsonant, consonantBlock >> 63);
  count(CROWDED, isPair & ((isPair << 2) | (consonantPairBlock >> 62)));
  consonantBlock = isConsonant;
  consonantPairBlock = isPair;
}

/** `isInWord` are the lowercase letters of words, which may start with one of them or with an uppercase one. */
function countWords(isInWord: u64, isFirstUpper: u64): void {
  // The letters up to the end of the word that the block begins with, or within.
  const first = ctz(~isInWord);
  firstWordUnits += wordUnits(wordLetters + first) - wordUnits(wordLetters);
  const isFurther = isInWord & (isInWord + 1);
  const last = clz(~isInWord);
  wordLetters = min(last + ((isFirstUpper >> (63 - last)) & 1), MAX_LETTERS);
  // The first letter of each of the other words, then the second one, and so on.
  let isLetter = isFirstUpper | (isFurther & ~after(isFurther | isFirstUpper, 0));
  count(LETTERS, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 1, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 2, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 3, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 4, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 5, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 6, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 7, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 8, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 9, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 10, isLetter);
  isLetter = isFurther & (isLetter << 1);
  count(LETTERS + 11, isLetter);
  isLetter = isFurther & (isLetter << 1);
  // The addition carries through the letters after each of these.
  if (isLetter != 0) count(LETTERS + 12, isFurther & ~(isFurther + isLetter));
}

function wordUnits(letters: u64): i32 {
  return load<i32>(WORD_UNITS + ((<usize>letters) << 2));
}

/** Every third digit of a number starts a token. */
function countDigits(isDigit: u64, afterDigit: u64, afterSpaceState: u64): void {
  const isStart = isDigit & ~afterDigit;
  let reaches = isDigit & afterDigit & ((isDigit << 2) | (digitBlock >> 62));
  let isToken = isStart | (reaches & (digitTokenBlock >> 61));
  for (let distance: u64 = 3; distance < 64 && reaches != 0; distance <<= 1) {
    isToken |= reaches & (isToken << distance);
    reaches &= reaches << distance;
  }
  digitTokenBlock = isToken;
  count(DIGIT_TOKEN, isToken);
  count(SPACE_BEFORE_DIGITS, isStart & afterSpaceState);
}

function countBlanks(isBlank: u64, isSpace: u64, isTab: u64, afterBlank: u64): void {
  const isFirst = isBlank & ~afterBlank;
  const isFurther = isBlank & afterBlank;
  if ((isTab | isFurther) != 0) {
    const isSecond = isBlank & after(isFirst, firstBlank);
    count(FIRST_TAB, isFirst & isTab);
    count(SECOND_AFTER_SPACE, isSecond & after(isSpace, space));
    count(SECOND_AFTER_TAB, isSecond & after(isTab, tab));
    count(MORE_SPACE, isFurther & ~isSecond);
  }
  blank = isBlank >> 63;
  firstBlank = isFirst >> 63;
  space = isSpace >> 63;
  tab = isTab >> 63;
}

/** `isFurther` are punctuation characters after another one, `isRepeated` those that are the same as the one before. */
function countFurtherPunctuation(isPunctuation: u64, isFurther: u64, isRepeated: u64): void {
  const isOther = isFurther & ~isRepeated;
  count(REPEATED, isRepeated);
  count(FURTHER_PUNCTUATION, isOther);
  // Only sequences of four, and the start of one that the next block may continue.
  const isPair = isPunctuation & after(isPunctuation, punctuationBlock >> 63);
  const isFour = isPair & ((isPair << 2) | (punctuationPairBlock >> 62));
  punctuationPairBlock = isPair;
  if ((isFour | (isPunctuation >> 63)) == 0) {
    count(LONG_PUNCTUATION, isOther & fourth);
    second = third = fourth = 0;
    return;
  }
  const isChanged = isOther | (isPunctuation & ~isFurther);
  // From the second, third and fourth different character of a sequence on, up to its end.
  const isSecond = filled(isOther | (isPunctuation & second), isPunctuation);
  const isThird = filled((isChanged & after(isSecond, second)) | (isPunctuation & third), isPunctuation);
  const isFourth = filled((isChanged & after(isThird, third)) | (isPunctuation & fourth), isPunctuation);
  count(LONG_PUNCTUATION, isOther & after(isFourth, fourth));
  second = isSecond >> 63;
  third = isThird >> 63;
  fourth = isFourth >> 63;
}

/** Adds to `starts` the bits that follow them in `within` without a gap. */
function filled(starts: u64, within: u64): u64 {
  let result = starts;
  let reaches = within;
  for (let distance: u64 = 1; distance < 64; distance <<= 1) {
    result |= reaches & (result << distance);
    reaches &= reaches << distance;
  }
  return result;
}

/** As many bits as `count`, at most 64. */
function firstBits(count: u64): u64 {
  const one: u64 = 1;
  return count < BLOCK ? (one << count) - 1 : u64.MAX_VALUE;
}

function after(positions: u64, last: u64): u64 {
  return (positions << 1) | last;
}

/** Adds up as many characters to the count of a weight: a multiplication for each block would take longer. */
function count(weight: usize, positions: u64): void {
  const at = COUNTS + (weight << 2);
  store<i32>(at, load<i32>(at) + <i32>popcnt(positions));
}

/** Returns the units of what was counted. */
function units(): i32 {
  let sums = i32x4.splat(0);
  for (let at: usize = 0; at < WEIGHT_BYTES; at += 16)
    sums = i32x4.add(sums, i32x4.mul(v128.load(WEIGHTS + at), v128.load(COUNTS + at)));
  const halves = i32x4.add(
    sums,
    i8x16.shuffle(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7),
  );
  return firstWordUnits + i32x4.extract_lane(halves, 0) + i32x4.extract_lane(halves, 1);
}

/** Which of the 64 characters are tabs. */
function tabsAt(at: usize): u64 {
  const tab = i8x16.splat(0x09);
  return bits(
    i8x16.eq(v128.load(at), tab),
    i8x16.eq(v128.load(at, 16), tab),
    i8x16.eq(v128.load(at, 32), tab),
    i8x16.eq(v128.load(at, 48), tab),
  );
}

/** Which of the 64 characters are the same as the one before. */
function repeatedAt(at: usize): u64 {
  return bits(
    i8x16.eq(v128.load(at), v128.load(at - 1)),
    i8x16.eq(v128.load(at, 16), v128.load(at - 1, 16)),
    i8x16.eq(v128.load(at, 32), v128.load(at - 1, 32)),
    i8x16.eq(v128.load(at, 48), v128.load(at - 1, 48)),
  );
}

/** Whether a byte is one of the `count` from `first` on: these become the lowest signed numbers. */
function isWithin(bytes: v128, first: i8, count: i8): v128 {
  return i8x16.lt_s(i8x16.add(bytes, i8x16.splat(i8.MIN_VALUE - first)), i8x16.splat(i8.MIN_VALUE + count));
}

function lowerOf(bytes: v128): v128 {
  return isWithin(bytes, 0x61, 26);
}

function upperOf(bytes: v128): v128 {
  return isWithin(bytes, 0x41, 26);
}

function digitOf(bytes: v128): v128 {
  return isWithin(bytes, 0x30, 10);
}

/** Whether a byte is one of `aeiouy`: a table from a to p, and one from q on. */
function vowelOf(bytes: v128): v128 {
  const fromA = i8x16(-1, 0, 0, 0, -1, 0, 0, 0, -1, 0, 0, 0, 0, 0, -1, 0);
  const fromQ = i8x16(0, 0, 0, 0, -1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0);
  return v128.or(
    i8x16.swizzle(fromA, i8x16.sub(bytes, i8x16.splat(0x61))),
    i8x16.swizzle(fromQ, i8x16.sub(bytes, i8x16.splat(0x71))),
  );
}

/** Whether a character is a space or a control character: tabs and newlines are the only ones of these that are decoded. */
function whiteOf(bytes: v128): v128 {
  return i8x16.lt_s(bytes, i8x16.splat(0x21));
}

function spaceOf(bytes: v128): v128 {
  return i8x16.eq(bytes, i8x16.splat(0x20));
}
