// What a plugin's hooks are given at each stage: to read all that is known, to change it only through named methods.

export interface ReadonlyHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
  /** Names in lower case. */
  entries(): IterableIterator<[string, string]>;
}

/** What every stage knows of the request. */
export interface PluginContext {
  readonly requestId: string;
  readonly gateway: { readonly id: string; readonly name: string };
  readonly rule: { readonly id: string; readonly name: string | null; readonly path: string };
  /** The caller's API key, if one was sent. Never the key itself. */
  readonly apiKey: { readonly id: string; readonly name: string } | null;
  readonly method: string;
  /** The peer, or what a trusted proxy says of its own. */
  readonly clientAddress: string;
  /** Notes of this plugin on this request, kept from stage to stage. */
  readonly notes: Map<string, unknown>;
  /**
   * Adds one to the metric `gatehouse_plugin_events_total` with this event and kind, as in `count("refused", "per_ip")`.
   * Both should come from a short list: beyond a hundred pairs a plugin's events are counted as `other`.
   */
  count(event: string, kind?: string): void;
  /** A few words for the operator on what the plugin did and why; they stand beside its verdict in the request log. */
  remark(detail: string): void;
}

/** pre_request: before anything is sent to a provider. */
export interface RequestContext extends PluginContext {
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  /** The client's headers as they came. */
  readonly headers: ReadonlyHeaders;
  /** Those that would go to the provider, without credentials and what concerns only this connection. */
  readonly forwardedHeaders: ReadonlyHeaders;
  readonly body: Uint8Array | null;
  /** The body as text, where it is valid UTF-8. */
  readonly bodyText: string | null;
  /** Whether the body is JSON of any kind. */
  readonly isJson: boolean;
  /** The body where it is a JSON object. Not to be changed in place: see `replaceBody`. */
  readonly json: Readonly<Record<string, unknown>> | null;

  setHeader(name: string, value: string): void;
  removeHeader(name: string): void;
  setPath(path: string): void;
  setQuery(query: string): void;
  replaceBody(body: string | Uint8Array): void;
  /** A header for the client's answer, whoever gives it: provider, plugin or an error of the gateway. */
  setAnswerHeader(name: string, value: string): void;
  /** Answers instead of a provider; later plugins and the provider are not asked. */
  answer(answer: PluginAnswer): void;
}

export interface PluginAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes as they are, anything else as JSON. */
  readonly body?: unknown;
}

/** post_request: the provider's status and headers have come. */
export interface AnswerContext extends PluginContext {
  readonly provider: string;
  readonly model: string | null;
  readonly status: number;
  readonly headers: ReadonlyHeaders;
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
  removeHeader(name: string): void;
}

/** pre_response: the answer's body before the client gets it; once for a whole body, else chunk by chunk. */
export interface BodyContext extends PluginContext {
  readonly provider: string;
  readonly model: string | null;
  readonly status: number;
  readonly chunk: Uint8Array;
  readonly isLast: boolean;
  /** The chunk as text. A chunk of a stream may begin or end inside a character. */
  readonly text: string;
  replaceChunk(chunk: string | Uint8Array): void;
}

/** post_response: all is done; nothing can be changed any more. */
export interface EndContext extends PluginContext {
  readonly status: number;
  readonly outcome: "complete" | "incomplete" | "client_left" | "failed";
  readonly provider: string | null;
  readonly model: string | null;
  readonly attempts: number;
  readonly durationMs: number;
  readonly firstByteMs: number | null;
  /**
   * As the provider told it; of an answer that was cut or left, what was told until then, and then it is partial.
   * Null: it told none.
   */
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly isPartial: boolean;
  } | null;
}
