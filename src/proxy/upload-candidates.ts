// The targets of requests to create stored objects, files and batches: those that have the operation in the API of the
// request. The sealed id of the object then binds later requests to the target.
import { utf8Between } from "../base/byte-search.ts";
import { isJsonObject } from "../base/json.ts";
import type { FormatName } from "../formats/format-names.ts";
import type { Endpoint } from "../formats/operations.ts";
import { formatOfClient } from "../formats/registry.ts";
import { multipartDelimiter } from "../http/multipart.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestBody } from "./request-body.ts";

/** A batch is read only up to here: a longer first line decides nothing. */
const MAX_READ_BYTES = 64 * 1024;
const BATCH_PURPOSE = /name="?purpose"?\r\n\r\nbatch\r\n/;
const FILE_NAME = /name="?file"?[;\r]/;
const END_OF_HEADER = "\r\n\r\n";
const UPLOAD_OF_GEMINI = /\/upload\/v\d\w*\/files$/;

type UploadRequest = Pick<Exchange, "endpoint" | "sentPath" | "request" | "storedAt">;

/** Whether the target has the operation in the API of the request. Paths of files do not name their API. */
export function hasOwnApi(
  exchange: UploadRequest,
  endpoint: Endpoint,
  { endpoints }: CompiledTarget,
): boolean {
  if (endpoints === null) return true;
  if (endpoint.operation !== "files" || exchange.storedAt !== null) return endpoints.has(endpoint);
  return endpoints.hasInApi(endpoint, apiOfFiles(exchange));
}

/** Returns the API that the client of a request for files uses. */
export function apiOfFiles({ sentPath, request }: UploadRequest): FormatName {
  if (UPLOAD_OF_GEMINI.test(sentPath)) return "gemini";
  return formatOfClient(sentPath, request.headers).name;
}

/** Returns the model of the first request of a batch that is uploaded or created; null if it is not found cheaply. */
export function modelOfBatch({ endpoint, method, body }: Exchange): string | null {
  if (method !== "POST" || body === null) return null;
  if (endpoint?.operation === "files") return modelInUpload(body);
  return endpoint?.operation === "batches" && body.bytes.byteLength <= MAX_READ_BYTES
    ? modelInRequests(body)
    : null;
}

function modelInUpload({ bytes, contentType }: RequestBody): string | null {
  const delimiter = multipartDelimiter(contentType);
  if (delimiter === null) return null;
  // The purpose may come after the file, and the file may be large.
  const purpose = utf8Between(bytes, Math.max(0, bytes.byteLength - 1024), bytes.byteLength);
  const start = utf8Between(bytes, 0, Math.min(bytes.byteLength, MAX_READ_BYTES));
  if (!BATCH_PURPOSE.test(start) && !BATCH_PURPOSE.test(purpose)) return null;
  return modelInLine(firstLineOfFile(start));
}

/** Returns an empty text if there is no file. */
function firstLineOfFile(form: string): string {
  const name = form.search(FILE_NAME);
  const end = name < 0 ? -1 : form.indexOf(END_OF_HEADER, name);
  return end < 0 ? "" : (form.slice(end).trimStart().split("\n", 1)[0] ?? "");
}

function modelInLine(line: string): string | null {
  try {
    const request: unknown = JSON.parse(line);
    return isJsonObject(request) ? modelIn(request["body"]) : null;
  } catch {
    return null;
  }
}

/** In the body that creates a batch of Anthropic's messages. */
function modelInRequests({ json }: RequestBody): string | null {
  const requests = json?.["requests"];
  const first: unknown = Array.isArray(requests) ? requests[0] : null;
  return isJsonObject(first) ? modelIn(first["params"]) : null;
}

function modelIn(value: unknown): string | null {
  const model = isJsonObject(value) ? value["model"] : null;
  return typeof model === "string" ? model : null;
}
