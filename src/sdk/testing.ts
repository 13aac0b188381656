// Test harness for plugin authors: runs a plugin's hooks without a server.
// `import { testPlugin } from "gatehouse/sdk/testing"`.
/* eslint-disable @typescript-eslint/no-deprecated -- the contexts here implement the deprecated names as well */
import type { BeforeBodyContext } from "./claims.ts";
import type { EndContext, PluginContext, ResponseBodyContext, ResponseContext } from "./contexts.ts";
import type { HOOKS, SupportedHook } from "./hook-table.ts";
import type { PluginDefinition, PluginHooks } from "./plugin.ts";
import { testHost } from "./test-host.ts";
import { TestClaims } from "./testing-claims.ts";
import { runFinalRequest, type TestedFinalRequest, type TestFinalRequest } from "./testing-final.ts";
import { requestContext, type TestedRequest, type TestRequest } from "./testing-request.ts";
import { TestedServices, withServices } from "./testing-services.ts";
import { runResponseText, type TestedText, type TestText } from "./testing-texts.ts";
import { whenReady } from "./when-ready.ts";

export type { TestEstimate } from "./testing-claims.ts";
export type { TestedFinalRequest, TestFinalRequest } from "./testing-final.ts";
export type { TestedRequest, TestRequest } from "./testing-request.ts";
export type { TestedText, TestText } from "./testing-texts.ts";

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
  /** Calls `before_body`: the body is still arriving, so the hook sees none. */
  beforeBody(request?: TestRequest): TestedRequest;
  /** Reserves the claims of the request, then calls `pre_request`, and waits for what it passes to `holdResponse`. */
  preRequest(request?: TestRequest): Promise<TestedRequest>;
  /**
   * Calls `final_request`. If the hook calls `reuse`, the response is kept, or an earlier one is used, as in the gateway; requests do not
   * wait for each other. Time is that of `Date.now()`.
   */
  finalRequest(request?: TestFinalRequest): Promise<TestedFinalRequest>;
  postRequest(
    response?: TestResponse,
  ): Promise<{ status: number; headers: Readonly<Record<string, string>> }>;
  /** Returns the chunks that the client would receive. `isLast` is true for the last chunk. */
  preResponse(chunks: readonly string[], response?: TestResponse): Promise<string[]>;
  /**
   * Calls `response_text` with the pieces of a streamed text; one piece is a text that is not streamed. `hold` of the definition limits the
   * characters that are held back, but not the time.
   */
  responseText(pieces: readonly string[], text?: TestText): Promise<TestedText>;
  /** Settles the claims of the last request with `usage`, or releases them if there was no attempt. */
  postResponse(end?: Partial<EndContext>): Promise<void>;
  /** Calls `stop`, as a stopping process does. */
  stop(): Promise<void>;
}

/** The methods that call hooks, by the table of hooks. */
type HarnessMethod = (typeof HOOKS)[SupportedHook<"harness">]["harness"]["method"];

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
  const tested = {
    counted,
    details,
    remarks: details,
    beforeBody(request = {}) {
      const { context, result } = requestContext(withServices(base(request)), {
        ...request,
        body: undefined,
      });
      hooks.before_body?.(Object.create(context, { runsModel: { value: true } }) as BeforeBodyContext);
      return result();
    },
    preRequest: (request = {}) => runPreRequest(hooks, claims, base(request), request),
    finalRequest: (request = {}) => runFinalRequest(hooks, base(request), request),
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
    responseText: (pieces, text = {}) => runResponseText(definition, hooks, base({}), pieces, text),
    async postResponse(end = {}) {
      const context = endContext(base({}), end);
      claims.end(context);
      await hooks.post_response?.(context);
    },
    async stop() {
      await hooks.stop?.();
    },
  } satisfies PluginTest & Record<HarnessMethod, unknown>;
  return tested;
}

async function runPreRequest(
  hooks: PluginHooks,
  claims: TestClaims,
  base: PluginContext,
  request: TestRequest,
): Promise<TestedRequest> {
  const services = new TestedServices(request.services ?? {});
  const { context, result } = requestContext({ ...base, ...services.methods }, request);
  await claims.reserve(hooks, context, request.estimate ?? {});
  if (result().response === null) await hooks.pre_request?.(context);
  const decided = await services.decided();
  if (result().response === null && decided !== null) context.respond(decided);
  return result();
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
    protocol: request.tool === undefined && request.mcpItems === undefined ? "http" : "mcp",
    tool: request.tool ?? null,
    mcpItems: request.mcpItems ?? [],
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

function endContext(base: PluginContext, end: Partial<EndContext>): EndContext {
  return {
    ...base,
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
}
