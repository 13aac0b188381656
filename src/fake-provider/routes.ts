// The routing table of the fake provider: which API serves a method and a path. Paths are matched at their end, so that a
// target may have any base path.
import { anthropicErrors } from "./apis/anthropic-errors.ts";
import { countMessageTokens, respondToMessages } from "./apis/anthropic-messages.ts";
import type { ApiHandler, ErrorFormat } from "./apis/api.ts";
import {
  countGeminiTokens,
  generateContent,
  getGeminiModel,
  listGeminiModels,
  streamGenerateContent,
} from "./apis/gemini.ts";
import { geminiErrors } from "./apis/gemini-errors.ts";
import { getAnthropicModel, getOpenAiModel, listAnthropicModels, listOpenAiModels } from "./apis/models.ts";
import { createSpeech, transcribe } from "./apis/openai-audio.ts";
import { cancelBatch, createBatch, getBatch, listBatches } from "./apis/openai-batches.ts";
import { respondToChat } from "./apis/openai-chat.ts";
import { respondToCompletion } from "./apis/openai-completions.ts";
import { createEmbeddings } from "./apis/openai-embeddings.ts";
import { openAiErrors, openAiResponsesErrors } from "./apis/openai-errors.ts";
import { deleteFile, getFile, getFileContent, listFiles, uploadFile } from "./apis/openai-files.ts";
import { generateImages } from "./apis/openai-images.ts";
import { createModeration } from "./apis/openai-moderations.ts";
import {
  countResponseTokens,
  createResponse,
  deleteResponse,
  getResponse,
  listResponseInput,
} from "./apis/openai-responses.ts";
import { openRealtime, realtimeErrors } from "./apis/realtime.ts";
import { rerank } from "./apis/rerank.ts";
import type { ReceivedRequest } from "./recorded-request.ts";

type Row = [method: "GET" | "POST" | "DELETE", path: string, handle: ApiHandler, errors?: ErrorFormat];

/** The first row that matches is used. `*` is a part of the path without a slash: an id or a model name. */
const ROWS: readonly Row[] = [
  ["POST", "/chat/completions", respondToChat],
  ["POST", "/messages", respondToMessages, anthropicErrors],
  ["POST", "/messages/count_tokens", countMessageTokens, anthropicErrors],
  ["POST", "/responses", createResponse, openAiResponsesErrors],
  ["POST", "/responses/input_tokens", countResponseTokens],
  ["GET", "/responses/*", getResponse],
  ["GET", "/responses/*/input_items", listResponseInput],
  ["DELETE", "/responses/*", deleteResponse],
  ["POST", "/models/*:generateContent", generateContent, geminiErrors],
  ["POST", "/models/*:streamGenerateContent", streamGenerateContent, geminiErrors],
  ["POST", "/models/*:countTokens", countGeminiTokens, geminiErrors],
  ["GET", "/v1beta/models", listGeminiModels, geminiErrors],
  ["GET", "/v1beta/models/*", getGeminiModel, geminiErrors],
  ["GET", "/realtime", openRealtime, realtimeErrors],
  ["GET", "/models", listOpenAiModels],
  ["GET", "/models/*", getOpenAiModel],
  ["POST", "/completions", respondToCompletion],
  ["POST", "/embeddings", createEmbeddings],
  ["POST", "/moderations", createModeration],
  ["POST", "/rerank", rerank],
  ["POST", "/images/generations", generateImages],
  ["POST", "/audio/speech", createSpeech],
  ["POST", "/audio/transcriptions", transcribe],
  // With the version, because Anthropic's `/v1/messages/batches` is another API.
  ["POST", "/v1/files", uploadFile],
  ["GET", "/v1/files", listFiles],
  ["GET", "/v1/files/*", getFile],
  ["GET", "/v1/files/*/content", getFileContent],
  ["DELETE", "/v1/files/*", deleteFile],
  ["POST", "/v1/batches", createBatch],
  ["GET", "/v1/batches", listBatches],
  ["GET", "/v1/batches/*", getBatch],
  ["POST", "/v1/batches/*/cancel", cancelBatch],
];

/** Anthropic has the same paths for models; its clients always send the header `anthropic-version`. */
const ANTHROPIC_ROWS: readonly Row[] = [
  ["GET", "/models", listAnthropicModels, anthropicErrors],
  ["GET", "/models/*", getAnthropicModel, anthropicErrors],
];

interface Route {
  readonly method: string;
  readonly path: RegExp;
  readonly handle: ApiHandler;
  readonly errors: ErrorFormat;
}

const ROUTES = ROWS.map(compile);
const ANTHROPIC_ROUTES = ANTHROPIC_ROWS.map(compile);

function compile([method, path, handle, errors = openAiErrors]: Row): Route {
  const pattern = path.replaceAll(".", "\\.").replaceAll("*", "([^/]+)");
  return { method, path: new RegExp(`${pattern}$`), handle, errors };
}

export interface RouteMatch {
  readonly route: Route;
  /** What `*` matched, decoded; empty if the route has none. */
  readonly name: string;
}

export function findRoute(request: ReceivedRequest): RouteMatch | null {
  const method = request.method === "HEAD" ? "GET" : request.method;
  if (method === "GET" && request.header("anthropic-version") !== undefined) {
    const match = matchRoute(ANTHROPIC_ROUTES, method, request.path);
    if (match !== null) return match;
  }
  return matchRoute(ROUTES, method, request.path);
}

function matchRoute(routes: readonly Route[], method: string, path: string): RouteMatch | null {
  for (const route of routes) {
    const found = route.method === method ? route.path.exec(path) : null;
    if (found !== null) return { route, name: decoded(found[1] ?? "") };
  }
  return null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
