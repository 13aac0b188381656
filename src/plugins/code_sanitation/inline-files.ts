// Scans the text of files within a request: in base64, or as data URLs. The scan of the strings sees only their encoding.
import { readBodyTexts } from "../../sdk/index.ts";
import type { InspectedBody } from "./body-text.ts";
import type { Detector } from "./detector.ts";
import type { RoleSet } from "./json-roles.ts";
import { ROLES } from "./settings.ts";

/** What a request with such a file has, also if it is escaped. Most requests have none of it. */
const SIGNS = /"(?:data|file_?data|b64_json|blob)"\s*:|d\s*a\s*t\s*a\s*(?::|%3a)|\\u00[4-7]/i;

type FileVerdict = "clean" | "found" | "unreadable";

/** `roles`: the messages that are inspected; null for all. */
export function inspectFiles(body: InspectedBody, detector: Detector, roles: RoleSet | null): FileVerdict {
  const bytes = body.bodyView ?? body.body;
  if (bytes === null) return "clean";
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!SIGNS.test(source.toString("latin1"))) return "clean";
  const { texts, unreadable } = readBodyTexts(bytes, body.headers.get("content-type"));
  if (unreadable !== null && body.isJson) return "unreadable";
  const isInspected = (role: string) => {
    const index = ROLES.findIndex((each) => each === role);
    return roles === null || index < 0 || (roles & (1 << index)) !== 0;
  };
  const found = texts.find(
    ({ isFile, role, text }) => isFile && isInspected(role) && detector.first(text) !== null,
  );
  return found === undefined ? "clean" : "found";
}
