// What a plugin needs to respond with responses of earlier requests: a bounded store, and the request as it is about to be sent.
import type { PluginContext, PluginResponse, RequestContext } from "./contexts.ts";
import type { ReadonlyHeaders } from "./readonly-headers.ts";

/** Whole responses, in memory or, if REDIS_URL is set, compressed and encrypted in Redis. Open it with `host.openResponses`. */
export interface ResponseStore {
  readonly maxEntryBytes: number;
}

export interface ResponseStoreLimits {
  /** Of all responses of this entry. Above it, the least recently used ones are dropped. */
  readonly maxBytes: number;
  /** Larger responses are not kept. */
  readonly maxEntryBytes: number;
}

export interface ReuseRequest {
  readonly store: ResponseStore;
  /** Requests with equal keys get the same response. Must name everything that the response depends on, and who may read it. */
  readonly key: string;
  /** How long a response is kept. */
  readonly ttlMs: number;
  /** Responses that were kept longer ago are not used. Default: no limit but `ttlMs`. */
  readonly maxAgeMs?: number | undefined;
  /** False: no kept response is used. Default: true. */
  readonly reads?: boolean | undefined;
  /** False: the response is not kept. Default: true. */
  readonly keeps?: boolean | undefined;
  /** Requests with the key that arrive before the response wait for it, instead of being sent. Default: true. */
  readonly coalesces?: boolean | undefined;
  /** True: if no response is kept, the request is rejected with 504 `not_cached` instead of being sent. Default: false. */
  readonly onlyKept?: boolean | undefined;
}

type ReadableRequest = Pick<
  RequestContext,
  | "path"
  | "query"
  | "headers"
  | "forwardedHeaders"
  | "forwardedCredentials"
  | "bodySize"
  | "bodyView"
  | "bodyText"
  | "json"
  | "userKey"
  | "requestedModel"
  | "setResponseHeader"
>;

/** final_request: all pre_request plugins have run, and the request is about to be sent. It cannot be changed any more. */
export interface FinalRequestContext extends PluginContext, ReadableRequest {
  /** What the request asks for, such as `chat`, `messages` or `embeddings`; null if that is not known. */
  readonly operation: string | null;
  /** The name of the format of the response. */
  readonly format: string;
  /** The models that the request may be sent to; null is one that is not known. */
  readonly models: readonly (string | null)[];
  /** The forwarded headers that belong to the API of the format, such as its version. */
  readonly formatHeaders: ReadonlyHeaders;
  readonly wantsStream: boolean;
  /** A digest of the bytes of the body that no two bodies share, for remembering what was computed from it; null without a body. */
  readonly bodyDigest: string | null;
  /** Whether the user of `userKey` is known from a header that the gateway trusts. */
  readonly hasTrustedUser: boolean;
  /** Resolves to whether the provider stores something, continues a stored conversation, or runs tools. */
  hasSideEffects(): boolean | Promise<boolean>;
  /** Responds to the client now: no request is sent to a provider. */
  respond(response: PluginResponse): void;
  /**
   * Responds with a kept response if there is one; otherwise keeps the response to this request if it is complete and successful. A
   * response that was kept for a stream also serves other requests, and the other way around. Sets `Cache-Status` and `Age`.
   */
  reuse(request: ReuseRequest): void;
}
