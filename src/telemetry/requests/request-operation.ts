// The operation of a finished request and its translation, for all telemetry. The operation is derived when it is needed, so that
// a request that is neither logged nor traced does not pay for it.
import { BoundedCache } from "../../base/bounded-cache.ts";
import { endpointIn, type Operation } from "../../formats/operations.ts";
import type { RequestFacts, TranslationFacts } from "./request-facts.ts";

/** Operations by path; null if the path names none. Most requests repeat a path. */
const operations = new BoundedCache<string, Operation | null>(1000);

/** Names of OpenTelemetry's GenAI conventions. */
const GEN_AI_NAMES: Partial<Record<Operation, string>> = {
  chat: "chat",
  messages: "chat",
  responses: "chat",
  generate_content: "generate_content",
  completions: "text_completion",
  embeddings: "embeddings",
};

/** The path of a response that is stored at the provider. Requests to it do not generate one. */
const STORED_RESPONSE = /\/responses\/[^/]/;

/** Returns what the path of the request names, else the `path` of the target, else `chat` for a body with messages. */
export function operationOf(facts: RequestFacts): Operation | null {
  return facts.operation ?? operationNamed(facts.sentPath) ?? operationOfTarget(facts);
}

/** Returns `gen_ai.operation.name`; null if the request does not run a model, or the conventions have no name for it. */
export function genAiOperationOf(facts: RequestFacts): string | null {
  const { method, sentPath, hasPrompt } = facts;
  if (facts.mcp !== null) return facts.mcp.tool === null ? null : "execute_tool";
  if (method !== "POST" || STORED_RESPONSE.test(sentPath)) return null;
  const operation = operationOf(facts);
  if (operation === null) return hasPrompt ? "text_completion" : null;
  return GEN_AI_NAMES[operation] ?? null;
}

/** Returns the translation of the attempt whose response was sent to the client, else of the last one. */
export function translationOf({ finalAttempt, attempts }: RequestFacts): TranslationFacts | null {
  return (finalAttempt ?? attempts.at(-1))?.translation ?? null;
}

/** Returns for example `anthropic->openai`. */
export function translationText(translation: TranslationFacts | null): string | null {
  return translation === null ? null : `${translation.from}->${translation.to}`;
}

function operationOfTarget({ status, finalAttempt, attempts, hasMessages }: RequestFacts): Operation | null {
  // A WebSocket goes to the realtime endpoint beside that path.
  if (status === 101) return null;
  const path = (finalAttempt ?? attempts.at(-1))?.target.path ?? "";
  return operationNamed(path) ?? (hasMessages ? "chat" : null);
}

function operationNamed(path: string): Operation | null {
  const known = operations.get(path);
  if (known !== undefined) return known;
  const operation = endpointIn(path)?.operation ?? null;
  operations.set(path, operation);
  return operation;
}
