// Reads from the context of a hook what crosses the boundary with the call.
import type {
  EndContext,
  PluginContext,
  ReadonlyHeaders,
  RequestContext,
  ResponseBodyContext,
  ResponseContext,
  ResponseTextContext,
} from "../../sdk/index.ts";
import { abortServiceCall, callServiceFor } from "./isolated-services.ts";
import type { ContextData, IsolatedHook } from "./messages.ts";

export interface IsolatedContexts {
  pre_request: RequestContext;
  post_request: ResponseContext;
  pre_response: ResponseBodyContext;
  response_text: ResponseTextContext;
  post_response: EndContext;
}

interface CallData {
  readonly context: ContextData;
  /** The body of the request, or the chunk of the response; null if there is none. */
  readonly bytes: Uint8Array | null;
}

type Readers = { readonly [Hook in IsolatedHook]: (context: IsolatedContexts[Hook]) => CallData };

const READERS: Readers = {
  pre_request: (context) => {
    const { bytes, problem } = bodyOf(context);
    const { path, query, bodySize, isJson, bodyUser, requestedModel } = context;
    const body = { bodySize, bodyProblem: problem, isJson, bodyUser, requestedModel };
    const headers = [...context.headers.entries()];
    return { context: { ...common(context), path, query, headers, ...body }, bytes };
  },
  post_request: (context) => {
    const { provider, model, status } = context;
    const headers = [...context.headers.entries()];
    return { context: { ...common(context), provider, model, status, headers }, bytes: null };
  },
  pre_response: (context) => {
    const { provider, model, status, isLast, chunk } = context;
    return { context: { ...common(context), provider, model, status, isLast }, bytes: chunk };
  },
  response_text: (context) => {
    const { provider, model, status, channel, text, isLast, isForced } = context;
    const fields = { provider, model, status, channel, text, isLast, isForced };
    return { context: { ...common(context), ...fields }, bytes: null };
  },
  post_response: (context) => {
    const { status, outcome, provider, model, attempts, durationMs, firstByteMs, usage } = context;
    const fields = { status, outcome, provider, model, attempts, durationMs, firstByteMs, usage };
    return { context: { ...common(context), ...fields }, bytes: null };
  },
};

export function readContext<Hook extends IsolatedHook>(
  hook: Hook,
  context: IsolatedContexts[Hook],
): CallData {
  return READERS[hook](context);
}

function common(context: PluginContext): ContextData {
  const { requestId, gateway, rule, apiKey, protocol, tool, mcpItems, method, clientAddress } = context;
  return { requestId, gateway, rule, apiKey, protocol, tool, mcpItems, method, clientAddress };
}

/** The body of an upload cannot be read: the plugin gets the error of the context when it tries to. */
function bodyOf(context: RequestContext): { bytes: Uint8Array | null; problem: string | null } {
  try {
    return { bytes: context.bodyView, problem: null };
  } catch (error) {
    return { bytes: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** What a plugin may ask of the context of a running call. Everything else has crossed the boundary with the call. */
export function askContext(
  context: PluginContext & Partial<RequestContext>,
  method: string,
  args: readonly unknown[],
): unknown {
  const [name, ...rest] = args;
  if (method === "callService" && hasServices(context)) return callServiceFor(context, name, rest);
  if (method === "abortServiceCall") {
    abortServiceCall(context, name);
    return null;
  }
  if (method === "apiKeyLabel") return context.apiKeyLabel(String(name));
  if (method === "userKey") return context.userKey;
  if (method === "conversationKey") return context.conversationKey;
  if (method === "toolArguments") return context.tool?.arguments;
  if (method === "forwardedHeaders") return entriesOf(context.forwardedHeaders);
  if (method === "forwardedCredentials") return entriesOf(context.forwardedCredentials);
  throw new Error(`${method} is not available to isolated plugins`);
}

function hasServices(context: Partial<RequestContext>): context is Pick<RequestContext, "callService"> {
  return context.callService !== undefined;
}

function entriesOf(headers: ReadonlyHeaders | undefined): [string, string][] {
  return [...(headers?.entries() ?? [])];
}
