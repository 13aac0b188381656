// Delays the hooks of a plugin that must load something first until its `ready` promise settles.
import { HOOK_NAMES, HOOKS, type HookName } from "./hook-table.ts";
import type { PluginHooks } from "./plugin.ts";

type AnyHook = (context: unknown) => unknown;

/** Returns hooks that wait for `hooks.ready` before they run, and that reject if it rejects. Leaves out hooks that cannot wait. */
export function whenReady(hooks: PluginHooks): PluginHooks {
  if (hooks.ready === undefined) return hooks;
  const ready = Promise.resolve(hooks.ready);
  let isReady = false;
  // Callers of the hooks see a rejection; without a caller it must not become an unhandled rejection.
  ready.then(
    () => (isReady = true),
    () => undefined,
  );
  const delayed = (name: HookName): [HookName, AnyHook] => {
    // Called as a method: hooks may use `this`.
    const call = (context: unknown) => (hooks as Record<HookName, AnyHook>)[name](context);
    return [name, (context) => (isReady ? call(context) : ready.then(() => call(context)))];
  };
  const waiting = HOOK_NAMES.filter((name) => HOOKS[name].mayWait && typeof hooks[name] === "function");
  return {
    ready,
    ...(Object.fromEntries(waiting.map(delayed)) as PluginHooks),
    ...(hooks.readsModel === undefined ? {} : { readsModel: hooks.readsModel }),
    // A plugin that is not ready has done nothing yet.
    ...(typeof hooks.stop === "function" && { stop: () => (isReady ? hooks.stop?.() : undefined) }),
  };
}
