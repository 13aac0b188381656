// The request of a plugin under test: the context that its hooks get, and what they have changed.
/* eslint-disable @typescript-eslint/no-deprecated -- the contexts here implement the deprecated names as well */
import type {
  PluginContext,
  PluginResponse,
  ReportedLimit,
  RequestContext,
  TokenLimitState,
} from "./contexts.ts";
import { bodyText, objectIn, parseJson, textIn, userKeyOf } from "./test-body.ts";
import type { TestEstimate } from "./testing-claims.ts";
import type { TestedServices, TestServices } from "./testing-services.ts";

/** A client request. Every field has a default. */
export interface TestRequest {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly forwardedCredentials?: Readonly<Record<string, string>>;
  /** A string is sent unchanged; any other value is sent as JSON. */
  readonly body?: unknown;
  readonly clientAddress?: string;
  readonly apiKey?: PluginContext["apiKey"];
  /** The labels of the API key. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The tool that the request calls; without it, the request is none to an MCP server. */
  readonly tool?: PluginContext["tool"];
  /** The prompts and resources that the request uses; without them and a tool, the request is none to an MCP server. */
  readonly mcpItems?: PluginContext["mcpItems"];
  /** Without it, the request has no such key. */
  readonly conversationKey?: RequestContext["conversationKey"];
  /** What `estimateTokens` of a claims hook returns. */
  readonly estimate?: TestEstimate;
  /** What services of the gateway return to `callService`, by name. */
  readonly services?: TestServices;
}

/** The request after the hook ran, and the response that the plugin gave, if any. */
export interface TestedRequest {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly response: PluginResponse | null;
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** @deprecated Use `response`. */
  readonly answer: PluginResponse | null;
  /** @deprecated Use `responseHeaders`. */
  readonly answerHeaders: Readonly<Record<string, string>>;
}

/** `base` includes the services that the hooks may call. */
export function requestContext(
  base: PluginContext & TestedServices["methods"],
  request: TestRequest,
): { context: RequestContext; result: () => TestedRequest } {
  const [headers, forwarded] = [new Headers({ ...request.headers }), new Headers({ ...request.headers })];
  const responseHeaders: Record<string, string> = {};
  let { path = "/v1/chat/completions", query = "" } = request;
  let [body, response]: [string | null, PluginResponse | null] = [bodyText(request.body), null];
  const setResponseHeader = (name: string, value: string) => void (responseHeaders[name] = value);
  const respond = (given: PluginResponse) => void (response = given);
  const context: RequestContext = {
    ...base,
    get path() {
      return path;
    },
    get query() {
      return query;
    },
    headers,
    forwardedHeaders: forwarded,
    get bodySize() {
      return Buffer.byteLength(body ?? "");
    },
    get body() {
      return body === null ? null : Buffer.from(body);
    },
    get bodyView() {
      return this.body;
    },
    get bodyText() {
      return body;
    },
    get isJson() {
      return parseJson(body) !== undefined;
    },
    get bodyUser() {
      return textIn(objectIn(body), "user");
    },
    ...clientOf(base, request, userKeyOf(base, headers, body)),
    get requestedModel() {
      return textIn(objectIn(body), "model");
    },
    get json() {
      return objectIn(body);
    },
    setHeader: (name, value) => forwarded.set(name, value),
    removeHeader: (name) => forwarded.delete(name),
    setPath: (next) => (path = next),
    setQuery: (next) => (query = next),
    replaceBody: (next) => (body = typeof next === "string" ? next : Buffer.from(next).toString()),
    setResponseHeader,
    ...limitReports(setResponseHeader),
    respond,
    setAnswerHeader: setResponseHeader,
    answer: respond,
  };
  const sent = () => ({ path, query, headers: Object.fromEntries(forwarded), body });
  return { context, result: () => ({ ...sent(), ...withEarlierNames(response, responseHeaders) }) };
}

function clientOf(
  { notes }: PluginContext,
  { forwardedCredentials, conversationKey = null }: TestRequest,
  userKey: string,
): Pick<RequestContext, "forwardedCredentials" | "userKey" | "conversationKey" | "callNotes"> {
  const credentials = new Headers({ ...forwardedCredentials });
  return { forwardedCredentials: credentials, userKey, conversationKey, callNotes: notes };
}

function limitReports(
  setResponseHeader: (name: string, value: string) => void,
): Pick<RequestContext, "reportLimit" | "reportTokenLimit"> {
  const reportLimit = ({ name, limit, remaining, resetAt }: ReportedLimit) => {
    setResponseHeader(`X-RateLimit-${name}-Limit`, String(limit));
    setResponseHeader(`X-RateLimit-${name}-Remaining`, String(remaining));
    setResponseHeader(`X-RateLimit-${name}-Reset`, String(resetAt));
  };
  const reportTokenLimit = ({ name, ...numbers }: TokenLimitState) => {
    setResponseHeader("x-ratelimit-remaining-tokens", String(numbers.remaining));
    if (name !== undefined) reportLimit({ name, ...numbers });
  };
  return { reportLimit, reportTokenLimit };
}

function withEarlierNames(
  response: PluginResponse | null,
  responseHeaders: Readonly<Record<string, string>>,
): Pick<TestedRequest, "response" | "responseHeaders" | "answer" | "answerHeaders"> {
  return { response, responseHeaders, answer: response, answerHeaders: responseHeaders };
}
