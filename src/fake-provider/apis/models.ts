// The lists of models, in the formats of OpenAI and Anthropic.
import type { JsonObject } from "../loose-json.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import type { ApiCall } from "./api.ts";
import { anthropicError, anthropicHeaders } from "./anthropic-errors.ts";
import { openAiError, openAiHeaders } from "./openai-errors.ts";

const MODELS = ["gpt-fake", "gpt-fake-mini", "claude-fake"];
const CREATED = 1_700_000_000;

export function listOpenAiModels({ request, providerName }: ApiCall): FakeResponse {
  const data = MODELS.map((id) => openAiModel(id, providerName));
  return jsonResponse(200, { object: "list", data }, openAiHeaders(request));
}

export function getOpenAiModel({ request, providerName, name }: ApiCall): FakeResponse {
  if (!MODELS.includes(name)) return openAiError(request, 404, `The model '${name}' does not exist.`);
  return jsonResponse(200, openAiModel(name, providerName), openAiHeaders(request));
}

function openAiModel(id: string, owner: string): JsonObject {
  return { id, object: "model", created: CREATED, owned_by: owner };
}

export function listAnthropicModels({ request }: ApiCall): FakeResponse {
  const data = MODELS.map(anthropicModel);
  const list = { data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) };
  return jsonResponse(200, list, anthropicHeaders(request));
}

export function getAnthropicModel({ request, name }: ApiCall): FakeResponse {
  if (!MODELS.includes(name)) return anthropicError(request, 404, `model: ${name}`);
  return jsonResponse(200, anthropicModel(name), anthropicHeaders(request));
}

function anthropicModel(id: string): JsonObject {
  return { type: "model", id, display_name: id, created_at: new Date(CREATED * 1000).toISOString() };
}
