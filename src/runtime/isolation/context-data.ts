// Reads from the context of a hook what crosses the boundary with the call.
import { HOOKS, type HookContext } from "../../sdk/hook-table.ts";
import type { PluginContext, ReadonlyHeaders, RequestContext } from "../../sdk/index.ts";
import { abortServiceCall, callServiceFor } from "./isolated-services.ts";
import type { ContextData, IsolatedHook } from "./messages.ts";

export type IsolatedContexts = { readonly [Hook in IsolatedHook]: HookContext<Hook> };

interface CallData {
  readonly context: ContextData;
  /** The body of the request, or the chunk of the response; null if there is none. */
  readonly bytes: Uint8Array | null;
}

export function readContext<Hook extends IsolatedHook>(
  hook: Hook,
  context: IsolatedContexts[Hook],
): CallData {
  const row: { readonly fields: readonly string[]; readonly bytes: string | null } = HOOKS[hook].isolated;
  const data: Record<string, unknown> = { ...common(context) };
  for (const name of row.fields) {
    const value: unknown = Reflect.get(context, name);
    data[name] = isHeaders(value) ? [...value.entries()] : value;
  }
  if (row.bytes === null) return { context: data, bytes: null };
  const { bytes, problem } = bytesOf(context, row.bytes);
  return { context: { ...data, bytesProblem: problem }, bytes };
}

function isHeaders(value: unknown): value is ReadonlyHeaders {
  return typeof value === "object" && value !== null && "entries" in value;
}

function common(context: PluginContext): ContextData {
  const { requestId, gateway, rule, apiKey, protocol, tool, mcpItems, method, clientAddress } = context;
  return { requestId, gateway, rule, apiKey, protocol, tool, mcpItems, method, clientAddress };
}

/** The body of an upload cannot be read: the plugin gets the error of the context when it tries to. */
function bytesOf(context: object, field: string): { bytes: Uint8Array | null; problem: string | null } {
  try {
    return { bytes: Reflect.get(context, field) as Uint8Array | null, problem: null };
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
