// Rejects plugins whose hooks an isolate cannot run: those that return functions, or that cannot wait.
import { HOOK_NAMES, whyUnsupported } from "../../sdk/hook-table.ts";
import type { PluginHooks } from "../../sdk/index.ts";

/** Throws if a plugin has a hook that cannot run in an isolate. */
export function rejectInlineHooks(hooks: PluginHooks): void {
  rejectInlineNames(HOOK_NAMES.filter((hook) => hooks[hook] !== undefined));
}

export function rejectInlineNames(names: readonly string[]): void {
  const inline = HOOK_NAMES.filter(
    (hook) => names.includes(hook) && whyUnsupported(hook, "isolated") !== null,
  );
  const [first] = inline;
  if (first !== undefined)
    throw new Error(
      `the plugin has the hook ${inline.join(" and ")}, which ${whyUnsupported(first, "isolated")}; set isolation to inline`,
    );
}
