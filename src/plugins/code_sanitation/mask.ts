// Masking: replaces every character of the findings, and nothing else.
import type { Detector, Finding } from "./detector.ts";

/**
 * A mask that is part of the syntax of a language may complete a pattern: `eval(x)id` masked with `;` becomes `;;;;;;;id`. With such a mask,
 * masking is repeated until nothing is found. Each pass is linear. Hostile text that still has findings after this many passes is masked
 * completely; no pattern matches a text that consists of the mask only.
 */
const MAX_PASSES = 6;

/** Masks that have no meaning in a command, a statement or a tag. */
const PLAIN_MASK = /^[\w*.]$/;

/**
 * Masks a text with `maskOnce`, and again as long as a mask with a meaning completes a pattern. `maskAll` masks all of the text. A plain
 * mask is written once: whatever is found in the masked text only, such as a quote whose partner was masked, was no code before.
 */
export function maskUntilClean(
  text: string,
  char: string,
  maskOnce: (text: string) => string,
  maskAll: (text: string) => string,
): string {
  let masked = maskOnce(text);
  if (masked === text || PLAIN_MASK.test(char)) return masked;
  for (let pass = 1; pass < MAX_PASSES; pass++) {
    const before = masked;
    masked = maskOnce(before);
    if (masked === before) return masked;
  }
  return maskOnce(masked) === masked ? masked : maskAll(masked);
}

/** With more findings, writing into the code units of the text takes a fifth of the time of joining strings. */
const MAX_JOINED = 32;

/**
 * Returns the text with every character of the findings, which are sorted, replaced by one ASCII character. Keeps its length and never
 * splits a surrogate pair.
 */
export function maskFindings(text: string, findings: readonly Finding[], char: string): string {
  if (findings.length > MAX_JOINED) return maskUnits(text, findings, char);
  let masked = "";
  let done = 0;
  for (const { start, end } of findings) {
    const from = Math.max(done, isLowSurrogate(text, start) ? start - 1 : start);
    const to = isLowSurrogate(text, end) ? end + 1 : end;
    if (to <= from) continue;
    masked += text.slice(done, from) + char.repeat(to - from);
    done = to;
  }
  return done === 0 ? text : masked + text.slice(done);
}

function maskUnits(text: string, findings: readonly Finding[], char: string): string {
  const units = new Uint16Array(text.length);
  const bytes = Buffer.from(units.buffer);
  bytes.write(text, "utf16le");
  const mask = char.charCodeAt(0);
  let done = 0;
  for (const { start, end } of findings) {
    const to = isLowSurrogate(text, end) ? end + 1 : end;
    for (let index = Math.max(done, isLowSurrogate(text, start) ? start - 1 : start); index < to; index++)
      units[index] = mask;
    done = Math.max(done, to);
  }
  return bytes.toString("utf16le");
}

/** Returns the text with all code masked; the same string if there is none. `found` are the findings of the text if they are known. */
export function maskText(
  text: string,
  detector: Detector,
  char: string,
  found: readonly Finding[] = detector.findAll(text),
): string {
  return maskUntilClean(
    text,
    char,
    (current) => maskFindings(current, current === text ? found : detector.findAll(current), char),
    (current) => char.repeat(current.length),
  );
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff && isHighSurrogate(text.charCodeAt(index - 1));
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
