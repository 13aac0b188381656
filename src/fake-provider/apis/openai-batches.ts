// OpenAI batches: each request of the input file is served by its API. A batch advances by one status per GET, so that a
// client that polls sees all of them.
import { type JsonObject, objectOf, stringOf } from "../loose-json.ts";
import { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import type { StoredBatch } from "../stored-objects.ts";
import { type ApiCall, type ApiHandler, jsonBody, ownId, unixSeconds } from "./api.ts";
import { respondToChat } from "./openai-chat.ts";
import { respondToCompletion } from "./openai-completions.ts";
import { createEmbeddings } from "./openai-embeddings.ts";
import { openAiError, openAiHeaders, openAiParameterError } from "./openai-errors.ts";
import { pageOf, storeFile } from "./openai-files.ts";
import { createModeration } from "./openai-moderations.ts";
import { createResponse } from "./openai-responses.ts";

const ENDPOINTS: Record<string, ApiHandler> = {
  "/v1/chat/completions": respondToChat,
  "/v1/completions": respondToCompletion,
  "/v1/embeddings": createEmbeddings,
  "/v1/moderations": createModeration,
  "/v1/responses": createResponse,
};
const MAX_REQUESTS = 10_000;

export function createBatch(call: ApiCall): FakeResponse {
  const { request, stored } = call;
  const body = jsonBody(request);
  if (body === null) return openAiError(request, 400, "We could not parse the JSON body of your request.");
  const endpoint = stringOf(body["endpoint"]);
  if (ENDPOINTS[endpoint] === undefined)
    return openAiParameterError(request, 400, {
      message: `Invalid endpoint: '${endpoint}'.`,
      param: "endpoint",
    });
  const input = stored.files.get(stringOf(body["input_file_id"]));
  if (input === undefined)
    return openAiParameterError(request, 400, { message: "No such input file.", param: "input_file_id" });
  const now = unixSeconds();
  const batch: JsonObject = {
    id: ownId(call, "batch_"),
    object: "batch",
    endpoint,
    errors: null,
    input_file_id: body["input_file_id"],
    completion_window: stringOf(body["completion_window"], "24h"),
    status: "validating",
    output_file_id: null,
    error_file_id: null,
    created_at: now,
    expires_at: now + 24 * 3600,
    request_counts: { total: 0, completed: 0, failed: 0 },
    metadata: body["metadata"] ?? null,
  };
  stored.batches.add(stringOf(batch["id"]), { batch }, JSON.stringify(batch).length);
  return jsonResponse(200, batch, openAiHeaders(request));
}

export function listBatches({ request, stored }: ApiCall): FakeResponse {
  const query = new URLSearchParams(request.target.slice(request.path.length));
  const batches = stored.batches.values().map(({ batch }) => batch);
  return jsonResponse(200, pageOf(batches, query), openAiHeaders(request));
}

export function getBatch(call: ApiCall): FakeResponse {
  return withBatch(call, (stored) => {
    stored.batch = { ...stored.batch, ...advance(call, stored.batch) };
    return jsonResponse(200, stored.batch, openAiHeaders(call.request));
  });
}

export function cancelBatch(call: ApiCall): FakeResponse {
  return withBatch(call, (stored) => {
    const { status } = stored.batch;
    if (status !== "validating" && status !== "in_progress")
      return openAiError(call.request, 409, `Cannot cancel a batch with status '${stringOf(status)}'.`);
    stored.batch = { ...stored.batch, status: "cancelling", cancelling_at: unixSeconds() };
    return jsonResponse(200, stored.batch, openAiHeaders(call.request));
  });
}

function withBatch(call: ApiCall, use: (stored: StoredBatch) => FakeResponse): FakeResponse {
  const stored = call.stored.batches.get(call.name);
  if (stored !== undefined) return use(stored);
  return openAiParameterError(call.request, 404, { message: `No batch found with id '${call.name}'.` });
}

function advance(call: ApiCall, batch: JsonObject): JsonObject {
  switch (batch["status"]) {
    case "validating":
      return { status: "in_progress", in_progress_at: unixSeconds() };
    case "in_progress":
      return complete(call, batch);
    case "cancelling":
      return { status: "cancelled", cancelled_at: unixSeconds() };
    default:
      return {};
  }
}

function complete(call: ApiCall, batch: JsonObject): JsonObject {
  const input = call.stored.files.get(stringOf(batch["input_file_id"]));
  const lines = Buffer.from(input?.content ?? [])
    .toString()
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, MAX_REQUESTS);
  const results = lines.map((line, index) => serveLine(call, stringOf(batch["endpoint"]), line, index));
  const id = ownId(call, "file-");
  const text = results.map((result) => `${JSON.stringify(result)}\n`).join("");
  const names = { filename: `${stringOf(batch["id"])}_output.jsonl`, purpose: "batch_output" };
  if (storeFile(call, id, names, Buffer.from(text)) === null)
    return { status: "failed", failed_at: unixSeconds() };
  const completed = results.filter(({ response }) => objectOf(response)["status_code"] === 200).length;
  return {
    status: "completed",
    completed_at: unixSeconds(),
    output_file_id: id,
    request_counts: { total: lines.length, completed, failed: lines.length - completed },
  };
}

function serveLine(call: ApiCall, endpoint: string, line: string, index: number): JsonObject {
  const { custom_id: customId, body } = parseLine(line);
  const id = `batch_req_fake${call.request.serial}_${index}`;
  const handle = ENDPOINTS[endpoint];
  const head = { method: "POST", target: endpoint, version: "HTTP/1.1", headers: [] };
  const request = new ReceivedRequest(head, call.request.serial, call.request.connection);
  // A batch has no streams.
  request.body = Buffer.from(JSON.stringify({ ...objectOf(body), stream: false }));
  const response = handle?.({ ...call, request }) ?? openAiError(request, 404);
  const served = response.body.kind === "whole" ? parseLine(Buffer.from(response.body.bytes).toString()) : {};
  const result = { status_code: response.status, request_id: id, body: served };
  return { id, custom_id: customId ?? null, response: result, error: null };
}

function parseLine(line: string): JsonObject {
  try {
    return objectOf(JSON.parse(line));
  } catch {
    return {};
  }
}
