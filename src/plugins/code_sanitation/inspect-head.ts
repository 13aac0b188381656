// Scans path, query and headers of a request for code.
import type { RequestContext } from "../../sdk/index.ts";
import { firstInCredentials, firstInHeaders, maskHeaders, type OnHeaderFound } from "./header-text.ts";
import { firstInPathAndQuery, maskPathAndQuery } from "./path-and-query.ts";
import type { RecordingDetector } from "./recording-detector.ts";

/** The parts that are inspected. */
interface HeadParts {
  readonly headers: boolean;
  readonly path: boolean;
}

/** Returns the size of the parts that are inspected. */
export function headSizeOf(context: RequestContext, parts: HeadParts): number {
  // Each character is inspected twice: in the path and a segment of it, or in a pair of the query and its name or value.
  let size = parts.path ? 2 * (context.path.length + context.query.length) : 0;
  if (parts.headers) for (const [, value] of context.forwardedHeaders.entries()) size += value.length;
  return size;
}

/** Returns whether the head of the request contains code. Stops at the first finding. Throws WorkExhausted. */
export function isCodeInHead(
  context: RequestContext,
  detector: RecordingDetector,
  parts: HeadParts,
): boolean {
  if (parts.path && isCodeInPath(context.path + context.query, detector)) return true;
  return parts.headers && firstInHeaders(context, detector, placeInHeader(detector)) !== null;
}

/** Masks code in the head of the request. Returns whether it contains code that cannot be masked. Throws WorkExhausted. */
export function maskHead(
  context: RequestContext,
  detector: RecordingDetector,
  parts: HeadParts,
  char: string,
): boolean {
  const onHeaderFound = placeInHeader(detector);
  if (parts.headers && firstInCredentials(context, detector, onHeaderFound) !== null) return true;
  if (parts.path && !maskPath(context, detector, char)) return true;
  if (parts.headers) maskHeaders(context, detector, char, onHeaderFound);
  return false;
}

function isCodeInPath(pathAndQuery: string, detector: RecordingDetector): boolean {
  const finding = firstInPathAndQuery(pathAndQuery, detector);
  if (finding === null) return false;
  const isInQuery = finding.start >= `${pathAndQuery}?`.indexOf("?");
  detector.place(() => ({ path: isInQuery ? "query" : "path", role: null }));
  return true;
}

/** Returns false if the path cannot be sent with the mask, such as a backslash. */
function maskPath(context: RequestContext, detector: RecordingDetector, char: string): boolean {
  const before = context.path + context.query;
  const after = maskPathAndQuery(before, detector, char);
  if (after === before) return true;
  const question = after.indexOf("?");
  const path = question < 0 ? after : after.slice(0, question);
  detector.place(() => ({ path: path === context.path ? "query" : "path", role: null }));
  try {
    context.setPath(path);
  } catch {
    return false;
  }
  context.setQuery(question < 0 ? "" : after.slice(question));
  return true;
}

/** The client chooses the names of headers too, so unusual ones are not shown. */
const SHOWN_NAME = /^[a-z0-9_-]{1,64}$/;

function placeInHeader(detector: RecordingDetector): OnHeaderFound {
  return (name) =>
    detector.place(() => ({ path: `headers.${SHOWN_NAME.test(name) ? name : "*"}`, role: null }));
}
