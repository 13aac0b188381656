// Scans a JSON body for code: its bytes up to the first string with code, and from there its text.
import type { InspectedBody } from "./body-text.ts";
import { hasUtf8Mark } from "./charset.ts";
import type { CleanTexts } from "./clean-texts.ts";
import type { Detector } from "./detector.ts";
import { asLatin1, JsonBytes } from "./json-bytes.ts";
import { rangesOfRoles, type RoleSet } from "./json-roles.ts";
import type { TextRange } from "./json-string-cursor.ts";
import { firstInJson, maskJson, type OnStringFound } from "./json-text.ts";

export interface JsonOptions {
  /** The roles of the messages that are inspected; null for every string of the body. */
  readonly roles: RoleSet | null;
  readonly onFound: OnStringFound;
  /** Texts that are known to be clean; null if none is remembered. */
  readonly texts?: CleanTexts | null;
}

/** A message takes about as long to find as these steps, a byte outside of strings much less than one. */
const STEPS_PER_RANGE = 10;
const UNITS_PER_STEP = 8;

/** Returns the parts of a JSON text that are inspected; null for the whole text. */
export function rangesOf(text: string, json: JsonOptions | null, detector: Detector): TextRange[] | null {
  const roles = json?.roles ?? null;
  if (roles === null) return null;
  const ranges = rangesOfRoles(text, roles);
  detector.countWork(text.length / UNITS_PER_STEP + ranges.length * STEPS_PER_RANGE);
  return ranges;
}

type JsonVerdict = { readonly kind: "clean" | "found" } | { readonly kind: "masked"; readonly body: string };

const CLEAN: JsonVerdict = { kind: "clean" };
const FOUND: JsonVerdict = { kind: "found" };

/** See inspectBody. Returns null if the bytes of the body are not available, or are not UTF-8. */
export function inspectJsonBytes(
  body: InspectedBody,
  detector: Detector,
  mask: string | null,
  json: JsonOptions | null,
): JsonVerdict | null {
  const { bodyView = null } = body;
  if (bodyView === null) return null;
  const bytes = withoutMark(bodyView);
  const roles = json?.roles ?? null;
  const strings = new JsonBytes(bytes, detector, mask === null, json?.texts ?? null);
  if (!strings.isUtf8()) return null;
  // With one character per byte, the ranges are those of the bytes. Keys and roles that matter are ASCII.
  const ranges = roles === null ? null : rangesOf(asLatin1(bytes), json, detector);
  const stop = ranges === null ? strings.stop() : strings.stopIn(ranges);
  if (stop === null) return CLEAN;
  const text = body.bodyText ?? "";
  const start = unitsIn(bytes.subarray(0, stop.start));
  if (mask === null && stop.findings !== null) {
    json?.onFound(text, start);
    return FOUND;
  }
  const rest = rangesFrom(start - 1, roles === null ? wholeOf(text) : rangesOfRoles(text, roles));
  if (mask === null) return firstInJson(text, detector, rest, json?.onFound) === null ? CLEAN : FOUND;
  const masked = maskJson(text, detector, mask, rest, json?.onFound, stop.findings);
  return masked === text ? CLEAN : { kind: "masked", body: masked };
}

function wholeOf(text: string): TextRange[] {
  return [{ start: 0, end: text.length }];
}

/** Returns the parts of the ranges that are not before `from`. */
function rangesFrom(from: number, ranges: readonly TextRange[]): TextRange[] {
  return ranges
    .filter(({ end }) => end > from)
    .map(({ start, end }) => ({ start: Math.max(start, from), end }));
}

/** Returns the bytes without a byte order mark: the text of a body has none either. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return hasUtf8Mark(bytes) ? bytes.subarray(3) : bytes;
}

const decoder = new TextDecoder();

/** Returns the length of the bytes as text. */
function unitsIn(bytes: Uint8Array): number {
  return decoder.decode(bytes).length;
}
