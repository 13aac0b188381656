// The explanations of hooks, by hook: a hook that explanations support and that has no entry does not compile.
import type { SupportedHook } from "../sdk/hook-table.ts";
import { explainFinalRequest } from "./explain-final-request.ts";
import { explainPlugins } from "./explain-plugins.ts";

/** `claims` are explained with `pre_request`: those of all plugins are decided in one step. */
export const EXPLAINERS = {
  claims: explainPlugins,
  pre_request: explainPlugins,
  final_request: explainFinalRequest,
} as const satisfies Record<SupportedHook<"explain">, unknown>;
