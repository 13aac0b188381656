// The contexts that the hooks of each stage see inside an isolate.
import type {
  EndContext,
  PluginContext,
  PluginResponse,
  ReadonlyHeaders,
  RequestContext,
  ResponseBodyContext,
  ResponseContext,
  ResponseTextContext,
  ServiceCallOptions,
  ServiceRequest,
  ServiceResponse,
  TextRejection,
  ReportedLimit,
  TokenLimitState,
} from "../../sdk/index.ts";
import {
  BaseContext,
  bytesArgument,
  record,
  responseArgument,
  type Data,
  type IsolatedCall,
} from "./isolated-context.ts";
import type { IsolatedHook } from "./messages.ts";
import { PlainHeaders, type HeaderEntries } from "./plain-headers.ts";
import { callServiceOfGateway } from "./isolated-services.ts";
import { RequestData } from "./request-data.ts";

class IsolatedRequestContext extends BaseContext implements RequestContext {
  readonly #call: IsolatedCall;
  readonly #request: RequestData;

  constructor(call: IsolatedCall) {
    super(call);
    this.#call = call;
    this.#request = new RequestData(call.data, call.bytes, call.ask);
  }
  get path(): string {
    return this.#request.path;
  }
  get query(): string {
    return this.#request.query;
  }
  get headers(): ReadonlyHeaders {
    return this.#request.headers;
  }
  get forwardedHeaders(): ReadonlyHeaders {
    return this.#request.forwardedHeaders;
  }
  get forwardedCredentials(): ReadonlyHeaders {
    return this.#request.forwardedCredentials;
  }
  get bodySize(): number {
    return this.#request.bodySize;
  }
  get body(): Uint8Array | null {
    const { bytes } = this.#request;
    return bytes === null ? null : new Uint8Array(bytes);
  }
  get bodyView(): Uint8Array | null {
    return this.#request.bytes;
  }
  get bodyText(): string | null {
    return this.#request.text;
  }
  get isJson(): boolean {
    return this.#request.isJson;
  }
  get json(): Readonly<Record<string, unknown>> | null {
    return this.#request.json;
  }
  get bodyUser(): string | null {
    return this.#request.user;
  }
  get userKey(): string {
    return this.#request.userKey;
  }
  get conversationKey(): string | null {
    return this.protocol === "mcp" ? (this.#call.ask("conversationKey") as string | null) : null;
  }
  get callNotes(): Map<string, unknown> {
    return this.#call.callNotes();
  }
  get requestedModel(): string | null {
    return this.#request.model;
  }
  setHeader(name: string, value: string): void {
    this.#request.setHeader(name, value);
    record(this.#call, "setHeader", name, value);
  }
  removeHeader(name: string): void {
    this.#request.setHeader(name, null);
    record(this.#call, "removeHeader", name);
  }
  setPath(path: string): void {
    this.#request.path = path;
    record(this.#call, "setPath", path);
  }
  setQuery(query: string): void {
    this.#request.query = query === "" || query.startsWith("?") ? query : `?${query}`;
    record(this.#call, "setQuery", query);
  }
  replaceBody(body: string | Uint8Array): void {
    this.#request.replaceBody(body);
    record(this.#call, "replaceBody", bytesArgument(this.#call, body));
  }
  setResponseHeader(name: string, value: string): void {
    record(this.#call, "setResponseHeader", name, value);
  }
  reportLimit(state: ReportedLimit): void {
    record(this.#call, "reportLimit", state);
  }
  reportTokenLimit(state: TokenLimitState): void {
    record(this.#call, "reportTokenLimit", state);
  }
  respond(response: PluginResponse): void {
    record(this.#call, "respond", responseArgument(this.#call, response));
  }
  async callService(
    service: string,
    { body, ...request }: ServiceRequest,
    { timeoutMs, signal }: ServiceCallOptions = {},
  ): Promise<ServiceResponse> {
    // A message has no bytes here, and a string is sent unchanged, too.
    const sent = body instanceof Uint8Array ? Buffer.from(body).toString() : body;
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    return callServiceOfGateway(this.#call, [service, { ...request, body: sent }, options], signal);
  }
  holdResponse(decision: Promise<PluginResponse | null>): void {
    if (this.#call.hasEnded)
      throw new Error("holdResponse was called after the hook had ended; call it before");
    const deciding = Promise.resolve(decision);
    // A rejection is reported when the decision is waited for, which a hook that fails prevents.
    deciding.catch(() => undefined);
    this.#call.decisions.push(deciding);
  }
  setAnswerHeader(name: string, value: string): void {
    this.setResponseHeader(name, value);
  }
  answer(response: PluginResponse): void {
    this.respond(response);
  }
}

class IsolatedResponseContext extends BaseContext implements ResponseContext {
  readonly #call: IsolatedCall;
  readonly #headers: PlainHeaders;
  readonly provider: string;
  readonly model: string | null;
  status: number;

  constructor(call: IsolatedCall) {
    super(call);
    const data = call.data as unknown as Data<ResponseContext> & { readonly headers: HeaderEntries };
    this.#call = call;
    this.#headers = new PlainHeaders(data.headers);
    this.provider = data.provider;
    this.model = data.model;
    this.status = data.status;
  }
  get headers(): ReadonlyHeaders {
    return this.#headers;
  }
  setStatus(status: number): void {
    this.status = status;
    record(this.#call, "setStatus", status);
  }
  setHeader(name: string, value: string): void {
    this.#headers.set(name, value);
    record(this.#call, "setHeader", name, value);
  }
  removeHeader(name: string): void {
    this.#headers.set(name, null);
    record(this.#call, "removeHeader", name);
  }
}

class IsolatedBodyContext extends BaseContext implements ResponseBodyContext {
  readonly #call: IsolatedCall;
  #chunk: Uint8Array;
  readonly provider: string;
  readonly model: string | null;
  readonly status: number;
  readonly isLast: boolean;

  constructor(call: IsolatedCall) {
    super(call);
    const data = call.data as unknown as Data<ResponseBodyContext>;
    this.#call = call;
    this.#chunk = call.bytes ?? new Uint8Array();
    this.provider = data.provider;
    this.model = data.model;
    this.status = data.status;
    this.isLast = data.isLast;
  }
  get chunk(): Uint8Array {
    return this.#chunk;
  }
  get text(): string {
    return new TextDecoder().decode(this.#chunk);
  }
  replaceChunk(chunk: string | Uint8Array): void {
    this.#chunk = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    record(this.#call, "replaceChunk", bytesArgument(this.#call, chunk));
  }
}

class IsolatedTextContext extends BaseContext implements ResponseTextContext {
  readonly #call: IsolatedCall;
  readonly #data: Data<ResponseTextContext>;

  constructor(call: IsolatedCall) {
    super(call);
    this.#call = call;
    this.#data = call.data as unknown as Data<ResponseTextContext>;
  }
  get provider() {
    return this.#data.provider;
  }
  get model() {
    return this.#data.model;
  }
  get status() {
    return this.#data.status;
  }
  get channel() {
    return this.#data.channel;
  }
  get text() {
    return this.#data.text;
  }
  /** They would be copied with each of them. */
  get texts() {
    return null;
  }
  get isLast() {
    return this.#data.isLast;
  }
  get isForced() {
    return this.#data.isForced;
  }
  release(length: number, replacement?: string): void {
    record(this.#call, "release", length, ...(replacement === undefined ? [] : [replacement]));
  }
  reject(rejection: TextRejection): void {
    record(this.#call, "reject", rejection);
  }
}

class IsolatedEndContext extends BaseContext implements EndContext {
  readonly status: EndContext["status"];
  readonly outcome: EndContext["outcome"];
  readonly provider: EndContext["provider"];
  readonly model: EndContext["model"];
  readonly attempts: EndContext["attempts"];
  readonly durationMs: EndContext["durationMs"];
  readonly firstByteMs: EndContext["firstByteMs"];
  readonly usage: EndContext["usage"];

  constructor(call: IsolatedCall) {
    super(call);
    const data = call.data as unknown as Data<EndContext>;
    this.status = data.status;
    this.outcome = data.outcome;
    this.provider = data.provider;
    this.model = data.model;
    this.attempts = data.attempts;
    this.durationMs = data.durationMs;
    this.firstByteMs = data.firstByteMs;
    this.usage = data.usage;
  }
}

const CONTEXTS = {
  pre_request: IsolatedRequestContext,
  post_request: IsolatedResponseContext,
  pre_response: IsolatedBodyContext,
  response_text: IsolatedTextContext,
  post_response: IsolatedEndContext,
} satisfies Record<IsolatedHook, new (call: IsolatedCall) => PluginContext>;

export function createContext(hook: IsolatedHook, call: IsolatedCall): PluginContext {
  return new CONTEXTS[hook](call);
}
