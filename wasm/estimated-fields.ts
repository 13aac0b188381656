// Walks a JSON object that is a request, adds up the estimated tokens of its plain chat messages, and finds the other values that the
// estimate of the request depends on. AssemblyScript, not TypeScript: `npm run build:wasm` compiles this file to
// src/formats/estimated-fields-wasm.ts. The JSON was validated; what no request has, and what is rare, is left to a parser.
import { textEnd, unitsOfText } from "./text-tokens";

// The layout of the memory, as in src/formats/estimated-fields-module.ts. The first 0xc00 bytes are described in text-tokens.ts.
/** By length of a name, the number of the first name that is at least as long. */
const FIRST_NAMES: usize = 0xc00;
const FOUND_COUNT: usize = 0xc40;
/** By its number, the bytes of a name. Number 0 is not used. Names of the same length are located one after the other. */
const NAMES: usize = 0x1000;
const NAME_SHIFT: usize = 5;
/** The values that were found: each has a kind, a start, and an end, counted from the start of the request. */
const FOUND: usize = 0x1800;
const FOUND_BYTES: usize = 12;
const MAX_FOUND: i32 = 1024;

// Kinds of found values. Other kinds are the numbers of names.
/** Messages that are not plain, with commas between them. */
const MESSAGES_TO_PARSE: i32 = -1;
/** A text of a plain message that has to be decoded. */
const TEXT_TO_DECODE: i32 = -2;

const UNKNOWN_NAME: i32 = 0;
const ESCAPED_NAME: i32 = -1;
const MAX_NAME_LENGTH: u32 = 31;

/** What `readRequest` returns if the request has to be parsed. */
const TO_PARSE: i32 = -1;

const QUOTE: u8 = 0x22;
const COMMA: u8 = 0x2c;
const COLON: u8 = 0x3a;
const BACKSLASH: u8 = 0x5c;
const OPEN_BRACKET: u8 = 0x5b;
const CLOSE_BRACKET: u8 = 0x5d;
const OPEN_BRACE: u8 = 0x7b;
const CLOSE_BRACE: u8 = 0x7d;

// Keys and values with their closing quotes; the first byte is the lowest one. Those of more than eight bytes have a second part.
const CONTENT: u64 = 0x2274_6e65_746e_6f63;
const ROLE: u64 = 0x22_656c_6f72;
const NAME: u64 = 0x22_656d_616e;
const TYPE: u64 = 0x22_6570_7974;
const TEXT: u64 = 0x22_7478_6574;
const FIVE_BYTES: u64 = 0xff_ffff_ffff;
const CACHE_CO: u64 = 0x6f63_5f65_6863_6163;
const CONTROL: u64 = 0x226c_6f72_746e_6f63;
const INPUT_TE: u64 = 0x6574_5f74_7570_6e69;
const OUTPUT_T: u64 = 0x745f_7475_7074_756f;
const XT: u32 = 0x22_7478;
const EXT: u32 = 0x2274_7865;
const THREE_BYTES: u32 = 0xff_ffff;

let requestStart: usize = 0;
/** Units of the plain messages so far. */
let units: i32 = 0;
let foundCount: i32 = 0;
/** The end of the key that `numberOfName` has read, after its quote. */
let keyEnd: usize = 0;

/**
 * Returns the units of the plain messages of the request at `start`, without texts to decode, and stores the values that were found. Returns
 * TO_PARSE if a name has escape sequences, there is too much to store, `messages` occurs twice, or the text is not JSON. Two quotes, a
 * byte 0, a quote, and a byte 0 must follow the request: they end every loop. `messagesName` is the number of the name, `messageUnits` is
 * added for each plain message.
 */
export function readRequest(start: usize, messagesName: i32, messageUnits: i32): i32 {
  requestStart = start;
  units = 0;
  foundCount = 0;
  let hasMessages = false;
  let at = skipSpace(start);
  if (load<u8>(at) != OPEN_BRACE) return TO_PARSE;
  for (at = skipSpace(at + 1); load<u8>(at) == QUOTE; at = nextItem(at)) {
    const name = numberOfName(at + 1);
    const value = startOfValue(keyEnd);
    if (name == ESCAPED_NAME || value == 0) return TO_PARSE;
    if (name == messagesName) {
      if (hasMessages) return TO_PARSE;
      hasMessages = true;
    }
    if (name == messagesName && load<u8>(value) == OPEN_BRACKET) at = endOfMessages(value, messageUnits);
    else {
      at = endOfValue(value);
      if (name != UNKNOWN_NAME) addFound(name, value, at);
    }
    if (at == 0 || foundCount > MAX_FOUND) return TO_PARSE;
  }
  if (load<u8>(at) != CLOSE_BRACE) return TO_PARSE;
  store<i32>(FOUND_COUNT, foundCount);
  return units;
}

/** Sets `keyEnd`. */
function numberOfName(start: usize): i32 {
  const low = v128.load(start);
  const high = v128.load(start, 16);
  const stops = pairBits(isStop(low), isStop(high));
  const length = ctz(stops);
  keyEnd = start + <usize>length + 1;
  if (length > MAX_NAME_LENGTH) {
    keyEnd = endOfString(start);
    for (let at = start; at < keyEnd; at++) if (load<u8>(at) == BACKSLASH) return ESCAPED_NAME;
    return UNKNOWN_NAME;
  }
  if (load<u8>(start + <usize>length) == BACKSLASH) return ESCAPED_NAME;
  const mask = ((<u32>1) << length) - 1;
  const end = <i32>load<u8>(FIRST_NAMES + <usize>length + 1);
  for (let number = <i32>load<u8>(FIRST_NAMES + <usize>length); number < end; number++) {
    const name = NAMES + ((<usize>number) << NAME_SHIFT);
    const same = pairBits(i8x16.eq(low, v128.load(name)), i8x16.eq(high, v128.load(name, 16)));
    if ((same & mask) == mask) return number;
  }
  return UNKNOWN_NAME;
}

/** Stores a value, unless there are too many: then only `foundCount` grows. */
function addFound(kind: i32, start: usize, end: usize): void {
  if (foundCount < MAX_FOUND) {
    const entry = FOUND + <usize>foundCount * FOUND_BYTES;
    store<i32>(entry, kind);
    store<i32>(entry, <i32>(start - requestStart), 4);
    store<i32>(entry, <i32>(end - requestStart), 8);
  }
  foundCount++;
}

/** Adds the units of the plain messages of the list at `start`. Returns the index after it; 0 if it is not valid. */
function endOfMessages(start: usize, messageUnits: i32): usize {
  // The first one of several in a row that are not plain; 0 if the last one is plain.
  let firstOther: usize = 0;
  let at = skipSpace(start + 1);
  while (load<u8>(at) != CLOSE_BRACKET) {
    const unitsBefore = units;
    const foundBefore = foundCount;
    let end = load<u8>(at) == OPEN_BRACE ? endOfPlainMessage(at) : 0;
    if (end != 0) {
      units += messageUnits;
      firstOther = 0;
    } else {
      end = endOfValue(at);
      if (end == 0) return 0;
      units = unitsBefore;
      // The message before, if it is not plain either, and this one are found as one value.
      foundCount = firstOther == 0 ? foundBefore : foundBefore - 1;
      if (firstOther == 0) firstOther = at;
      addFound(MESSAGES_TO_PARSE, firstOther, end);
    }
    at = nextItem(end);
  }
  return at + 1;
}

/**
 * Adds the units of a message that has only a role, a name, and a text or a list of texts. Returns the index after it, or 0 if it has anything
 * else, or its text or name twice.
 */
function endOfPlainMessage(start: usize): usize {
  let hasContent = false;
  let hasName = false;
  let at = skipSpace(start + 1);
  for (; load<u8>(at) == QUOTE; at = nextItem(at)) {
    const key = load<u64>(at, 1);
    const isContent = key == CONTENT;
    const value = startOfValue(at + (isContent ? 9 : 6));
    if (value == 0) return 0;
    if (isContent && !hasContent) {
      hasContent = true;
      at = load<u8>(value) == OPEN_BRACKET ? endOfTextParts(value) : endOfReadText(value);
    } else if ((key & FIVE_BYTES) == ROLE) at = endOfValue(value);
    else if ((key & FIVE_BYTES) == NAME && !hasName) {
      hasName = true;
      at = endOfReadText(value);
    } else return 0;
    if (at == 0) return 0;
  }
  return load<u8>(at) == CLOSE_BRACE ? at + 1 : 0;
}

/** As `endOfPlainMessage`, for a list of parts. */
function endOfTextParts(start: usize): usize {
  let at = skipSpace(start + 1);
  for (; load<u8>(at) == OPEN_BRACE; at = nextItem(at)) {
    at = endOfTextPart(at);
    if (at == 0) return 0;
  }
  return load<u8>(at) == CLOSE_BRACKET ? at + 1 : 0;
}

/** As `endOfPlainMessage`, for a part with a type and a text. Models do not read `cache_control`, which is Anthropic's. */
function endOfTextPart(start: usize): usize {
  let hasText = false;
  let at = skipSpace(start + 1);
  for (; load<u8>(at) == QUOTE; at = nextItem(at)) {
    const key = load<u64>(at, 1);
    const isCacheControl = key == CACHE_CO && load<u64>(at, 7) == CONTROL;
    const value = startOfValue(at + (isCacheControl ? 15 : 6));
    if (value == 0) return 0;
    if (isCacheControl) at = endOfValue(value);
    else if ((key & FIVE_BYTES) == TYPE) at = endOfTextType(value);
    else if ((key & FIVE_BYTES) == TEXT && !hasText) {
      hasText = true;
      at = endOfReadText(value);
    } else return 0;
    if (at == 0) return 0;
  }
  return load<u8>(at) == CLOSE_BRACE ? at + 1 : 0;
}

/** Returns the index after `"text"`, `"input_text"` or `"output_text"`, the types of OpenAI and Anthropic; 0 if the value is another one. */
function endOfTextType(start: usize): usize {
  if (load<u8>(start) != QUOTE) return 0;
  const type = load<u64>(start, 1);
  if ((type & FIVE_BYTES) == TEXT) return start + 6;
  if (type == INPUT_TE && (load<u32>(start, 9) & THREE_BYTES) == XT) return start + 12;
  if (type == OUTPUT_T && load<u32>(start, 9) == EXT) return start + 13;
  return 0;
}

/** Adds the units of the string at `start`. Returns the index after it; 0 if the value is another one. */
function endOfReadText(start: usize): usize {
  if (load<u8>(start) != QUOTE) return 0;
  const ofText = unitsOfText(start + 1);
  if (ofText >= 0) {
    units += ofText;
    return <usize>textEnd + 1;
  }
  const end = endOfString(start + 1);
  addFound(TEXT_TO_DECODE, start, end);
  return end;
}

/** Returns the index after the value at `start`; 0 if it is not valid. */
function endOfValue(start: usize): usize {
  let depth = 0;
  let at = start;
  while (true) {
    const byte = load<u8>(at);
    if (byte == QUOTE) at = endOfString(at + 1);
    else if (byte == OPEN_BRACE || byte == OPEN_BRACKET) {
      depth++;
      at++;
    } else if (byte == CLOSE_BRACE || byte == CLOSE_BRACKET) {
      if (depth == 0) return 0;
      depth--;
      at++;
    } else if (depth == 0) return endOfScalar(at);
    else if (byte == 0) return 0;
    else at++;
    if (depth == 0) return at;
  }
}

/** Returns the index after a number or literal; 0 if there is none. */
function endOfScalar(start: usize): usize {
  let at = start;
  while (true) {
    const byte = load<u8>(at);
    if (byte <= 0x20 || byte == COMMA || byte == CLOSE_BRACE || byte == CLOSE_BRACKET) break;
    at++;
  }
  return at == start ? 0 : at;
}

/** Returns the index after the closing quote of the string whose content starts at `start`. */
function endOfString(start: usize): usize {
  let at = start;
  while (true) {
    const stops = i8x16.bitmask(isStop(v128.load(at)));
    if (stops == 0) {
      at += 16;
      continue;
    }
    at += <usize>ctz(stops);
    if (load<u8>(at) == QUOTE) return at + 1;
    at += 2;
  }
}

/** Returns where the value begins whose key ends before `end`; 0 if there is no colon. */
function startOfValue(end: usize): usize {
  const colon = skipSpace(end);
  return load<u8>(colon) == COLON ? skipSpace(colon + 1) : 0;
}

/** Returns the index of the next key or item after a value that ends at `end`, or of the closing byte. */
function nextItem(end: usize): usize {
  const at = skipSpace(end);
  return load<u8>(at) == COMMA ? skipSpace(at + 1) : at;
}

/** Returns the index of the first byte that is no white space. */
function skipSpace(start: usize): usize {
  let at = start;
  for (let byte = load<u8>(at); byte <= 0x20; byte = load<u8>(++at))
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) break;
  return at;
}

/** Whether a byte is a quote or a backslash. */
function isStop(bytes: v128): v128 {
  return v128.or(i8x16.eq(bytes, i8x16.splat(QUOTE)), i8x16.eq(bytes, i8x16.splat(BACKSLASH)));
}

/** The high bits of 2 times 16 bytes, as one bit per byte. */
function pairBits(low: v128, high: v128): u32 {
  return (<u32>i8x16.bitmask(low)) | ((<u32>i8x16.bitmask(high)) << 16);
}
