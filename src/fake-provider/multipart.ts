// Reads multipart/form-data bodies (RFC 7578), as clients send files.
import type { ReceivedRequest } from "./recorded-request.ts";

interface FormPart {
  /** Empty if the part is not a file. */
  readonly filename: string;
  readonly content: Uint8Array;
}

const MAX_PARTS = 100;

/** Returns the parts by name, the last one of each; null if the body is not valid multipart/form-data. */
export function readMultipart(request: ReceivedRequest): Map<string, FormPart> | null {
  const type = request.header("content-type") ?? "";
  const found = /^multipart\/form-data\s*;.*?boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(type);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) return null;
  // The first delimiter has no line break before it; adding one makes all delimiters equal.
  const body = Buffer.concat([Buffer.from("\r\n"), request.body]);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const parts = new Map<string, FormPart>();
  let start = body.indexOf(delimiter);
  while (start !== -1 && parts.size < MAX_PARTS) {
    const from = start + delimiter.length;
    if (body.toString("latin1", from, from + 2) === "--") return parts;
    const end = body.indexOf(delimiter, from);
    const headersEnd = body.indexOf("\r\n\r\n", from);
    if (end === -1 || headersEnd === -1 || headersEnd > end) return null;
    const content = body.subarray(headersEnd + 4, end);
    if (!addPart(parts, body.toString("utf8", from, headersEnd), content)) return null;
    start = end;
  }
  return null;
}

/** Returns false if the part has no name. */
function addPart(parts: Map<string, FormPart>, headers: string, content: Uint8Array): boolean {
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(headers)?.[1];
  const name = /\bname="([^"]*)"/i.exec(disposition ?? "")?.[1];
  if (disposition === undefined || name === undefined) return false;
  parts.set(name, { filename: /\bfilename="([^"]*)"/i.exec(disposition)?.[1] ?? "", content });
  return true;
}

export function textPart(parts: ReadonlyMap<string, FormPart>, name: string): string {
  return Buffer.from(parts.get(name)?.content ?? []).toString();
}
