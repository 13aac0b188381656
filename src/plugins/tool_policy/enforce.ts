// The hooks of tool_policy: decide about tools in requests, and about calls in responses.
import {
  LARGE_BODY_BYTES,
  OffLoopError,
  type PluginContext,
  type PluginHost,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import { Policy, UNKNOWN, UNREADABLE, type Source } from "./policy.ts";
import type * as requestPolicyTask from "./request-policy-task.ts";
import { applyToRequest, parsedResult, REMOVED, type RequestVerdict } from "./request-policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

const REQUEST_TASK = new URL("./request-policy-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
const MAX_SHOWN_NAME = 128;
const OVERLOADED = "Too many large bodies are being processed. Retry later.";

export function compileRequestPolicy(
  settings: ToolPolicySettings,
  host: PluginHost,
): (context: RequestContext) => void | Promise<void> {
  const policy = new Policy(settings);
  const readsBodies = policy.has("offered") || policy.has("result");
  return (context) => {
    if (context.protocol === "mcp") {
      checkMcpCall(context, policy);
      return;
    }
    if (!readsBodies) return;
    const body = context.bodyView;
    if (body === null || body.byteLength === 0) return;
    if (body.byteLength <= LARGE_BODY_BYTES) {
      apply(context, applyToRequest(body, settings));
      return;
    }
    const limits = { bytes: body.byteLength, timeoutMs: TASK_TIMEOUT_MS };
    return host.runOffLoop<typeof requestPolicyTask>(REQUEST_TASK, { settings, body }, limits).then(
      (verdict) => apply(context, verdict),
      (error: unknown) => {
        if (!(error instanceof OffLoopError)) throw error;
        context.setResponseHeader("Retry-After", "1");
        context.respond({ status: 503, body: { error: OVERLOADED, code: "overloaded" } });
      },
    );
  };
}

/** A client calls the tool itself. It is named as clients see it: with the prefix of its server if the service has several. */
function checkMcpCall(context: RequestContext, policy: Policy): void {
  const { tool } = context;
  if (tool === null || policy.decide("called", tool.name, tool.arguments) === "allow") return;
  const message = reportDenied(context, "called", tool.name);
  context.respond({ status: 403, body: { error: message, code: "tool_denied" } });
}

function apply(context: RequestContext, { denied, body, stripped }: RequestVerdict): void {
  if (denied !== null) {
    const message = reportDenied(context, denied.source, denied.tool);
    context.respond({ status: 403, body: { error: message, code: "tool_denied" } });
    return;
  }
  if (body === null) return;
  for (const source of ["offered", "result"] as const)
    if (stripped[source] > 0) context.count("stripped", source, stripped[source]);
  context.setDetail(`stripped: offered=${stripped.offered}, result=${stripped.result}`);
  context.replaceBody(body);
}

/** Counts a denial, and returns its message. */
function reportDenied(context: PluginContext, source: Source, tool: string): string {
  context.count("denied", source);
  const name = JSON.stringify(tool.slice(0, MAX_SHOWN_NAME));
  context.setDetail(`denied: ${source} ${name}`);
  return `The tool ${name} is not allowed here (${source}).`;
}

/** For the calls of models, and the results of tools of MCP servers. */
export function compileResponsePolicy(settings: ToolPolicySettings): (context: ResponseTextContext) => void {
  const policy = new Policy(settings);
  const checkCall = callPolicy(policy);
  return (context) => {
    if (context.channel.kind === "tool_arguments") checkCall(context);
    else if (context.channel.kind === "tool_result") checkResult(context, policy);
  };
}

function checkResult(context: ResponseTextContext, policy: Policy): void {
  const { channel, text } = context;
  const tool = channel.tool ?? "";
  const action = policy.decide("result", tool, parsedResult(text));
  if (action === "deny")
    context.reject({ status: 403, code: "tool_denied", message: reportDenied(context, "result", tool) });
  if (action !== "strip") return;
  context.count("stripped", "result");
  context.setDetail("stripped: result");
  context.release(text.length, channel.isJson ? "{}" : REMOVED);
}

/** Holds a call back until its arguments are whole, unless its name decides. */
function callPolicy(policy: Policy): (context: ResponseTextContext) => void {
  return (context) => {
    const { channel, text, isLast, isForced } = context;
    const tool = channel.tool ?? "";
    const isWhole = isLast || isForced;
    const action = policy.decide(
      "called",
      tool,
      isWhole ? argumentsOf(text, channel.isJson, isLast) : UNKNOWN,
    );
    if (action === null) context.release(0);
    else if (action !== "allow")
      context.reject({ status: 403, code: "tool_denied", message: reportDenied(context, "called", tool) });
  };
}

/** Arguments that are not whole, or no JSON, cannot be checked. */
function argumentsOf(text: string, isJson: boolean, isComplete: boolean): unknown {
  if (!isComplete) return UNREADABLE;
  if (!isJson) return text;
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}
