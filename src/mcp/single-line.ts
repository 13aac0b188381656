// Line breaks in JSON.

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Returns a copy of JSON with spaces in place of line breaks, which valid JSON has only between its tokens. */
export function singleLine(json: Uint8Array): Uint8Array {
  const line = new Uint8Array(json);
  for (let at = 0; at < line.length; at++) if (line[at] === LF || line[at] === CR) line[at] = SPACE;
  return line;
}
