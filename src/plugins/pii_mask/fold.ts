// Folds a text before it is searched: spaces of all kinds, hyphens, full-width characters, and characters that
// are not displayed.

/** What is read in place of each UTF-16 unit; 0 for a unit that is not displayed. */
const FOLDED = Uint16Array.from({ length: 0x10000 }, (_, unit) => unit);

const FOLDABLE =
  /[\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u2013\u202a-\u202f\u205f-\u206f\u2212\u3000\u3164\ufe00-\ufe0f\ufe63\ufeff\uff01-\uff5e\uffa0\udb40-\udb43]/;

function fold(first: number, last: number, to: (unit: number) => number): void {
  for (let unit = first; unit <= last; unit++) FOLDED[unit] = to(unit);
}

const SPACE = () => 0x20;
const HYPHEN = () => 0x2d;
const NOTHING = () => 0;
// General category Zs.
for (const [first, last] of [
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
] as const)
  fold(first, last, SPACE);
fold(0x2010, 0x2013, HYPHEN);
for (const unit of [0x2212, 0xfe63]) fold(unit, unit, HYPHEN);
// Default_Ignorable_Code_Point of Unicode, within the Basic Multilingual Plane.
for (const [first, last] of [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
] as const)
  fold(first, last, NOTHING);
fold(0xff01, 0xff5e, (unit) => unit - 0xfee0);

interface FoldedText {
  readonly text: string;
  /** The position in the original text of each unit of `text`. */
  readonly positions: Uint32Array;
}

/** Returns null if no character of the text is folded. */
export function foldText(original: string): FoldedText | null {
  if (!FOLDABLE.test(original)) return null;
  const units = new Uint16Array(original.length);
  const positions = new Uint32Array(original.length);
  let length = 0;
  for (let at = 0; at < original.length; at++) {
    const unit = original.charCodeAt(at);
    if (isIgnoredSurrogate(unit) && isLowSurrogate(original.charCodeAt(at + 1))) {
      at++;
      continue;
    }
    const folded = FOLDED[unit] ?? unit;
    if (folded === 0 && unit !== 0) continue;
    positions[length] = at;
    units[length++] = folded;
  }
  const text = Buffer.from(units.buffer, 0, length * 2).toString("utf16le");
  return { text, positions };
}

/** The first unit of U+E0000 to U+E0FFF (tags and variation selectors), which are not displayed. */
function isIgnoredSurrogate(unit: number): boolean {
  return unit >= 0xdb40 && unit <= 0xdb43;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
