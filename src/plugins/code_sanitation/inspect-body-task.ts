// The task that inspects a body in a worker thread: decodes it there too, so that the event loop only copies bytes.
import { compileDetector, type Language } from "./detector.ts";
import { inspectBody, type BodyVerdict } from "./inspect-body.ts";
import { RecordingDetector, type FoundPatterns } from "./recording-detector.ts";
import { stepsOffLoop, WorkExhausted } from "./work-budget.ts";

interface InspectBodyInput {
  readonly languages: readonly Language[];
  /** See inspectBody. */
  readonly mask: string | null;
  readonly body: Uint8Array;
  readonly isJson: boolean;
  readonly contentType: string | null;
}

interface InspectBodyOutput {
  readonly verdict: BodyVerdict | { readonly kind: "incomplete" };
  readonly patterns: FoundPatterns;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

export function run({ languages, mask, body, isJson, contentType }: InspectBodyInput): InspectBodyOutput {
  const detector = new RecordingDetector(compileDetector(languages));
  const headers = new Headers(contentType === null ? {} : { "content-type": contentType });
  try {
    const verdict = detector.limitWork(stepsOffLoop(body.length), () =>
      inspectBody({ body, bodyText: textOf(body), isJson, headers }, detector, mask),
    );
    return { verdict: asBytes(verdict), patterns: detector.patterns };
  } catch (error) {
    if (!(error instanceof WorkExhausted)) throw error;
    return { verdict: { kind: "incomplete" }, patterns: detector.patterns };
  }
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
  return { kind: "masked", body: new TextEncoder().encode(verdict.body) };
}
