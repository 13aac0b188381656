// Operations: what a request asks for, read from the end of its path, whatever stands before it.
import { percentDecoded } from "../base/percent-decoded.ts";
import type { FormatName } from "./format-names.ts";

export const OPERATIONS = [
  "chat",
  "messages",
  "responses",
  "generate_content",
  "completions",
  "embeddings",
  "models",
  "count_tokens",
  "images",
  "audio_speech",
  "audio_transcription",
  "moderations",
  "files",
  "batches",
  "rerank",
  "fine_tuning",
  "other",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a path names at a provider, without the prefix of the provider's API. */
export interface Endpoint {
  readonly operation: Operation;
  /** The format whose API has this endpoint. */
  readonly format: FormatName;
  /** The end of the path that names the operation, for example `/files/file-1/content`. */
  readonly tail: string;
  /** The model, if the path names it; the tail then has `{model}` in its place. */
  readonly model: string | null;
  /** Whether the response is a stream, if the path says so; null if the body does. */
  readonly wantsStream: boolean | null;
}

/** The operation that creates a chat response, by format. Requests and responses of these are translated. */
export const CHAT_OPERATIONS: Readonly<Record<FormatName, Operation>> = {
  openai: "chat",
  anthropic: "messages",
  responses: "responses",
  gemini: "generate_content",
};

/** Their models return numbers: of the usage of such a response, only the input is charged. */
export const OPERATIONS_WITHOUT_OUTPUT: ReadonlySet<Operation> = new Set([
  "embeddings",
  "moderations",
  "rerank",
  "count_tokens",
]);

/** Whether requests to the endpoint are chat requests. */
export function isChatEndpoint({ operation, format }: Endpoint): boolean {
  return operation === CHAT_OPERATIONS[format];
}

interface Pattern {
  readonly pattern: RegExp;
  readonly operation: Operation;
  readonly format: FormatName;
}

const pattern = (source: string, operation: Operation, format: FormatName = "openai"): Pattern => ({
  pattern: new RegExp(`${source}$`),
  operation,
  format,
});

const GEMINI_MODEL = "/(?:models|tunedModels)/([^/:]+)";

/** The first that matches decides. Names at the end of the path come before names that an id follows. */
const PATTERNS: readonly Pattern[] = [
  pattern("/chat/completions", "chat"),
  pattern("/completions", "completions"),
  pattern("/messages/count_tokens", "count_tokens", "anthropic"),
  pattern("/responses/input_tokens", "count_tokens", "responses"),
  pattern("/responses", "responses", "responses"),
  // Messages of OpenAI's threads are no chat requests.
  pattern("/threads/[^/]+/messages", "other"),
  // Files of a vector store or a container are not those of the files API.
  pattern("/(?:vector_stores|containers)/[^/]+/files(?:/[^/]+(?:/content)?)?", "other"),
  pattern("/messages", "messages", "anthropic"),
  pattern(`${GEMINI_MODEL}:(?:generateContent|streamGenerateContent)`, "generate_content", "gemini"),
  pattern(`${GEMINI_MODEL}:countTokens`, "count_tokens", "gemini"),
  pattern(`${GEMINI_MODEL}:(?:embedContent|batchEmbedContents)`, "embeddings", "gemini"),
  pattern("/embeddings", "embeddings"),
  pattern("/moderations", "moderations"),
  pattern("/rerank", "rerank"),
  pattern("/images/(?:generations|edits|variations)", "images"),
  pattern("/audio/speech", "audio_speech"),
  pattern("/audio/(?:transcriptions|translations)", "audio_transcription"),
  pattern("/messages/batches(?:/[^/]+(?:/(?:cancel|results))?)?", "batches", "anthropic"),
  pattern("/batches(?:/[^/]+(?:/cancel)?)?", "batches"),
  pattern("/responses/[^/]+(?:/(?:cancel|input_items))?", "responses", "responses"),
  pattern("/files(?:/[^/]+(?:/content)?)?", "files"),
  pattern("/fine_tuning/jobs(?:/[^/]+(?:/[a-z_]+)?)?", "fine_tuning"),
];

const MODELS = "/models";
/** Methods of Google's APIs follow the name after a colon. Names of models may contain colons as well: `ft:gpt-4o:acme::1`. */
const GOOGLE_METHOD = /:(?:[a-z]+[A-Z]\w*|predict)$/;

/** Returns null if the path names no operation, or one that the gateway does not know. */
export function endpointIn(path: string): Endpoint | null {
  for (const { pattern: each, operation, format } of PATTERNS) {
    const match = each.exec(path);
    if (match === null) continue;
    const [tail, model] = match;
    if (model !== undefined) return endpointWithModel(operation, format, tail, model);
    return operation === "other" ? null : { operation, format, tail, model: null, wantsStream: null };
  }
  const tail = modelsTail(path);
  return tail === null
    ? null
    : { operation: "models", format: "openai", tail, model: null, wantsStream: null };
}

/**
 * Returns the end of a path that names models, or one model, whose name may contain slashes. Not a pattern: a search for the
 * name from each of many `/models/` would take quadratic time.
 */
function modelsTail(path: string): string | null {
  const start = path.indexOf(`${MODELS}/`);
  if (start < 0) return path.endsWith(MODELS) ? MODELS : null;
  const tail = path.slice(start);
  return tail.length === MODELS.length + 1 || GOOGLE_METHOD.test(tail) ? null : tail;
}

/**
 * Returns the operation that servers may read in a path that names none: some ignore case, empty segments and parameters of
 * segments, and decode percent-encoded characters.
 */
export function operationSpelledIn(path: string): Operation | null {
  const segments = path
    .split("/")
    .flatMap((segment) => percentDecoded(segment).toLowerCase().split("/"))
    .map((segment) => segment.split(";", 1)[0]?.trim() ?? "")
    .filter((segment) => segment !== "");
  return endpointIn(`/${segments.join("/")}`)?.operation ?? null;
}

/** Methods of requests that neither show nor change anything. */
const METHODS_WITHOUT_EFFECT: ReadonlySet<string> = new Set(["HEAD", "OPTIONS"]);

/**
 * Returns what a rule's `operations` must list for such a request, because it lists or changes what any client has stored in
 * the provider's account; null if the request needs no permission.
 */
export function permissionFor({ operation, tail }: Endpoint, method: string): Operation | null {
  switch (operation) {
    case "fine_tuning":
      return operation;
    case "models":
      return method === "GET" || METHODS_WITHOUT_EFFECT.has(method) ? null : operation;
    case "responses":
      return (tail === "/responses" ? method !== "POST" : method === "DELETE") ? operation : null;
    case "files":
    case "batches":
      return method === "DELETE" || (method !== "POST" && /\/(?:files|batches)$/.test(tail))
        ? operation
        : null;
    case "count_tokens":
      return null;
    default:
      // Inference is always POST. For example, GET /chat/completions lists the stored chat completions of all clients.
      return method === "POST" || METHODS_WITHOUT_EFFECT.has(method) ? null : "other";
  }
}

function endpointWithModel(operation: Operation, format: FormatName, tail: string, model: string): Endpoint {
  return {
    operation,
    format,
    tail: tail.replace(`/${model}:`, "/{model}:"),
    model: percentDecoded(model),
    wantsStream: tail.endsWith(":streamGenerateContent"),
  };
}
