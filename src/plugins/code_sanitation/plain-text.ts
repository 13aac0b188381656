// Finds and masks code in a body that is not declared as JSON: in the text as a whole and, because many patterns match only where a text
// starts or ends, in each of its values: those of a form, of a multipart form, and the strings of JSON. Servers read JSON in spite of its content type.
import type { Detector, Finding } from "./detector.ts";
import { firstInForm, isForm, maskForm } from "./form-text.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText, maskUntilClean } from "./mask.ts";
import { contentsIn, delimiterOf } from "./multipart.ts";

/** In UTF-8 or UTF-16 a byte order mark precedes it, in UTF-16 without one a byte 0 may follow each character. */
const JSON_CONTAINER = /^[\ufeff\0\s]*(?:\{[^]*\}|\[[^]*\])[\0\s]*$/;

export function firstInPlain(
  text: string,
  headers: Pick<Headers, "get">,
  detector: Detector,
): Finding | null {
  if (isForm(headers)) return firstInForm(text, detector) ?? firstInContainer(text, detector);
  const found = detector.first(text) ?? firstInContainer(text, detector);
  const delimiter = delimiterOf(headers.get("content-type"));
  if (found !== null || delimiter === null) return found;
  for (const { start, end } of contentsIn(text, delimiter)) {
    const content = text.slice(start, end);
    const inContent = detector.first(content) ?? firstInContainer(content, detector);
    if (inContent !== null) return inContent;
  }
  return null;
}

function firstInContainer(text: string, detector: Detector): Finding | null {
  return JSON_CONTAINER.test(text) ? firstInJson(text, detector) : null;
}

/** Returns the text with code masked; the same text if there is none. */
export function maskPlain(
  text: string,
  headers: Pick<Headers, "get">,
  detector: Detector,
  char: string,
): string {
  if (isForm(headers)) return maskForm(maskContainer(text, detector, char), detector, char);
  const delimiter = delimiterOf(headers.get("content-type"));
  return maskUntilClean(
    text,
    char,
    (current) => maskText(maskValues(current, delimiter, detector, char), detector, char),
    (current) => char.repeat(current.length),
  );
}

function maskValues(text: string, delimiter: string | null, detector: Detector, char: string): string {
  const whole = maskContainer(text, detector, char);
  if (delimiter === null) return whole;
  let masked = "";
  let done = 0;
  for (const { start, end } of contentsIn(whole, delimiter)) {
    const content = maskContainer(whole.slice(start, end), detector, char);
    masked += whole.slice(done, start) + maskText(content, detector, char);
    done = end;
  }
  return masked + whole.slice(done);
}

function maskContainer(text: string, detector: Detector, char: string): string {
  return JSON_CONTAINER.test(text) ? maskJson(text, detector, char) : text;
}
