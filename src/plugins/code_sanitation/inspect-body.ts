// Scans the body of a request for code, on the event loop or in a worker thread.
import { bodyTextOf, isUndeclaredCompression, type InspectedBody } from "./body-text.ts";
import type { Detector, Finding } from "./detector.ts";
import { firstInForm, isForm, maskForm } from "./form-text.ts";
import { rangesOfRoles, type RoleSet } from "./json-roles.ts";
import type { TextRange } from "./json-string-cursor.ts";
import { firstInJson, maskJson, type OnStringFound } from "./json-text.ts";
import { maskText } from "./mask.ts";

export type BodyVerdict =
  | { readonly kind: "clean" | "found" | "compressed" }
  | { readonly kind: "masked"; readonly body: string | Uint8Array };

const CLEAN: BodyVerdict = { kind: "clean" };

interface JsonOptions {
  /** The roles of the messages that are inspected; null for every string of the body. */
  readonly roles: RoleSet | null;
  /** Called with the JSON text and the position in it where a string with code starts. */
  readonly onFound: (text: string, start: number) => void;
}

/**
 * `mask` is the character that replaces code; null to stop at the first finding. `json`: how a JSON body is inspected; without it,
 * every string is. Throws WorkExhausted.
 */
export function inspectBody(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null = null,
): BodyVerdict {
  if (isUndeclaredCompression(body)) return { kind: "compressed" };
  const content = bodyTextOf(body);
  if (content === null) return CLEAN;
  const inspect = inspectionOf(body, json);
  if (mask === null) {
    const isFound = content.pieces.some(
      ({ text, isFile }) => !isFile && inspect.first(text, detector) !== null,
    );
    return isFound ? { kind: "found" } : CLEAN;
  }
  const masked = content.pieces.map(({ text, isFile }) =>
    isFile ? text : inspect.mask(text, detector, mask),
  );
  if (masked.every((text, index) => text === content.pieces[index]?.text)) return CLEAN;
  return { kind: "masked", body: content.encode(masked.join("")) };
}

/** How a type of body is inspected. */
interface TextInspection {
  readonly first: (text: string, detector: Detector) => Finding | null;
  readonly mask: (text: string, detector: Detector, char: string) => string;
}

const JSON_INSPECTION: TextInspection = { first: firstInJson, mask: maskJson };
const FORM_INSPECTION: TextInspection = { first: firstInForm, mask: maskForm };
const PLAIN_INSPECTION: TextInspection = { first: (text, detector) => detector.first(text), mask: maskText };

function inspectionOf({ isJson, headers }: InspectedBody, json: JsonOptions | null): TextInspection {
  if (!isJson) return isForm(headers) ? FORM_INSPECTION : PLAIN_INSPECTION;
  if (json === null) return JSON_INSPECTION;
  const { roles, onFound } = json;
  const rangesOf = (text: string, detector: Detector) =>
    roles === null ? null : countedRangesOf(text, roles, detector);
  const onFoundIn =
    (text: string): OnStringFound =>
    (start) =>
      onFound(text, start);
  return {
    first: (text, detector) => firstInJson(text, detector, rangesOf(text, detector), onFoundIn(text)),
    mask: (text, detector, char) => maskJson(text, detector, char, rangesOf(text, detector), onFoundIn(text)),
  };
}

/** A message takes about as long to find as these steps, a byte outside of strings much less than one. */
const STEPS_PER_RANGE = 10;
const UNITS_PER_STEP = 8;

function countedRangesOf(text: string, roles: RoleSet, detector: Detector): TextRange[] {
  const ranges = rangesOfRoles(text, roles);
  detector.countWork(text.length / UNITS_PER_STEP + ranges.length * STEPS_PER_RANGE);
  return ranges;
}
