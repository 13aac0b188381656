// Calls one hook of a plugin: with a timeout, and with an isolated failure.
import { GatehouseError } from "../base/errors.ts";
import { isThenable, type ValueOrPromise } from "../base/value-or-promise.ts";
import { withTimeout } from "../base/with-timeout.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { HookContext, HookName } from "../sdk/hook-table.ts";
import { IsolateError } from "../runtime/isolation/isolate-error.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import { isShadowInstance } from "../snapshot/plugin-instances.ts";
import type { PluginCall } from "./plugin-call.ts";

const PLUGIN_TIMEOUT_MS = 5000;

type AnyHook<Hook extends HookName> = (context: HookContext<Hook>) => unknown;

/**
 * Returns the response that the plugin set, or null; also null if the plugin failed and the request continues without it. Most
 * hooks are synchronous: only the others cost a promise and a timer, and no call allocates a closure.
 */
export function callHook<Hook extends HookName>(
  call: PluginCall,
  hook: Hook,
  context: HookContext<Hook>,
): ValueOrPromise<OutgoingResponse | null> {
  const startedAt = call.exchange.clock.now();
  try {
    // Called as a method: hooks may use `this`.
    const result = (call.link.hooks as Record<Hook, AnyHook<Hook> | undefined>)[hook]?.(context);
    return isThenable(result) ? finishLater(result, call, startedAt) : finishCall(call, startedAt);
  } catch (error) {
    return failCall(error, call, startedAt);
  }
}

async function finishLater(
  result: PromiseLike<unknown>,
  call: PluginCall,
  startedAt: number,
): Promise<OutgoingResponse | null> {
  try {
    await withinTimeout(result, call);
    return finishCall(call, startedAt);
  } catch (error) {
    return failCall(error, call, startedAt);
  }
}

/** Rejects if the result of a hook takes too long. */
export function withinTimeout<T>(result: PromiseLike<T>, { exchange }: PluginCall): Promise<T> {
  return withTimeout(PLUGIN_TIMEOUT_MS, Promise.resolve(result), createTimeoutError, exchange.clock);
}

/** Throws if the plugin's response is invalid, which is a failure of the plugin like any other. */
export function finishCall(call: PluginCall, startedAt: number): OutgoingResponse | null {
  const { exchange, run, response } = call;
  let created: OutgoingResponse | null = null;
  if (response !== null) {
    created = call.createResponse(response);
    run.verdict = "answered";
  }
  run.ended(exchange.clock.now() - startedAt);
  call.endBodyView();
  return created;
}

/** Throws unless the request continues without the plugin. */
export function failCall(error: unknown, call: PluginCall, startedAt: number): null {
  const { exchange, link, stage, parts, run } = call;
  run.failed(error);
  run.ended(exchange.clock.now() - startedAt);
  parts.log.error({ request_id: exchange.requestId, plugin: link.name, err: error }, "plugin failed");
  if (stage === "post_response") return null;
  if (continuesAfter(error, link)) return null;
  if (isQuarantine(error)) throw error;
  throw new GatehouseError("plugin_failed", `The plugin ${link.name} failed.`, { cause: error });
}

/**
 * Whether a request continues without a plugin after this error. A guard must not be switched off by crashing it, nor by keeping it busy with
 * other requests: `on_error` decides about errors that its hooks throw, and not about hooks that its isolate did not run to their end. Shadow
 * mode never rejects.
 */
export function continuesAfter(error: unknown, link: ChainLink): boolean {
  if (!link.continuesOnError) return false;
  if (isQuarantine(error)) return isShadowInstance(link.instanceId);
  const hasNotRun =
    error instanceof IsolateError || (error instanceof HookTimeout && !(error instanceof DecisionTimeout));
  return !(link.isGuard && link.isolation !== "inline" && hasNotRun);
}

function isQuarantine(error: unknown): error is GatehouseError {
  return error instanceof GatehouseError && error.code === "plugin_quarantined";
}

export class HookTimeout extends Error {
  override readonly name = "HookTimeout";
}

/** The decision about a held response did not arrive: its hook has ended. */
export class DecisionTimeout extends HookTimeout {}

const createTimeoutError = () => new HookTimeout(`hook did not finish within ${PLUGIN_TIMEOUT_MS} ms`);
