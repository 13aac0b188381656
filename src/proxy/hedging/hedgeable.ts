// Which requests may be sent twice: those that run a model and change nothing at the provider.
import { endpointIn, type Operation } from "../../formats/operations.ts";
import { hasSideEffects } from "../../formats/side-effects.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { endpointAt, type RequestEndpoint } from "../request-endpoint.ts";
import type * as sideEffectsTask from "./side-effects-task.ts";

const TASK = new URL("./side-effects-task.ts", import.meta.url);
const HEDGED: ReadonlySet<Operation> = new Set([
  "chat",
  "messages",
  "responses",
  "completions",
  "generate_content",
  "embeddings",
  "moderations",
  "rerank",
]);

/** Whether the operation may be hedged; its body decides too. `target` is that of the first attempt. */
export function mayBeHedged(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): boolean {
  const { method, body, upload, handshake, fields } = exchange;
  if (method !== "POST" || upload !== null || handshake !== null || body === null || !fields.isObject)
    return false;
  const endpoint = exchange.endpoint ?? endpointIn(endpointAt(exchange, rule, target).path);
  if (endpoint === null) return fields.hasMessages;
  const { operation, tail } = endpoint;
  // A longer path names a stored response, for example to cancel it.
  return HEDGED.has(operation) && (operation !== "responses" || tail === "/responses");
}

/** Whether one of the targets stores the response unless the request says otherwise. A translated request says so. */
export function storesByDefault(
  exchange: Exchange,
  rule: CompiledRule,
  candidates: readonly number[],
): boolean {
  return candidates.some((index) => {
    const target = rule.upstream.targets[index];
    if (target === undefined) return false;
    return storesAt(endpointAt(exchange, rule, target));
  });
}

/** As `storesByDefault`, for the endpoint of one target. */
export function storesAt({ format, requestFormat, path }: RequestEndpoint): boolean {
  // Counting tokens has the format of what is counted, and stores nothing.
  return format.storesByDefault && requestFormat === null && endpointIn(path)?.operation !== "count_tokens";
}

/** Whether a provider that gets the request stores nothing and runs no tools. */
export function isRepeatable(
  exchange: Exchange,
  rule: CompiledRule,
  candidates: readonly number[],
  { offLoop }: OffLoopPart,
): ValueOrPromise<boolean> {
  const { body } = exchange;
  if (body === null) return false;
  const stores = storesByDefault(exchange, rule, candidates);
  if (isLargeBody(body.bytes)) {
    const { bytes } = body;
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    return offLoop
      .run<typeof sideEffectsTask>(TASK, { bytes, storesByDefault: stores }, limits)
      .then((has) => !has)
      .catch(() => false);
  }
  return body.json !== null && !hasSideEffects(body.json, stores);
}
