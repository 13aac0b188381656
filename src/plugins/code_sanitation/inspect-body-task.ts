// The task that inspects a body in a worker thread: decodes it there too, so that the event loop only copies bytes.
import { openTextMemory, type TextScope } from "../../sdk/index.ts";
import type { InspectedBody } from "./body-text.ts";
import { CleanTexts } from "./clean-texts.ts";
import type { PatternSelection } from "./compiled-patterns.ts";
import { compileDetector } from "./detector.ts";
import type { BodyVerdict } from "./inspect-body.ts";
import type { RoleSet } from "./json-roles.ts";
import { inspectAndRecordBody } from "./record-body.ts";
import { RecordingDetector, type FoundCode } from "./recording-detector.ts";
import { RunEnds } from "./run-ends.ts";
import { stepsForBody, WorkExhausted } from "./work-budget.ts";

interface InspectBodyInput {
  readonly patterns: readonly PatternSelection[];
  /** See inspectBody. */
  readonly mask: string | null;
  readonly roles: RoleSet | null;
  readonly body: Uint8Array;
  readonly isJson: boolean;
  readonly contentType: string | null;
  readonly memory: TextScope;
}

interface InspectBodyOutput {
  readonly verdict: BodyVerdict | { readonly kind: "incomplete" };
  readonly found: readonly FoundCode[];
  /** See CleanTexts. Absent if the body is not JSON. */
  readonly texts?: { readonly remembered: number; readonly inspected: number };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Of the memories of this thread, by name; the oldest ones are dropped. */
const runEnds = new Map<string, RunEnds>();
const MAX_RUN_ENDS = 32;

function runEndsOf({ name }: TextScope): RunEnds {
  const known = runEnds.get(name);
  if (known !== undefined) return known;
  const [oldest] = runEnds.keys();
  if (runEnds.size >= MAX_RUN_ENDS && oldest !== undefined) runEnds.delete(oldest);
  const created = new RunEnds();
  runEnds.set(name, created);
  return created;
}

export function run({
  patterns,
  mask,
  roles,
  body,
  isJson,
  contentType,
  memory,
}: InspectBodyInput): InspectBodyOutput {
  const detector = new RecordingDetector(compileDetector(patterns));
  const texts = new CleanTexts(openTextMemory(memory), runEndsOf(memory));
  const headers = new Headers(contentType === null ? {} : { "content-type": contentType });
  try {
    const verdict = detector.limitWork(stepsForBody(body.length, isJson), () =>
      inspectAndRecordBody(inspectedBody(body, isJson, headers), detector, mask, roles, texts),
    );
    return { verdict: asBytes(verdict), found: detector.found, ...(isJson && { texts: countsOf(texts) }) };
  } catch (error) {
    if (!(error instanceof WorkExhausted)) throw error;
    return {
      verdict: { kind: "incomplete" },
      found: detector.found,
      ...(isJson && { texts: countsOf(texts) }),
    };
  }
}

function countsOf({ remembered, inspected }: CleanTexts): NonNullable<InspectBodyOutput["texts"]> {
  return { remembered, inspected };
}

/** The text is created when it is needed. */
function inspectedBody(body: Uint8Array, isJson: boolean, headers: Headers): InspectedBody {
  return {
    body,
    bodyView: body,
    isJson,
    headers,
    get bodyText() {
      return textOf(body);
    },
  };
}

/** Returns null if the bytes are not valid UTF-8. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** A masked body leaves the thread as bytes: encoding it on the event loop would take time there. */
function asBytes(verdict: BodyVerdict): BodyVerdict {
  if (verdict.kind !== "masked" || typeof verdict.body !== "string") return verdict;
  return { ...verdict, body: new TextEncoder().encode(verdict.body) };
}
