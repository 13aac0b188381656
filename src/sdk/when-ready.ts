// Hooks of a plugin that has something to load: none is called before it is ready.
import { PLUGIN_STAGES } from "../model/plugin-stage.ts";
import type { PluginHooks } from "./plugin.ts";

/** Calls that come too early wait until the hooks are ready, and fail where that failed. */
export function whenReady(hooks: PluginHooks): PluginHooks {
  if (hooks.ready === undefined) return hooks;
  const ready = Promise.resolve(hooks.ready);
  let isReady = false;
  // Whoever calls is told of a fault; nobody may be calling.
  ready.then(
    () => (isReady = true),
    () => undefined,
  );
  const called = hooks as Record<string, ((context: unknown) => unknown) | undefined>;
  const stages = PLUGIN_STAGES.filter((stage) => typeof hooks[stage] === "function").map((stage) => [
    stage,
    (context: unknown) => (isReady ? called[stage]?.(context) : ready.then(() => called[stage]?.(context))),
  ]);
  return { ready, ...(Object.fromEntries(stages) as PluginHooks) };
}
