// Scans the body of a request, and records what is found with its place.
import type { InspectedBody } from "./body-text.ts";
import type { CleanTexts } from "./clean-texts.ts";
import { inspectFiles } from "./inline-files.ts";
import { inspectBody, type BodyVerdict } from "./inspect-body.ts";
import { pathAt } from "./json-path.ts";
import { roleAt, type RoleSet } from "./json-roles.ts";
import type { RecordingDetector } from "./recording-detector.ts";

const IN_BODY = () => ({ path: "body", role: null });

/** See inspectBody. `roles`: the messages that are inspected; null for every string of the body. `texts`: those that are known to be clean. */
export function inspectAndRecordBody(
  body: InspectedBody,
  detector: RecordingDetector,
  mask: string | null,
  roles: RoleSet | null,
  texts: CleanTexts | null = null,
): BodyVerdict {
  const onFound = (text: string, start: number) =>
    detector.place(() => ({ path: pathAt(text, start), role: roleAt(text, start, roles ?? 0) }));
  try {
    const verdict = inspectBody(body, detector, mask, { roles, onFound, texts });
    if (verdict.kind !== "clean" && verdict.kind !== "masked") return verdict;
    // A mask cannot be written into the encoding of a file.
    const files = inspectFiles(body, detector, roles);
    if (files === "found") return { kind: "found" };
    return files === "unreadable" ? { kind: "unreadable", why: "inline_file" } : verdict;
  } finally {
    // Findings in a body that is not JSON, or in a string that took too much work.
    detector.place(IN_BODY);
  }
}
