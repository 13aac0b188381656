// Test harness for plugin authors: runs a plugin's hooks without a server.
// `import { testPlugin } from "gatehouse/sdk/testing"`.
/* eslint-disable @typescript-eslint/no-deprecated -- the contexts here implement the deprecated names as well */
import type {
  EndContext,
  PluginContext,
  PluginResponse,
  RequestContext,
  ResponseBodyContext,
  ResponseContext,
} from "./contexts.ts";
import type { PluginDefinition } from "./plugin.ts";
import { bodyText, objectIn, parseJson, textIn, userKeyOf } from "./test-body.ts";
import { testHost } from "./test-host.ts";
import { TestClaims, type TestEstimate } from "./testing-claims.ts";
import { whenReady } from "./when-ready.ts";

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
  /** What `estimateTokens` of a claims hook returns. */
  readonly estimate?: TestEstimate;
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

/** A provider's response. Every field has a default. */
export interface TestResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly provider?: string;
  readonly model?: string | null;
}

/** @deprecated Use `TestResponse`. */
export type TestAnswer = TestResponse;

export interface PluginTest {
  /** Events that the plugin has counted so far: `count("refused", "per_ip")` twice is `{ "refused per_ip": 2 }`. */
  readonly counted: Readonly<Record<string, number>>;
  /** Texts that the plugin has passed to `setDetail` so far. */
  readonly details: readonly string[];
  /** @deprecated Use `details`. */
  readonly remarks: readonly string[];
  /** Reserves the claims of the request, then calls `pre_request`. */
  preRequest(request?: TestRequest): Promise<TestedRequest>;
  postRequest(
    response?: TestResponse,
  ): Promise<{ status: number; headers: Readonly<Record<string, string>> }>;
  /** Returns the chunks that the client would receive. `isLast` is true for the last chunk. */
  preResponse(chunks: readonly string[], response?: TestResponse): Promise<string[]>;
  /** Settles the claims of the last request with `usage`, or releases them if there was no attempt. */
  postResponse(end?: Partial<EndContext>): Promise<void>;
}

/** Creates the plugin as the gateway does: validates the settings, then calls create(). Throws the error of either. */
export function testPlugin<Settings>(
  definition: PluginDefinition<Settings>,
  settings: Readonly<Record<string, unknown>> = {},
): PluginTest {
  const claims = new TestClaims();
  const hooks = whenReady(definition.create(definition.settings.parse(settings), testHost(claims.ledger)));
  const counted: Record<string, number> = {};
  const details: string[] = [];
  const base = contextFactory(counted, details);
  return {
    counted,
    details,
    remarks: details,
    async preRequest(request = {}) {
      const { context, result } = requestContext(base(request), request);
      await claims.reserve(hooks, context, request.estimate ?? {});
      if (result().response === null) await hooks.pre_request?.(context);
      return result();
    },
    async postRequest(response = {}) {
      const { context, result } = responseContext(base({}), response);
      await hooks.post_request?.(context);
      return result();
    },
    async preResponse(chunks, response = {}) {
      const sent: string[] = [];
      for (const [index, text] of chunks.entries()) {
        const isLast = index === chunks.length - 1;
        const context = responseBodyContext(base({}), response, text, isLast);
        await hooks.pre_response?.(context);
        sent.push(context.text);
      }
      return sent;
    },
    async postResponse(end = {}) {
      const context: EndContext = {
        ...base({}),
        status: 200,
        outcome: "complete",
        provider: "test",
        model: null,
        durationMs: 1,
        firstByteMs: 1,
        attempts: 1,
        usage: null,
        ...end,
      };
      claims.end(context);
      await hooks.post_response?.(context);
    },
  };
}

/** Returns a function that creates the part of a context that all stages share. `notes` are kept across calls. */
function contextFactory(
  counted: Record<string, number>,
  details: string[],
): (request: TestRequest) => PluginContext {
  const notes = new Map<string, unknown>();
  const setDetail = (detail: string) => void details.push(detail);
  return (request) => ({
    requestId: "test-request",
    gateway: { id: "test-gateway", name: "test" },
    rule: { id: "test-rule", name: null, path: request.path ?? "/v1/chat/completions" },
    apiKey: request.apiKey ?? null,
    apiKeyLabel: (name) => request.labels?.[name] ?? null,
    method: request.method ?? "POST",
    clientAddress: request.clientAddress ?? "127.0.0.1",
    notes,
    count(event, kind = "", amount = 1) {
      const name = `${event} ${kind}`.trim();
      counted[name] = (counted[name] ?? 0) + amount;
    },
    setDetail,
    remark: setDetail,
  });
}

function requestContext(
  base: PluginContext,
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
    forwardedCredentials: new Headers({ ...request.forwardedCredentials }),
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
    userKey: userKeyOf(base, headers, body),
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
    reportTokenLimit: ({ remaining }) => setResponseHeader("x-ratelimit-remaining-tokens", String(remaining)),
    respond,
    setAnswerHeader: setResponseHeader,
    answer: respond,
  };
  const sent = () => ({ path, query, headers: Object.fromEntries(forwarded), body });
  return { context, result: () => ({ ...sent(), ...withEarlierNames(response, responseHeaders) }) };
}

function responseContext(
  base: PluginContext,
  { provider = "test", model = null, ...response }: TestResponse,
): { context: ResponseContext; result: () => { status: number; headers: Record<string, string> } } {
  const headers = new Headers({ ...response.headers });
  let status = response.status ?? 200;
  const context: ResponseContext = {
    ...base,
    provider,
    model,
    get status() {
      return status;
    },
    headers,
    setStatus: (next) => (status = next),
    setHeader: (name, value) => headers.set(name, value),
    removeHeader: (name) => headers.delete(name),
  };
  return { context, result: () => ({ status, headers: Object.fromEntries(headers) }) };
}

function responseBodyContext(
  base: PluginContext,
  { status = 200, provider = "test", model = null }: TestResponse,
  text: string,
  isLast: boolean,
): ResponseBodyContext {
  let chunk: Uint8Array = Buffer.from(text);
  return {
    ...base,
    provider,
    model,
    status,
    isLast,
    get chunk() {
      return chunk;
    },
    get text() {
      return Buffer.from(chunk).toString();
    },
    replaceChunk: (next) => (chunk = typeof next === "string" ? Buffer.from(next) : next),
  };
}

function withEarlierNames(
  response: PluginResponse | null,
  responseHeaders: Readonly<Record<string, string>>,
): Pick<TestedRequest, "response" | "responseHeaders" | "answer" | "answerHeaders"> {
  return { response, responseHeaders, answer: response, answerHeaders: responseHeaders };
}
