// Delays the hooks of a plugin that must load something first until its `ready` promise settles.
import type { ClaimContext } from "./claims.ts";
import type { EndContext, RequestContext, ResponseBodyContext, ResponseContext } from "./contexts.ts";
import type { PluginHooks } from "./plugin.ts";
import type { FinalRequestContext } from "./reuse.ts";
import type { ResponseTextContext } from "./texts.ts";

/** Returns hooks that wait for `hooks.ready` before they run, and that reject if it rejects. */
export function whenReady(hooks: PluginHooks): PluginHooks {
  if (hooks.ready === undefined) return hooks;
  const ready = Promise.resolve(hooks.ready);
  let isReady = false;
  // Callers of the hooks see a rejection; without a caller it must not become an unhandled rejection.
  ready.then(
    () => (isReady = true),
    () => undefined,
  );
  const delayed =
    <Context, Result>(hook: (context: Context) => Result | Promise<Result>) =>
    (context: Context) =>
      isReady ? hook(context) : ready.then(() => hook(context));
  const has = (stage: keyof PluginHooks) => typeof hooks[stage] === "function";
  return {
    ready,
    ...(has("claims") && {
      claims: delayed((context: ClaimContext) => hooks.claims?.(context) ?? null),
    }),
    ...(has("pre_request") && {
      pre_request: delayed((context: RequestContext) => hooks.pre_request?.(context)),
    }),
    ...(has("final_request") && {
      final_request: delayed((context: FinalRequestContext) => hooks.final_request?.(context)),
    }),
    ...(has("post_request") && {
      post_request: delayed((context: ResponseContext) => hooks.post_request?.(context)),
    }),
    ...(has("pre_response") && {
      pre_response: delayed((context: ResponseBodyContext) => hooks.pre_response?.(context)),
    }),
    ...(has("response_text") && {
      response_text: delayed((context: ResponseTextContext) => hooks.response_text?.(context)),
    }),
    ...(has("post_response") && {
      post_response: delayed((context: EndContext) => hooks.post_response?.(context)),
    }),
    // A plugin that is not ready has done nothing yet.
    ...(has("stop") && { stop: () => (isReady ? hooks.stop?.() : undefined) }),
  };
}
