// The part of the response_text hook of tool_policy that is about lists of MCP servers.
import {
  LARGE_BODY_BYTES,
  OffLoopError,
  type PluginHost,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import type * as definitionsPolicyTask from "./definitions-policy-task.ts";
import { decideDefinitions, type DefinitionsVerdict } from "./definitions-policy.ts";
import type { Policy } from "./policy.ts";
import { OVERLOADED, reportDenied, TASK_TIMEOUT_MS } from "./report.ts";
import type { ToolPolicySettings } from "./settings.ts";

const TASK = new URL("./definitions-policy-task.ts", import.meta.url);

export function enforceDefinitions(
  context: ResponseTextContext,
  policy: Policy,
  settings: ToolPolicySettings,
  host: PluginHost,
): void | Promise<void> {
  if (!policy.has("offered")) return;
  const { text, channel } = context;
  const method = channel.method ?? "";
  if (text.length <= LARGE_BODY_BYTES) {
    apply(context, decideDefinitions(text, method, policy));
    return;
  }
  const limits = { bytes: text.length, timeoutMs: TASK_TIMEOUT_MS };
  return host.runOffLoop<typeof definitionsPolicyTask>(TASK, { settings, text, method }, limits).then(
    (verdict) => apply(context, verdict),
    (error: unknown) => {
      if (!(error instanceof OffLoopError)) throw error;
      context.reject({ status: 503, code: "overloaded", message: OVERLOADED });
    },
  );
}

function apply(context: ResponseTextContext, { denied, list, stripped }: DefinitionsVerdict): void {
  if (denied !== null) {
    context.reject({
      status: 403,
      code: "tool_denied",
      message: reportDenied(context, "offered", denied),
    });
    return;
  }
  if (list === null) return;
  context.count("stripped", "offered", stripped);
  context.setDetail(`stripped: offered=${stripped}`);
  context.release(context.text.length, list);
}
