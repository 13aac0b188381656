// Encodings that hide a text from a detector that does not decode it.

const bytesOf = (text: string): string[] =>
  [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0").toUpperCase());
const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");
const mapUnits = (text: string, write: (code: number) => string): string =>
  Array.from({ length: text.length }, (_, index) => write(text.charCodeAt(index))).join("");

export const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  percent: (text) =>
    bytesOf(text)
      .map((byte) => `%${byte}`)
      .join(""),
  "percent twice": (text) =>
    bytesOf(text)
      .map((byte) => `%25${byte}`)
      .join(""),
  "entities, decimal": (text) => mapUnits(text, (code) => `&#${code};`),
  "entities, hex": (text) => mapUnits(text, (code) => `&#x${hex(code, 1)};`),
  "\\u escapes": (text) => mapUnits(text, (code) => `\\u${hex(code, 4)}`),
  "\\x escapes": (text) =>
    mapUnits(text, (code) => (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`)),
  "full width": (text) =>
    mapUnits(text, (code) => String.fromCharCode(code > 0x20 && code < 0x7f ? code + 0xfee0 : code)),
  "zero width": (text) => mapUnits(text, (code) => `${String.fromCharCode(code)}\u200b`),
};
