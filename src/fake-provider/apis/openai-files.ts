// OpenAI files: uploads, lists, contents and deletes. Batches read and write them too.
import { type JsonObject, stringOf } from "../loose-json.ts";
import { readMultipart, textPart } from "../multipart.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import type { StoredFile } from "../stored-objects.ts";
import { type ApiCall, ownId, unixSeconds } from "./api.ts";
import { openAiError, openAiHeaders, openAiParameterError } from "./openai-errors.ts";

export function uploadFile(call: ApiCall): FakeResponse {
  const { request } = call;
  const form = readMultipart(request);
  const upload = form?.get("file");
  if (form === null || upload === undefined || upload.filename === "")
    return openAiError(request, 400, "The request is not multipart/form-data with the part 'file'.");
  const purpose = textPart(form, "purpose");
  if (purpose === "") return openAiError(request, 400, "Missing required parameter: 'purpose'.");
  const file = storeFile(call, ownId(call, "file-"), { filename: upload.filename, purpose }, upload.content);
  if (file === null) return openAiError(request, 413, "The file is too large.");
  return jsonResponse(200, file, openAiHeaders(request));
}

/** Returns the new file, or null if it is too large. */
export function storeFile(
  { stored }: ApiCall,
  id: string,
  { filename, purpose }: { filename: string; purpose: string },
  content: Uint8Array,
): JsonObject | null {
  const file = {
    id,
    object: "file",
    bytes: content.length,
    created_at: unixSeconds(),
    filename,
    purpose,
    status: "processed",
  };
  return stored.files.add(id, { file, content }, content.length) ? file : null;
}

export function listFiles({ request, stored }: ApiCall): FakeResponse {
  const query = new URLSearchParams(request.target.slice(request.path.length));
  const purpose = query.get("purpose");
  const files = stored.files.values().map(({ file }) => file);
  return jsonResponse(
    200,
    pageOf(
      files.filter((file) => purpose === null || file["purpose"] === purpose),
      query,
    ),
    openAiHeaders(request),
  );
}

/** Returns a page of a list whose newest object is the last one; pages begin with the newest. */
export function pageOf(objects: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const ordered = query.get("order") === "asc" ? [...objects] : objects.toReversed();
  const after = query.get("after");
  const start = after === null ? 0 : ordered.findIndex((object) => object["id"] === after) + 1;
  const end = start + (Number(query.get("limit")) || 20);
  const data = ordered.slice(start, end);
  return {
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: end < ordered.length,
  };
}

export function getFile(call: ApiCall): FakeResponse {
  return withFile(call, ({ file }) => jsonResponse(200, file, openAiHeaders(call.request)));
}

export function getFileContent(call: ApiCall): FakeResponse {
  return withFile(call, ({ file, content }) => ({
    status: 200,
    headers: [
      ["Content-Type", "application/octet-stream"],
      ["Content-Disposition", `attachment; filename="${asciiName(stringOf(file["filename"]))}"`],
      ...openAiHeaders(call.request),
    ],
    body: { kind: "whole", bytes: content },
  }));
}

function asciiName(filename: string): string {
  return filename.replaceAll(/[^\w. -]/g, "_");
}

export function deleteFile(call: ApiCall): FakeResponse {
  return withFile(call, () => {
    call.stored.files.delete(call.name);
    return jsonResponse(200, { id: call.name, object: "file", deleted: true }, openAiHeaders(call.request));
  });
}

function withFile(call: ApiCall, use: (stored: StoredFile) => FakeResponse): FakeResponse {
  const stored = call.stored.files.get(call.name);
  if (stored !== undefined) return use(stored);
  return openAiParameterError(call.request, 404, {
    message: `No such File object: ${call.name}`,
    param: "id",
  });
}
