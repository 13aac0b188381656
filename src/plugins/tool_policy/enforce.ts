// The hooks of tool_policy: decide about tools in requests, and about calls in responses.
import {
  isLargeBody,
  LARGE_BODY_BYTES,
  OffLoopError,
  unreadableResponse,
  type PluginHost,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import type * as calledArgumentsTask from "./called-arguments-task.ts";
import { calledArguments } from "./called-arguments.ts";
import { enforceDefinitions } from "./enforce-definitions.ts";
import { Policy, UNKNOWN, UNREADABLE, type Action } from "./policy.ts";
import { OVERLOADED, reportDenied, TASK_TIMEOUT_MS } from "./report.ts";
import type * as requestPolicyTask from "./request-policy-task.ts";
import { applyToRequest, REMOVED, type RequestVerdict } from "./request-policy.ts";
import type * as responsePolicyTask from "./response-policy-task.ts";
import { decideText, type ToolText } from "./response-policy.ts";
import type { ToolPolicySettings } from "./settings.ts";

const CALLED_TASK = new URL("./called-arguments-task.ts", import.meta.url);
const RESPONSE_TASK = new URL("./response-policy-task.ts", import.meta.url);
const REQUEST_TASK = new URL("./request-policy-task.ts", import.meta.url);

export function compileRequestPolicy(
  settings: ToolPolicySettings,
  host: PluginHost,
): (context: RequestContext) => void | Promise<void> {
  const policy = new Policy(settings);
  const readsBodies = policy.has("offered") || policy.has("result");
  return (context) => {
    if (context.protocol === "mcp")
      return allowsMcpItems(context, policy) ? checkMcpCall(context, policy, settings, host) : undefined;
    if (!readsBodies) return;
    const body = context.bodyView;
    if (body === null || body.byteLength === 0) return;
    const contentType = context.headers.get("content-type");
    if (!isLargeBody(body)) {
      apply(context, applyToRequest(body, contentType, policy));
      return;
    }
    const limits = { bytes: body.byteLength, timeoutMs: TASK_TIMEOUT_MS };
    return host
      .runOffLoop<typeof requestPolicyTask>(REQUEST_TASK, { settings, body, contentType }, limits)
      .then(
        (verdict) => apply(context, verdict),
        (error: unknown) => rejectOverload(context, error),
      );
  };
}

/** A body for which the task could not be completed is not checked. */
function rejectOverload(context: RequestContext, error: unknown): void {
  if (!(error instanceof OffLoopError)) throw error;
  context.setResponseHeader("Retry-After", "1");
  context.respond({ status: 503, body: { error: OVERLOADED, code: "overloaded" } });
}

/** Prompts and resources are used as tools are called. Responds if one is denied. */
function allowsMcpItems(context: RequestContext, policy: Policy): boolean {
  for (const { name, arguments: given } of context.mcpItems) {
    const action =
      policy.decide("called", name, UNKNOWN) ?? policy.decide("called", name, given ?? UNREADABLE);
    if (action === "allow") continue;
    const message = reportDenied(context, "called", name);
    context.respond({ status: 403, body: { error: message, code: "tool_denied" } });
    return false;
  }
  return true;
}

/**
 * A client calls the tool itself. It is named as clients see it: with the prefix of its server if the service has several. The arguments are
 * read from the body: parsed ones have no equal keys and rounded numbers, and the server may get the arguments as they are written.
 */
function checkMcpCall(
  context: RequestContext,
  policy: Policy,
  settings: ToolPolicySettings,
  host: PluginHost,
): void | Promise<void> {
  const { tool, bodyView: body } = context;
  if (tool === null) return;
  const byName = policy.decide("called", tool.name, UNKNOWN);
  if (byName !== null || body === null || !isLargeBody(body)) {
    const action =
      byName ?? policy.decide("called", tool.name, body === null ? tool.arguments : calledArguments(body));
    applyToMcpCall(context, tool.name, action);
    return;
  }
  const input = { settings, body, tool: tool.name };
  const limits = { bytes: body.byteLength, timeoutMs: TASK_TIMEOUT_MS };
  return host.runOffLoop<typeof calledArgumentsTask>(CALLED_TASK, input, limits).then(
    (action) => applyToMcpCall(context, tool.name, action),
    (error: unknown) => rejectOverload(context, error),
  );
}

function applyToMcpCall(context: RequestContext, tool: string, action: Action | null): void {
  if (action === "allow") return;
  const message = reportDenied(context, "called", tool);
  context.respond({ status: 403, body: { error: message, code: "tool_denied" } });
}

function apply(context: RequestContext, { denied, body, stripped, unreadable }: RequestVerdict): void {
  if (unreadable !== null) {
    context.respond(unreadableResponse("tool_policy", unreadable));
    return;
  }
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

/** For the calls of models, and the results of tools of MCP servers. */
export function compileResponsePolicy(
  settings: ToolPolicySettings,
  host: PluginHost,
): (context: ResponseTextContext) => void | Promise<void> {
  const policy = new Policy(settings);
  return (context) => {
    if (context.channel.kind === "definitions") return enforceDefinitions(context, policy, settings, host);
    const given = toolTextOf(context);
    if (given === null) return;
    // Deltas may have pieces of a name until the arguments begin.
    if (given.text === "" && !given.isComplete && !context.isForced) {
      context.release(0);
      return;
    }
    const byName = policy.decide(given.source, given.tool, UNKNOWN);
    // A call is held back until its arguments are whole, unless its name decides.
    if (byName !== null || !(given.isComplete || context.isForced)) {
      applyToText(context, given, byName);
      return;
    }
    if (!given.isComplete || given.text.length <= LARGE_BODY_BYTES) {
      applyToText(context, given, decideText(policy, given));
      return;
    }
    return decideOffLoop(given, policy, settings, host).then((action) => applyToText(context, given, action));
  };
}

/** Returns null for text that is neither arguments nor a result. */
function toolTextOf({ channel, text, isLast }: ResponseTextContext): ToolText | null {
  const { kind, isJson } = channel;
  const { tool } = channel;
  if (kind === "tool_arguments") return { source: "called", tool, text, isJson, isComplete: isLast };
  return kind === "tool_result" ? { source: "result", tool, text, isJson, isComplete: isLast } : null;
}

/** A text for which the task could not be completed cannot be checked. */
async function decideOffLoop(
  given: ToolText,
  policy: Policy,
  settings: ToolPolicySettings,
  host: PluginHost,
): Promise<Action | null> {
  const limits = { bytes: given.text.length, timeoutMs: TASK_TIMEOUT_MS };
  try {
    return await host.runOffLoop<typeof responsePolicyTask>(RESPONSE_TASK, { settings, given }, limits);
  } catch (error) {
    if (!(error instanceof OffLoopError)) throw error;
    return policy.decide(given.source, given.tool, UNREADABLE);
  }
}

function applyToText(
  context: ResponseTextContext,
  { source, tool, text, isJson }: ToolText,
  action: Action | null,
): void {
  if (action === "allow") return;
  if (action === null) context.release(0);
  else if (action === "strip" && source === "result") {
    // There is nothing to strip in a result without text.
    if (text === "") return;
    context.count("stripped", "result");
    context.setDetail("stripped: result");
    const removed = text.startsWith("[") ? "[]" : "{}";
    context.release(text.length, isJson ? removed : REMOVED);
  } else context.reject({ status: 403, code: "tool_denied", message: reportDenied(context, source, tool) });
}
