// The context of pre_request hooks: reads and changes the request before it is sent to a provider.
import { requestTargetOf } from "../http/request-target.ts";
import {
  ServiceCallError,
  type PluginResponse,
  type ReadonlyHeaders,
  type RequestContext,
  type ServiceCallOptions,
  type ServiceRequest,
  type ServiceResponse,
  type ReportedLimit,
  type TokenLimitState,
} from "../sdk/index.ts";
import { clientCredentials } from "./client-credential.ts";
import { forwardedHeaders } from "./header-filter.ts";
import { decide } from "./held-decisions.ts";
import { HeadersView, NO_HEADERS, RecordHeaders } from "./header-views.ts";
import type { PluginCall } from "./plugin-call.ts";
import { CallContext } from "./plugin-context.ts";
import { PluginWork } from "./plugin-work.ts";
import {
  checkBytes,
  checkFieldName,
  checkHeaderName,
  checkHeaderValue,
  checkStatus,
  checkLimit,
} from "./plugin-values.ts";
import { RequestBody } from "./request-body.ts";
import { limitFieldsOf } from "./token-limit-headers.ts";
import { userKeyOf } from "./user-of.ts";

export class PreRequestContext extends CallContext implements RequestContext {
  readonly #call: PluginCall;

  constructor(call: PluginCall) {
    super(call);
    this.#call = call;
  }

  get path(): string {
    return this.#call.exchange.sentPath;
  }
  get query(): string {
    return this.#call.exchange.sentQuery;
  }
  get headers(): ReadonlyHeaders {
    return new HeadersView(this.#call.exchange.request.headers);
  }
  get forwardedHeaders(): ReadonlyHeaders {
    return new RecordHeaders(this.#sentHeaders());
  }
  get bodySize(): number {
    const { body, upload } = this.#call.exchange;
    return body?.bytes.length ?? upload?.length ?? 0;
  }
  get forwardedCredentials(): ReadonlyHeaders {
    const { exchange, parts } = this.#call;
    const targets = exchange.rule?.upstream.targets ?? [];
    if (targets.every(({ hasCredential }) => hasCredential)) return NO_HEADERS;
    return new RecordHeaders(
      Object.fromEntries(clientCredentials(exchange.request.headers, parts.ownCredentials)),
    );
  }
  /** Returns a copy: only replaceBody changes the body that is sent. Not slice(), which returns a view of a Buffer. */
  get body(): Uint8Array | null {
    const body = this.#wholeBody();
    return body === null ? null : new Uint8Array(body.bytes);
  }
  get bodyView(): Uint8Array | null {
    return this.#wholeBody() === null ? null : this.#call.viewBody();
  }
  get bodyText(): string | null {
    return this.#wholeBody()?.text ?? null;
  }
  get isJson(): boolean {
    return this.#call.exchange.body?.isJson ?? false;
  }
  get bodyUser(): string | null {
    return this.#call.exchange.fields.user;
  }
  get userKey(): string {
    return userKeyOf(this.#call.exchange);
  }
  get conversationKey(): string | null {
    const { exchange, link } = this.#call;
    return exchange.mcp?.conversationKey?.(link.name) ?? null;
  }
  get callNotes(): Map<string, unknown> {
    const { exchange, link } = this.#call;
    return (exchange.mcp?.askedBy ?? exchange).notesOf(link.notesKey);
  }
  get requestedModel(): string | null {
    return this.#call.exchange.fields.model;
  }
  get json(): Readonly<Record<string, unknown>> | null {
    return this.#call.readableBody()?.json ?? null;
  }

  setHeader(name: string, value: string): void {
    const [lower, checked] = [checkHeaderName(name), checkHeaderValue(value)];
    this.#changedHeaders()[lower] = checked;
    this.#call.run.verdict = "changed";
  }
  removeHeader(name: string): void {
    const lower = checkHeaderName(name);
    Reflect.deleteProperty(this.#changedHeaders(), lower);
    this.#call.run.verdict = "changed";
  }
  setPath(path: string): void {
    if (!path.startsWith("/") || /[?#\s]/.test(path))
      throw new Error('a path must start with "/" and must not contain whitespace, "?", or "#"');
    const target = requestTargetOf(path);
    if (target.path !== path || target.pathProblem !== null)
      throw new Error(`a path must not contain dot segments or backslashes, also not encoded: "${path}"`);
    this.#call.changedExchange().sentPath = path;
    this.#call.run.verdict = "changed";
  }
  setQuery(query: string): void {
    if (/[#\s]/.test(query)) throw new Error('a query must not contain whitespace or "#"');
    this.#call.changedExchange().sentQuery = query === "" || query.startsWith("?") ? query : `?${query}`;
    this.#call.run.verdict = "changed";
  }
  replaceBody(body: string | Uint8Array): void {
    const { parts, run } = this.#call;
    const bytes = checkBytes("a body", body, parts.maxBodyBytes);
    const exchange = this.#call.changedExchange();
    exchange.upload = null;
    exchange.setBody(
      exchange.body?.replacedBy(bytes) ??
        RequestBody.scan({ bytes, isJson: false, contentType: null, isTraced: false }),
    );
    run.verdict = "changed";
  }
  setResponseHeader(name: string, value: string): void {
    this.#call.setResponseHeader(checkFieldName(name), checkHeaderValue(value));
  }
  reportLimit(state: ReportedLimit): void {
    this.#call.reportLimit(limitFieldsOf(state.name), checkLimit(state));
  }
  reportTokenLimit(state: TokenLimitState): void {
    this.#call.reportTokenLimit(
      state.name === undefined ? null : limitFieldsOf(state.name),
      checkLimit(state),
    );
  }
  respond(response: PluginResponse): void {
    checkStatus(response.status);
    this.#call.response = response;
  }
  callService(
    service: string,
    request: ServiceRequest,
    options: ServiceCallOptions = {},
  ): Promise<ServiceResponse> {
    const { callService } = this.#call.parts;
    if (callService === null)
      return Promise.reject(new ServiceCallError("explaining", "an explanation calls no service"));
    // The call is kept in it.
    this.#call.changedExchange();
    return callService(this.#call, service, request, options);
  }
  holdResponse(decision: Promise<PluginResponse | null>): void {
    PluginWork.of(this.#call.changedExchange()).hold(decide(this.#call, Promise.resolve(decision)));
  }
  /** Earlier name of setResponseHeader. */
  setAnswerHeader(name: string, value: string): void {
    this.setResponseHeader(name, value);
  }
  /** Earlier name of respond. */
  answer(response: PluginResponse): void {
    this.respond(response);
  }

  /** Throws for an upload, which would otherwise look like a request without a body. */
  #wholeBody(): RequestBody | null {
    const { body, upload } = this.#call.exchange;
    if (upload !== null)
      throw new Error('the body is forwarded while it arrives; declare needs: ["body"] to read it');
    return body;
  }

  #sentHeaders(): Record<string, string> {
    const { exchange, parts } = this.#call;
    return (exchange.sentHeaders ??= forwardedHeaders(exchange.request.headers, parts.ownCredentials));
  }

  #changedHeaders(): Record<string, string> {
    this.#call.changedExchange();
    return this.#sentHeaders();
  }
}
