// Hooks that isolated plugins cannot have.
import type { PluginHooks } from "../../sdk/index.ts";

/** Hooks that return functions, or that cannot wait: they run in the process of the gateway only. */
export const INLINE_HOOKS = ["before_body", "claims", "final_request"] as const;

/** Throws if a plugin has a hook that cannot run in an isolate. */
export function rejectInlineHooks(hooks: PluginHooks): void {
  rejectInlineNames(INLINE_HOOKS.filter((hook) => hooks[hook] !== undefined));
}

export function rejectInlineNames(names: readonly string[]): void {
  const inline = INLINE_HOOKS.filter((hook) => names.includes(hook));
  if (inline.length > 0)
    throw new Error(
      `the plugin has the hook ${inline.join(" and ")}, which runs in the process of the gateway only; set isolation to inline`,
    );
}
