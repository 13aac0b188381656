// Masking: replaces every character of the findings, and repeats until nothing is found any more.
import type { Detector, Finding } from "./detector.ts";

/**
 * The mask itself may complete a pattern: `eval(x)id` masked with `;` becomes `;;;;;;;id`. Masking is therefore repeated until a
 * pass finds nothing, which makes it idempotent. Each pass is linear. Hostile text that still has findings after this many
 * passes is masked completely; no pattern matches a text that consists of the mask only.
 */
const MAX_PASSES = 6;

/** Returns the text with every character of the findings replaced. Keeps its length and never splits a surrogate pair. */
export function maskFindings(text: string, findings: readonly Finding[], char: string): string {
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

/** Returns the text with all code masked; the same string if there is none. */
export function maskText(text: string, detector: Detector, char: string): string {
  let masked = text;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const findings = detector.findAll(masked);
    if (findings.length === 0) return masked;
    masked = maskFindings(masked, findings, char);
  }
  return detector.first(masked) === null ? masked : char.repeat(text.length);
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff && isHighSurrogate(text.charCodeAt(index - 1));
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
