// The context that each plugin hook receives: read-only properties, and methods for everything a plugin may change.
import type { ReadonlyHeaders } from "./readonly-headers.ts";
import type { ServiceCallOptions, ServiceRequest, ServiceResponse } from "./services.ts";

/** A prompt or a resource in an MCP request. */
export interface McpItem {
  /** Such as `prompts/get`, `resources/read` or `completion/complete`. */
  readonly method: string;
  readonly kind: "prompt" | "resource";
  readonly name: string | null;
  readonly arguments: Readonly<Record<string, unknown>> | null;
}

/** Properties and methods that are available at every stage. */
export interface PluginContext {
  readonly requestId: string;
  readonly gateway: { readonly id: string; readonly name: string };
  readonly rule: { readonly id: string; readonly name: string | null; readonly path: string };
  /** The client's gateway API key, without its secret; null if the client sent none. */
  readonly apiKey: { readonly id: string; readonly name: string } | null;
  /** Returns the value of a label of that API key; null if the key has no such label, or if there is no key. */
  apiKeyLabel(name: string): string | null;
  /** `mcp` for requests to tools of MCP servers, `http` for all others. */
  readonly protocol: "http" | "mcp";
  /** The tool that an MCP request calls, by the name that the client uses; null if it calls none. Do not modify the arguments. */
  readonly tool: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> } | null;
  /**
   * The prompts and resources that an MCP request uses or completes, by the name or URI that the client uses. `name` is null if servers may read
   * several in it; `arguments` if they are too large to be read. Empty for other requests. Do not modify the arguments.
   */
  readonly mcpItems: readonly McpItem[];
  readonly method: string;
  /** The address of the TCP peer, or the client address that a trusted proxy forwards. */
  readonly clientAddress: string;
  /** Values that this plugin keeps from stage to stage of one request. */
  readonly notes: Map<string, unknown>;
  /**
   * Adds one, or `amount`, to the metric `gatehouse_plugin_events_total` with this event and kind, as in `count("refused", "per_ip")`.
   * Take both from a short, fixed list: after a hundred pairs, further events of the plugin are counted as `other`.
   */
  count(event: string, kind?: string, amount?: number): void;
  /** Sets the text that the request log shows next to the plugin's verdict: what the plugin did and why. */
  setDetail(detail: string): void;
  /** @deprecated Use `setDetail`. */
  remark(detail: string): void;
}

/** pre_request: before a request is sent to a provider. */
export interface RequestContext extends PluginContext {
  readonly path: string;
  /** Includes the question mark; empty if there is no query. */
  readonly query: string;
  /** The headers that the client sent. */
  readonly headers: ReadonlyHeaders;
  /** The headers that will be sent to the provider: without credentials and hop-by-hop headers. */
  readonly forwardedHeaders: ReadonlyHeaders;
  /**
   * The credentials of the client that are sent to targets without a credential of their own; empty if every target of the
   * rule has one. API keys and admin tokens of the gateway are never among them.
   */
  readonly forwardedCredentials: ReadonlyHeaders;
  /** The size of the body in bytes; 0 if there is none. */
  readonly bodySize: number;
  /** A copy of the body. */
  readonly body: Uint8Array | null;
  /** The body itself, not a copy. Do not modify it; use `replaceBody`. */
  readonly bodyView: Uint8Array | null;
  /** The body as text; null if it is not valid UTF-8. */
  readonly bodyText: string | null;
  /** True if the body is valid JSON of any type. */
  readonly isJson: boolean;
  /** The `user` of a JSON body, or null. Unlike `json`, it does not parse the body. */
  readonly bodyUser: string | null;
  /**
   * Identifies the user for limits of tokens and for caches: the pair of API key and user id (`X-User-ID`, else the `user` of the body),
   * because any client can send any id; the id of the header alone if the gateway has `trust_user_header`.
   */
  readonly userKey: string;
  /**
   * A secret of the conversation of an MCP client, for this plugin only. The conversation is a session, or all
   * requests of a user without one; if the user is not known, a request. All nodes have the same secret, so that
   * equal values can have equal names in all requests. Null for requests to providers.
   */
  readonly conversationKey: string | null;
  /**
   * The `notes` of the call of an MCP client during which a server asked the question that this request
   * responds to, if the same process serves that call. Otherwise the `notes` of this request.
   */
  readonly callNotes: Map<string, unknown>;
  /** The model that the request names in its path or body; null if it names none, or if it is not known. */
  readonly requestedModel: string | null;
  /** The body if it is a JSON object. Do not modify it; use `replaceBody`. */
  readonly json: Readonly<Record<string, unknown>> | null;

  setHeader(name: string, value: string): void;
  removeHeader(name: string): void;
  setPath(path: string): void;
  setQuery(query: string): void;
  replaceBody(body: string | Uint8Array): void;
  /** Sets a header of the response to the client, whether it is from a provider, a plugin or the gateway itself. */
  setResponseHeader(name: string, value: string): void;
  /**
   * Reports the state of a limit: sets `X-RateLimit-<name>-Limit`, `-Remaining` and `-Reset`, which takes less time than `setResponseHeader`
   * for each of them. Of several limits with one name, the one with the fewest left counts.
   */
  reportLimit(state: ReportedLimit): void;
  /**
   * Reports the state of a limit of tokens in the header fields of OpenAI (`x-ratelimit-remaining-tokens` and so on); of several, the
   * one with the fewest tokens left counts. Those of the provider move to `X-GW-Provider-RateLimit-*`.
   */
  reportTokenLimit(state: TokenLimitState): void;
  /** Responds to the client now: later plugins do not run and no request is sent to a provider. */
  respond(response: PluginResponse): void;
  /**
   * Sends a request to a service of this gateway, by its name: targets, failover, virtual models and translation are those of the service.
   * No plugins run, and limits of the client do not count the call; budgets of the scopes `gateway` and `model` do, and usage has it
   * with the purpose `plugin`. At most 8 calls per request at the same time. Rejects with a ServiceCallError if there is no response.
   */
  callService(
    service: string,
    request: ServiceRequest,
    options?: ServiceCallOptions,
  ): Promise<ServiceResponse>;
  /**
   * Sends the request to the provider without waiting for `decision`, but holds its response until the decision is known, at most 30
   * seconds. The client gets the response that it resolves to; with null, that of the provider. A rejection is a failure of the plugin.
   */
  holdResponse(decision: Promise<PluginResponse | null>): void;
  /** @deprecated Use `setResponseHeader`. */
  setAnswerHeader(name: string, value: string): void;
  /** @deprecated Use `respond`. */
  answer(response: PluginResponse): void;
}

export interface ReportedLimit {
  /** Such as `per_key`. */
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in seconds. */
  readonly resetAt: number;
}

export interface TokenLimitState extends Omit<ReportedLimit, "name"> {
  /** In seconds. `resetAt` is rounded up, and clients get no duration that is longer than the window. */
  readonly window?: number;
  /** As for `reportLimit`, such as `per_key_tokens`. Without it, only the header fields of OpenAI are set. */
  readonly name?: string;
}

export interface PluginResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent unchanged; any other value is sent as JSON. */
  readonly body?: unknown;
}

/** post_request: the provider's status and headers have arrived. */
export interface ResponseContext extends PluginContext {
  readonly provider: string;
  readonly model: string | null;
  readonly status: number;
  readonly headers: ReadonlyHeaders;
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
  removeHeader(name: string): void;
}

/** pre_response: before the response body is sent to the client. Called once for a whole body, otherwise per chunk. */
export interface ResponseBodyContext extends PluginContext {
  readonly provider: string;
  readonly model: string | null;
  readonly status: number;
  readonly chunk: Uint8Array;
  readonly isLast: boolean;
  /** The chunk as text. A chunk of a stream may start or end inside a multi-byte character. */
  readonly text: string;
  replaceChunk(chunk: string | Uint8Array): void;
}

/** post_response: the request has ended; nothing can be changed any more. */
export interface EndContext extends PluginContext {
  readonly status: number;
  readonly outcome: "complete" | "refused" | "failed" | "incomplete" | "client_left";
  readonly provider: string | null;
  readonly model: string | null;
  readonly attempts: number;
  readonly durationMs: number;
  readonly firstByteMs: number | null;
  /**
   * Token counts that the provider reported; null if it reported none. `isPartial`: the response ended early, and these
   * are the counts reported up to then.
   */
  readonly usage: {
    /** All input, cached input included. */
    readonly inputTokens: number;
    /** All output, reasoning included. */
    readonly outputTokens: number;
    /** Disjoint parts of the input. */
    readonly cachedInputTokens: number;
    readonly cacheWrite5mTokens: number;
    readonly cacheWrite1hTokens: number;
    readonly audioInputTokens: number;
    /** Disjoint parts of the output. */
    readonly reasoningTokens: number;
    readonly audioOutputTokens: number;
    readonly isPartial: boolean;
  } | null;
}

/** @deprecated Use `PluginResponse`. */
export type PluginAnswer = PluginResponse;
/** @deprecated Use `ResponseContext`. */
export type AnswerContext = ResponseContext;
/** @deprecated Use `ResponseBodyContext`. */
export type BodyContext = ResponseBodyContext;
