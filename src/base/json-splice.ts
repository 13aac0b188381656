// Changes one top-level value of a JSON text and leaves every other byte unchanged, including key order, spacing, and
// numbers that a double cannot represent.
import { copyBytes } from "./byte-search.ts";

/** `text` must be a valid JSON object. Sets every top-level `key` to `value`, or inserts it first if there is none. */
export function spliceTopLevelString(text: string, key: string, value: string): string {
  const json = JSON.stringify(value);
  return spliceTopLevel(text, key, () => json);
}

/** `text` must be a valid JSON object. `change` gets the JSON of each current value, or null if there is none. */
export function spliceTopLevel(text: string, key: string, change: (json: string | null) => string): string {
  const spans = topLevelValueSpans(text, key);
  if (spans.length === 0) {
    const open = text.indexOf("{") + 1;
    const isEmpty = skipBlanks(text, open) === text.lastIndexOf("}");
    return `${text.slice(0, open)}${JSON.stringify(key)}:${change(null)}${isEmpty ? "" : ","}${text.slice(open)}`;
  }
  let spliced = "";
  let from = 0;
  for (const [start, end] of spans) {
    spliced += text.slice(from, start) + change(text.slice(start, end));
    from = end;
  }
  return spliced + text.slice(from);
}

/** Inserts fields (`"key":value,`) first into a JSON object, which must not be empty. */
export function insertFirst(bytes: Uint8Array, fields: Uint8Array): Uint8Array {
  const open = bytes.indexOf(0x7b) + 1;
  const spliced = new Uint8Array(bytes.byteLength + fields.byteLength);
  copyBytes(bytes, spliced, 0, 0, open);
  spliced.set(fields, open);
  copyBytes(bytes, spliced, open + fields.byteLength, open, bytes.byteLength);
  return spliced;
}

/** Returns start and end of each value of `key`, in order. */
function topLevelValueSpans(text: string, key: string): [number, number][] {
  const spans: [number, number][] = [];
  let at = skipBlanks(text, text.indexOf("{") + 1);
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const name = text.slice(at, keyEnd);
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    if (name === `"${key}"` || (name.includes("\\") && JSON.parse(name) === key))
      spans.push([valueStart, valueEnd]);
    at = skipBlanks(text, valueEnd);
    if (text[at] === ",") at = skipBlanks(text, at + 1);
  }
  return spans;
}

function skipBlanks(text: string, at: number): number {
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Returns the index after the closing quote. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at) - 1;
        break;
      case "{":
      case "[":
        depth++;
        break;
      case "}":
      case "]":
        if (--depth < 0) return trimEnd(text, at);
        break;
      case ",":
        if (depth === 0) return trimEnd(text, at);
    }
  }
  return text.length;
}

function trimEnd(text: string, end: number): number {
  while (text.charCodeAt(end - 1) <= 0x20) end--;
  return end;
}
