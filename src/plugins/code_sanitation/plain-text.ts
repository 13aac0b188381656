// Finds and masks code in a body that is not declared as JSON. Many patterns match only where a text starts or ends, so each of its values
// is a text: those of a form, the parts of a multipart form, and the strings of JSON. Servers read JSON in spite of its content type.
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
  for (const part of partsOf(text, headers)) {
    // Also as a text: the structure of JSON may be code, such as an operator of a query.
    const finding = detector.first(part) ?? firstInContainer(part, detector);
    if (finding !== null) return finding;
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
  if (isForm(headers)) {
    const masked = JSON_CONTAINER.test(text) ? maskJson(text, detector, char) : text;
    return maskForm(masked, detector, char);
  }
  return partsOf(text, headers)
    .map((part) => maskPart(part, detector, char))
    .join("");
}

function maskPart(text: string, detector: Detector, char: string): string {
  if (!JSON_CONTAINER.test(text)) return maskText(text, detector, char);
  return maskUntilClean(
    text,
    char,
    (current) => maskText(maskJson(current, detector, char), detector, char),
    (current) => char.repeat(current.length),
  );
}

/** Returns the contents of the parts of a multipart form, and what is between them; all of any other text. */
function partsOf(text: string, headers: Pick<Headers, "get">): string[] {
  const delimiter = delimiterOf(headers.get("content-type"));
  if (delimiter === null) return [text];
  const parts: string[] = [];
  let done = 0;
  for (const { start, end } of contentsIn(text, delimiter)) {
    parts.push(text.slice(done, start), text.slice(start, end));
    done = end;
  }
  parts.push(text.slice(done));
  return parts;
}
