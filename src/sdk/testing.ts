// A harness for plugin authors: runs a plugin's hooks without a server. `import { testPlugin } from "gatehouse/sdk/testing"`.
import type { Decision } from "../counters/counters.ts";
import type {
  AnswerContext,
  BodyContext,
  EndContext,
  PluginAnswer,
  PluginContext,
  RequestContext,
} from "./contexts.ts";
import type { PluginHost } from "./host.ts";
import { whenReady } from "./when-ready.ts";
import type { PluginDefinition } from "./plugin.ts";

/** A request as a test writes it; everything has a default. */
export interface TestRequest {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly clientAddress?: string;
  readonly apiKey?: PluginContext["apiKey"];
}

/** What the request looks like after the hook, and what the plugin said. */
export interface TestedRequest {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly answer: PluginAnswer | null;
  readonly answerHeaders: Readonly<Record<string, string>>;
}

export interface TestAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly provider?: string;
  readonly model?: string | null;
}

export interface PluginTest {
  /** What the plugin has counted so far: `refused per_ip` twice is `{ "refused per_ip": 2 }`. */
  readonly counted: Readonly<Record<string, number>>;
  readonly remarks: readonly string[];
  preRequest(request?: TestRequest): Promise<TestedRequest>;
  postRequest(answer?: TestAnswer): Promise<{ status: number; headers: Readonly<Record<string, string>> }>;
  /** The chunks as the client would get them; the last call is made with `isLast`. */
  preResponse(chunks: readonly string[], answer?: TestAnswer): Promise<string[]>;
  postResponse(end?: Partial<EndContext>): Promise<void>;
}

/** Makes the plugin as the gateway would: settings judged by its schema, then create(). Throws what either throws. */
export function testPlugin<Settings>(
  definition: PluginDefinition<Settings>,
  settings: Readonly<Record<string, unknown>> = {},
): PluginTest {
  const hooks = whenReady(definition.create(definition.settings.parse(settings), testHost()));
  const notes = new Map<string, unknown>();
  const counted: Record<string, number> = {};
  const remarks: string[] = [];
  const common = (request: TestRequest = {}): PluginContext => ({
    requestId: "test-request",
    gateway: { id: "test-gateway", name: "test" },
    rule: { id: "test-rule", name: null, path: request.path ?? "/v1/chat/completions" },
    apiKey: request.apiKey ?? null,
    method: request.method ?? "POST",
    clientAddress: request.clientAddress ?? "127.0.0.1",
    notes,
    count(event, kind = "") {
      const name = `${event} ${kind}`.trim();
      counted[name] = (counted[name] ?? 0) + 1;
    },
    remark: (detail) => void remarks.push(detail),
  });
  return {
    counted,
    remarks,
    async preRequest(request = {}) {
      const { context, result } = requestContext(common(request), request);
      await hooks.pre_request?.(context);
      return result();
    },
    async postRequest(answer = {}) {
      const headers = new Headers({ ...answer.headers });
      let status = answer.status ?? 200;
      const context: AnswerContext = {
        ...common(),
        ...answerFields(answer),
        get status() {
          return status;
        },
        headers: headers,
        setStatus: (next) => (status = next),
        setHeader: (name, value) => headers.set(name, value),
        removeHeader: (name) => headers.delete(name),
      };
      await hooks.post_request?.(context);
      return { status, headers: Object.fromEntries(headers) };
    },
    async preResponse(chunks, answer = {}) {
      const out: string[] = [];
      for (const [index, text] of chunks.entries()) {
        let chunk: Uint8Array = Buffer.from(text);
        const context: BodyContext = {
          ...common(),
          ...answerFields(answer),
          status: answer.status ?? 200,
          get chunk() {
            return chunk;
          },
          get text() {
            return Buffer.from(chunk).toString();
          },
          isLast: index === chunks.length - 1,
          replaceChunk: (next) => (chunk = typeof next === "string" ? Buffer.from(next) : next),
        };
        await hooks.pre_response?.(context);
        out.push(Buffer.from(chunk).toString());
      }
      return out;
    },
    async postResponse(end = {}) {
      const timing = { durationMs: 1, firstByteMs: 1, attempts: 1, usage: null };
      const told = { status: 200, outcome: "complete" as const, provider: "test", model: null };
      await hooks.post_response?.({ ...common(), ...told, ...timing, ...end });
    },
  };
}

function answerFields({ provider = "test", model = null }: TestAnswer): {
  provider: string;
  model: string | null;
} {
  return { provider, model };
}

function requestContext(
  base: PluginContext,
  request: TestRequest,
): { context: RequestContext; result: () => TestedRequest } {
  const given = new Headers({ ...request.headers });
  const forwarded = new Headers(given);
  const answerHeaders: Record<string, string> = {};
  let { path = "/v1/chat/completions", query = "" } = request;
  let body: string | null = null;
  if (request.body !== undefined)
    body = typeof request.body === "string" ? request.body : JSON.stringify(request.body);
  let answer: PluginAnswer | null = null;
  const parsed = () => parseJson(body);
  const context: RequestContext = {
    ...base,
    get path() {
      return path;
    },
    get query() {
      return query;
    },
    headers: given,
    forwardedHeaders: forwarded,
    get body() {
      return body === null ? null : Buffer.from(body);
    },
    get bodyText() {
      return body;
    },
    get isJson() {
      return parsed() !== undefined;
    },
    get json() {
      const value = parsed();
      return typeof value === "object" && value !== null && !Array.isArray(value)
        ? (value as Record<string, unknown>)
        : null;
    },
    setHeader: (name, value) => forwarded.set(name, value),
    removeHeader: (name) => forwarded.delete(name),
    setPath: (next) => (path = next),
    setQuery: (next) => (query = next),
    replaceBody: (next) => (body = typeof next === "string" ? next : Buffer.from(next).toString()),
    setAnswerHeader: (name, value) => (answerHeaders[name] = value),
    answer: (next) => (answer = next),
  };
  const result = () => ({ path, query, headers: Object.fromEntries(forwarded), body, answer, answerHeaders });
  return { context, result };
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** Counters that admit everything, blocks and memory of its own: what a plugin keeps stays within its test. */
function testHost(): PluginHost {
  const kept = new Map<string, unknown>();
  const blocks = new Set<string>();
  const open: Decision = { admitted: true, refusedBy: -1, states: [], source: "open" };
  return {
    instanceId: "test-gateway/test/0",
    isExplaining: false,
    counters: {
      admit: () => open,
      peek: () => open,
      clear: () => undefined,
      state: { state: "none" },
      close: () => Promise.resolve(),
    },
    blocks: {
      has: (type, subject) => blocks.has(`${type}:${subject}`),
      add: ({ type, subject }) => void blocks.add(`${type}:${subject}`),
    },
    keep: <T>(name: string, make: () => T): T => {
      if (!kept.has(name)) kept.set(name, make());
      return kept.get(name) as T;
    },
    log: () => undefined,
  };
}
