// Runs the final_request hook of a plugin under test, and does what the gateway does if the hook calls `reuse`.
import { endpointIn } from "../formats/operations.ts";
import type { PluginContext, PluginResponse, RequestContext } from "./contexts.ts";
import type { PluginHooks } from "./plugin.ts";
import type { FinalRequestContext, ReuseRequest } from "./reuse.ts";
import { TestResponses } from "./test-responses.ts";
import { requestContext, type TestRequest } from "./testing-request.ts";
import { withServices } from "./testing-services.ts";

/** A request that is about to be sent. Every field has a default. */
export interface TestFinalRequest extends TestRequest {
  /** Default: that of the path. */
  readonly operation?: string | null;
  /** Default: that of the path. */
  readonly format?: string;
  /** Default: the model of the body. */
  readonly models?: readonly (string | null)[];
  readonly formatHeaders?: Readonly<Record<string, string>>;
  /** Default: the `stream` of the body. */
  readonly wantsStream?: boolean;
  /** Default: false. */
  readonly hasTrustedUser?: boolean;
  /** What `hasSideEffects()` returns. Default: false. */
  readonly hasSideEffects?: boolean;
  /** The response of the provider if the request is sent. Default: status 200 without a body. */
  readonly provided?: PluginResponse;
}

/** What the client gets, and where it is from. */
export interface TestedFinalRequest {
  /** `provider`: the request was sent. `kept`: the response to an earlier request. `none`: `onlyKept`, and no response is kept. */
  readonly source: "provider" | "plugin" | "kept" | "none";
  readonly response: PluginResponse;
  /** The headers that the plugin has set. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** What the plugin passed to `reuse`; null if it did not call it. */
  readonly reused: ReuseRequest | null;
}

const NOT_CACHED: PluginResponse = {
  status: 504,
  body: { error: "No response is kept for this request.", code: "not_cached" },
};

export async function runFinalRequest(
  hooks: PluginHooks,
  base: PluginContext,
  request: TestFinalRequest,
): Promise<TestedFinalRequest> {
  const { context, result } = requestContext(withServices(base), request);
  let reused: ReuseRequest | null = null;
  const reuse = (given: ReuseRequest) => {
    if (!(given.store instanceof TestResponses))
      throw new Error("the store was not opened with openResponses");
    reused = given;
  };
  await hooks.final_request?.(finalContext(context, request, reuse));
  const { response, responseHeaders } = result();
  if (response !== null) return { source: "plugin", response, responseHeaders, reused };
  return { ...reusedOrSent(reused, request.provided ?? { status: 200 }), responseHeaders, reused };
}

function reusedOrSent(
  reused: ReuseRequest | null,
  provided: PluginResponse,
): Pick<TestedFinalRequest, "source" | "response"> {
  if (reused === null || !(reused.store instanceof TestResponses))
    return { source: "provider", response: provided };
  const { store, key, ttlMs, maxAgeMs, reads = true, keeps = true, onlyKept = false } = reused;
  const kept = reads ? store.get(key, maxAgeMs) : null;
  if (kept !== null) return { source: "kept", response: kept };
  if (onlyKept) return { source: "none", response: NOT_CACHED };
  if (keeps && provided.status >= 200 && provided.status < 300) store.keep(key, provided, ttlMs);
  return { source: "provider", response: provided };
}

const UNCHANGEABLE = "a request cannot be changed when all plugins have run";

function finalContext(
  context: RequestContext,
  request: TestFinalRequest,
  reuse: FinalRequestContext["reuse"],
): FinalRequestContext {
  const endpoint = endpointIn(context.path);
  const { operation = endpoint?.operation ?? null, format = endpoint?.format ?? "" } = request;
  const { models = [context.requestedModel], wantsStream = context.json?.["stream"] === true } = request;
  const unchangeable = (): never => {
    throw new Error(UNCHANGEABLE);
  };
  const values: Partial<Record<keyof FinalRequestContext | keyof RequestContext, unknown>> = {
    operation,
    format,
    models,
    formatHeaders: new Headers({ ...request.formatHeaders }),
    wantsStream,
    bodyDigest:
      context.bodyView === null ? null : Bun.CryptoHasher.hash("blake2b256", context.bodyView, "base64url"),
    hasTrustedUser: request.hasTrustedUser ?? false,
    hasSideEffects: () => request.hasSideEffects ?? false,
    reuse,
    setHeader: unchangeable,
    removeHeader: unchangeable,
    setPath: unchangeable,
    setQuery: unchangeable,
    replaceBody: unchangeable,
  };
  // Not a copy: properties such as the body are computed when they are read.
  const final = Object.create(context) as FinalRequestContext;
  for (const [name, value] of Object.entries(values)) Object.defineProperty(final, name, { value });
  return final;
}
