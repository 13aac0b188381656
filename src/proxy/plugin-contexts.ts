// The contexts that plugins are given, over the Exchange: what they may read, and the few ways to change it.
import type {
  EndContext,
  PluginContext,
  PluginResponse,
  ReadonlyHeaders,
  RequestContext,
  ResponseBodyContext,
  ResponseContext,
} from "../sdk/index.ts";
import type { PluginRun } from "../telemetry/metrics/observed-plugin.ts";
import type { TargetResponse } from "./target-response.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import { forwardedHeaders } from "./header-filter.ts";
import { checkName, checkValue, pluginResponse } from "./plugin-response.ts";
import { setBody } from "./read-body.ts";

/** What a plugin context needs besides the Exchange. */
export interface ContextParts {
  readonly maxBodyBytes: number;
  readonly clientAddress: (exchange: Exchange) => string;
}

/** Whatever could be changed is private to the language, not only to the types: plugins may be plain JavaScript. */
class ExchangeContext implements PluginContext {
  readonly #exchange: Exchange;
  readonly #parts: ContextParts;
  readonly #notesKey: string;
  readonly #run: PluginRun;

  constructor(exchange: Exchange, notesKey: string, run: PluginRun, parts: ContextParts) {
    this.#exchange = exchange;
    this.#run = run;
    this.#parts = parts;
    this.#notesKey = notesKey;
  }

  get notes(): Map<string, unknown> {
    return this.#exchange.notesOf(this.#notesKey);
  }
  get requestId(): string {
    return this.#exchange.requestId;
  }
  get gateway(): PluginContext["gateway"] {
    const { id = "", gateway } = this.#exchange.gateway ?? {};
    return { id, name: gateway?.name ?? "" };
  }
  get rule(): PluginContext["rule"] {
    const { id = "", name = null, path = "" } = this.#exchange.rule?.rule ?? {};
    return { id, name, path };
  }
  get apiKey(): PluginContext["apiKey"] {
    const { apiKey } = this.#exchange;
    return apiKey === null ? null : { id: apiKey.id, name: apiKey.name };
  }
  get method(): string {
    return this.#exchange.method;
  }
  get clientAddress(): string {
    return this.#parts.clientAddress(this.#exchange);
  }
  count(event: string, kind = ""): void {
    if (typeof event !== "string" || event === "" || typeof kind !== "string")
      throw new Error("an event is a text that is not empty, and its kind a text");
    this.#run.count(event, kind);
  }
  setDetail(detail: string): void {
    if (typeof detail !== "string") throw new Error("the detail must be a string");
    this.#run.remark(detail);
  }
  /** Earlier name of setDetail. */
  remark(detail: string): void {
    this.setDetail(detail);
  }
}

export class ExchangeRequestContext extends ExchangeContext implements RequestContext {
  readonly #exchange: Exchange;
  readonly #maxBodyBytes: number;
  readonly #run: PluginRun;
  #answered: PluginResponse | null = null;

  constructor(exchange: Exchange, notesKey: string, run: PluginRun, parts: ContextParts) {
    super(exchange, notesKey, run, parts);
    this.#exchange = exchange;
    this.#run = run;
    this.#maxBodyBytes = parts.maxBodyBytes;
  }

  /** What the plugin answered instead of a provider, as a response; null where it did not. */
  response(): Response | null {
    if (this.#answered === null) return null;
    const response = pluginResponse(this.#answered, this.#exchange, this.#maxBodyBytes);
    this.#run.verdict = "answered";
    return response;
  }
  get path(): string {
    return this.#exchange.sentPath;
  }
  get query(): string {
    return this.#exchange.sentQuery;
  }
  get headers(): ReadonlyHeaders {
    return new HeadersView(this.#exchange.request.headers);
  }
  get forwardedHeaders(): ReadonlyHeaders {
    return new RecordHeaders(this.#forwarded());
  }
  /** A copy: what goes on is changed by replaceBody alone. */
  get body(): Uint8Array | null {
    return this.#exchange.body?.slice() ?? null;
  }
  get bodyText(): string | null {
    return this.#exchange.text();
  }
  get isJson(): boolean {
    return this.#exchange.isJson;
  }
  get json(): Readonly<Record<string, unknown>> | null {
    return this.#exchange.json;
  }

  setHeader(name: string, value: string): void {
    this.#forwarded()[checkName(name)] = checkValue(value);
    this.#run.verdict = "changed";
  }
  removeHeader(name: string): void {
    Reflect.deleteProperty(this.#forwarded(), checkName(name));
    this.#run.verdict = "changed";
  }
  setPath(path: string): void {
    if (!path.startsWith("/") || /[?#\s]/.test(path))
      throw new Error('a path starts with "/" and holds no blank, ? or #');
    this.#exchange.sentPath = path;
    this.#run.verdict = "changed";
  }
  setQuery(query: string): void {
    if (/[#\s]/.test(query)) throw new Error("a query holds no blank and no #");
    this.#exchange.sentQuery = query === "" || query.startsWith("?") ? query : `?${query}`;
    this.#run.verdict = "changed";
  }
  replaceBody(body: string | Uint8Array): void {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    if (!(bytes instanceof Uint8Array)) throw new Error("a body is a string or bytes");
    if (bytes.byteLength > this.#maxBodyBytes)
      throw new Error(`a body has at most ${this.#maxBodyBytes} bytes`);
    const before = this.#exchange.body;
    try {
      setBody(this.#exchange, bytes);
      this.#run.verdict = "changed";
    } catch (error) {
      // What cannot be sent must not stay: the request may go on without this plugin.
      if (before !== null) setBody(this.#exchange, before);
      throw error;
    }
  }
  setResponseHeader(name: string, value: string): void {
    checkName(name);
    this.#exchange.setResponseHeader(name, checkValue(value));
  }
  respond(answer: PluginResponse): void {
    if (!Number.isInteger(answer.status) || answer.status < 200 || answer.status > 599) {
      throw new Error("an answer needs a status from 200 to 599");
    }
    this.#answered = answer;
  }
  /** Earlier name of setResponseHeader. */
  setAnswerHeader(name: string, value: string): void {
    this.setResponseHeader(name, value);
  }
  /** Earlier name of respond. */
  answer(response: PluginResponse): void {
    this.respond(response);
  }

  #forwarded(): Record<string, string> {
    return (this.#exchange.sentHeaders ??= forwardedHeaders(this.#exchange.request.headers));
  }
}

export class ExchangeResponseContext extends ExchangeContext implements ResponseContext {
  #status: number;
  readonly #run: PluginRun;
  readonly #answer: TargetResponse;
  readonly #headers: Headers;

  constructor(
    exchange: Exchange,
    notesKey: string,
    run: PluginRun,
    parts: ContextParts,
    answer: TargetResponse,
    status: number,
    headers: Headers,
  ) {
    super(exchange, notesKey, run, parts);
    this.#run = run;
    this.#answer = answer;
    this.#status = status;
    this.#headers = headers;
  }

  get status(): number {
    return this.#status;
  }
  get provider(): string {
    return this.#answer.target.provider;
  }
  get model(): string | null {
    return this.#answer.model;
  }
  get headers(): ReadonlyHeaders {
    return new HeadersView(this.#headers);
  }
  setStatus(status: number): void {
    if (!Number.isInteger(status) || status < 200 || status > 599)
      throw new Error("a status is from 200 to 599");
    this.#status = status;
    this.#run.verdict = "changed";
  }
  setHeader(name: string, value: string): void {
    this.#headers.set(checkName(name), checkValue(value));
    this.#run.verdict = "changed";
  }
  removeHeader(name: string): void {
    this.#headers.delete(checkName(name));
    this.#run.verdict = "changed";
  }
}

const decoder = new TextDecoder();

export class ExchangeBodyContext extends ExchangeContext implements ResponseBodyContext {
  #chunk: Uint8Array;
  readonly #maxBodyBytes: number;
  readonly isLast: boolean;
  readonly status: number;
  readonly #run: PluginRun;
  readonly #answer: TargetResponse;

  constructor(
    exchange: Exchange,
    notesKey: string,
    run: PluginRun,
    parts: ContextParts,
    answer: TargetResponse,
    status: number,
    chunk: Uint8Array,
    isLast: boolean,
  ) {
    super(exchange, notesKey, run, parts);
    this.#run = run;
    this.#maxBodyBytes = parts.maxBodyBytes;
    this.#answer = answer;
    this.status = status;
    this.#chunk = chunk;
    this.isLast = isLast;
  }

  get chunk(): Uint8Array {
    return this.#chunk;
  }
  get provider(): string {
    return this.#answer.target.provider;
  }
  get model(): string | null {
    return this.#answer.model;
  }
  get text(): string {
    return decoder.decode(this.#chunk);
  }
  replaceChunk(chunk: string | Uint8Array): void {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) throw new Error("a chunk is a string or bytes");
    if (bytes.byteLength > this.#maxBodyBytes)
      throw new Error(`a chunk has at most ${this.#maxBodyBytes} bytes`);
    this.#chunk = bytes;
    this.#run.verdict = "changed";
  }
}

export class ExchangeEndContext extends ExchangeContext implements EndContext {
  readonly #exchange: Exchange;
  readonly #clientAddress: string;
  readonly status: number;
  readonly outcome: Outcome;
  readonly durationMs: number;

  constructor(
    exchange: Exchange,
    notesKey: string,
    run: PluginRun,
    parts: ContextParts,
    outcome: Outcome,
    status: number,
  ) {
    super(exchange, notesKey, run, parts);
    this.#exchange = exchange;
    // Asked now: when the hook gets to it, the connection may be gone.
    this.#clientAddress = parts.clientAddress(exchange);
    this.status = status;
    this.outcome = outcome;
    this.durationMs = performance.now() - exchange.startedAt;
  }

  override get clientAddress(): string {
    return this.#clientAddress;
  }
  get provider(): string | null {
    return this.#exchange.response?.target.provider ?? null;
  }
  get model(): string | null {
    return this.#exchange.response?.model ?? null;
  }
  get attempts(): number {
    return this.#exchange.attempts;
  }
  get usage(): EndContext["usage"] {
    return this.#exchange.usage;
  }
  get firstByteMs(): number | null {
    return this.#exchange.response?.firstByteMs ?? null;
  }
}

/** Headers without the methods that would change them. */
class HeadersView implements ReadonlyHeaders {
  readonly #headers: Headers;

  constructor(headers: Headers) {
    this.#headers = headers;
  }
  get(name: string): string | null {
    return this.#headers.get(name);
  }
  has(name: string): boolean {
    return this.#headers.has(name);
  }
  entries(): IterableIterator<[string, string]> {
    return this.#headers.entries();
  }
}

class RecordHeaders implements ReadonlyHeaders {
  readonly #record: Record<string, string>;

  constructor(record: Record<string, string>) {
    this.#record = record;
  }
  get(name: string): string | null {
    return this.#record[name.toLowerCase()] ?? null;
  }
  has(name: string): boolean {
    return this.get(name) !== null;
  }
  entries(): IterableIterator<[string, string]> {
    return Object.entries(this.#record)[Symbol.iterator]();
  }
}
