// Makes hidden text readable: removes invisible characters, and decodes tag characters, variation selectors, base64 and hex.

interface ReadableText {
  /** In lower case, compatibility forms normalized, without invisible characters. */
  readonly text: string;
  /** Texts that were hidden in it, in lower case. */
  readonly decoded: readonly Decoded[];
  /** Invisible characters between two Latin letters, or a long run of them. */
  readonly hasInvisible: boolean;
}

interface Decoded {
  readonly from: "tag_characters" | "variation_selectors" | "base64" | "hex";
  readonly text: string;
}

const MIN_TAG_CHARACTERS = 4;
const MIN_INVISIBLE_IN_WORDS = 3;

const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g;
// A word with an invisible character inside. Joiners are part of the spelling of some scripts, but not of Latin.
const INVISIBLE_IN_WORD = /[a-z][\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]{1,64}(?=[a-z])/g;
const INVISIBLE_RUN = /[\u200b-\u200f\u2060-\u2064\ufeff]{16}/;
const TAGS = /[\u{e0020}-\u{e007e}]+/gu;
const BLACK_FLAG = "\u{1f3f4}";
const SELECTORS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu;
// Longer blocks are decoded in parts of this length, which ends between two groups of characters.
const BASE64 = /[A-Za-z0-9+/_-]{24,32768}/g;
const HEX = /[0-9a-fA-F]{2}(?:(?:[ :]|\\x)?[0-9a-fA-F]{2}){15,4095}/g;
const HEX_SEPARATOR = /[ :]|\\x/g;
/** The last line of a block may be too short to be a block. */
const LAST_LINE = /\r?\n([A-Za-z0-9+/_-]{1,23})(?![A-Za-z0-9+/_-])/y;
/** Ends a sentence, so that no phrase begins in one block and ends in another. */
const BETWEEN_BLOCKS = ".\n";
const JSON_ESCAPE = /\\u([0-9a-fA-F]{4})/g;
// Ligatures of whole sentences, which NFKC makes up to 18 times as long.
const LONG_LIGATURES = /[\ufdfa\ufdfb]/g;
const ASCII_ONLY = /^[\0-\x7f]*$/;

export function readHidden(source: string): ReadableText {
  const raw = source.includes("\\u")
    ? source.replace(JSON_ESCAPE, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
    : source;
  const blocks = [...decodeBlocks(raw, HEX, "hex"), ...decodeBlocks(raw, BASE64, "base64")];
  if (ASCII_ONLY.test(raw)) return { text: raw.toLowerCase(), decoded: blocks, hasInvisible: false };
  const lower = raw.toLowerCase();
  return {
    text: raw
      .replace(TAGS, "")
      .replace(INVISIBLE, "")
      .replace(LONG_LIGATURES, " ")
      .normalize("NFKC")
      .toLowerCase(),
    decoded: [...decodeTags(raw), ...decodeSelectors(raw), ...blocks],
    hasInvisible:
      (lower.match(INVISIBLE_IN_WORD)?.length ?? 0) >= MIN_INVISIBLE_IN_WORDS || INVISIBLE_RUN.test(lower),
  };
}

/** Tag characters after a black flag are the emoji of a region, such as the flag of Scotland. */
function decodeTags(text: string): Decoded[] {
  let decoded = "";
  for (const match of text.matchAll(TAGS)) {
    if (text.endsWith(BLACK_FLAG, match.index)) continue;
    for (const character of match[0]) decoded += String.fromCharCode((character.codePointAt(0) ?? 0) & 0x7f);
  }
  if (decoded.length < MIN_TAG_CHARACTERS) return [];
  return [{ from: "tag_characters", text: decoded.toLowerCase() }];
}

/** Each of the 256 variation selectors represents a byte. No character has four of them. */
function decodeSelectors(text: string): Decoded[] {
  const bytes: number[] = [];
  for (const match of text.matchAll(SELECTORS))
    for (const character of match[0]) {
      const point = character.codePointAt(0) ?? 0;
      bytes.push(point < 0xe0100 ? point - 0xfe00 : point - 0xe0100 + 16);
    }
  if (bytes.length === 0) return [];
  return [{ from: "variation_selectors", text: Buffer.from(bytes).toString("utf8").toLowerCase() }];
}

/**
 * Blocks on adjacent lines are one block: encoders wrap lines. What is no text is decoded too: no rule matches it, and a check could be
 * evaded with a few bytes that are no text.
 */
function decodeBlocks(text: string, pattern: RegExp, from: "base64" | "hex"): Decoded[] {
  let decoded = "";
  let end = -1;
  for (const { 0: block, index } of text.matchAll(pattern)) {
    const bytes = Buffer.from(from === "hex" ? block.replace(HEX_SEPARATOR, "") : block, from);
    const isNextLine = end >= 0 && index - end <= 2 && text.slice(end, index).trim() === "";
    decoded += (isNextLine || decoded === "" ? "" : BETWEEN_BLOCKS) + bytes.toString("utf8");
    end = index + block.length;
    LAST_LINE.lastIndex = end;
    const last = from === "base64" ? LAST_LINE.exec(text)?.[1] : undefined;
    if (last !== undefined) decoded += Buffer.from(last, "base64").toString("utf8");
  }
  return decoded === "" ? [] : [{ from, text: decoded.toLowerCase() }];
}
