// The hooks of pii_mask: masks, blocks or tags requests, and restores masked values in responses.
import {
  isLargeBody,
  LARGE_BODY_BYTES,
  OffLoopError,
  unreadableResponse,
  type PluginHost,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import type * as maskBodyTask from "./mask-body-task.ts";
import { compileSearch, type SearchedBody } from "./mask-body.ts";
import { MaskedValues, type ValueTable } from "./masked-values.ts";
import { restore } from "./placeholders.ts";
import type * as restoreTextTask from "./restore-text-task.ts";
import type { PiiMaskSettings } from "./settings.ts";

const TEXT_TASK = new URL("./restore-text-task.ts", import.meta.url);
const BODY_TASK = new URL("./mask-body-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
/** Larger bodies are searched in a thread: deriving the numbers of values takes as long as finding these. */
const MAX_KEYED_BYTES = LARGE_BODY_BYTES / 2;
const VALUES = "values";
const OVERLOADED = "Too many large bodies are being processed. Retry later.";

export function compileMask(
  settings: PiiMaskSettings,
  host: PluginHost,
): (context: RequestContext) => void | Promise<void> {
  const search = compileSearch(settings);
  return (context) => {
    const body = context.bodyView;
    if (body === null || body.byteLength === 0) return;
    const contentType = context.headers.get("content-type");
    const key = settings.action === "mask" ? context.conversationKey : null;
    if (!isLargeBody(body) && (key === null || body.byteLength <= MAX_KEYED_BYTES)) {
      apply(context, settings, search(body, contentType, key));
      return;
    }
    return searchOffLoop({ settings, body, contentType, key }, host).then((found) => {
      if (found !== null) apply(context, settings, found);
      else {
        context.setResponseHeader("Retry-After", "1");
        context.respond({ status: 503, body: { error: OVERLOADED, code: "overloaded" } });
      }
    });
  };
}

/** Resolves to null if the task could not be completed: the body must not be sent without a search. */
async function searchOffLoop(
  input: Parameters<typeof maskBodyTask.run>[0],
  host: PluginHost,
): Promise<SearchedBody | null> {
  try {
    const limits = { bytes: input.body.byteLength, timeoutMs: TASK_TIMEOUT_MS };
    return await host.runOffLoop<typeof maskBodyTask>(BODY_TASK, input, limits);
  } catch (error) {
    if (error instanceof OffLoopError) return null;
    throw error;
  }
}

function apply(
  context: RequestContext,
  settings: PiiMaskSettings,
  { body, values, counts, keptConversation, unreadable, unmaskable, signed }: SearchedBody,
): void {
  if (unreadable !== null) {
    context.setDetail(`not inspected: ${unreadable}`);
    context.respond(unreadableResponse("pii_mask", unreadable));
    return;
  }
  if (keptConversation !== null) {
    context.setDetail(`mask: ${keptConversation}`);
    context.respond({
      status: 400,
      body: { error: conversationMessage(keptConversation), code: "conversation_not_maskable" },
    });
    return;
  }
  if (counts.size === 0) {
    addValues(context, values);
    return;
  }
  const { action, status_code: status, error_message: message } = settings;
  for (const [type, count] of counts) context.count(action === "mask" ? "masked" : "found", type, count);
  // Never the values: the request log shows this text.
  const summary = [...counts].map(([type, count]) => `${type}=${count}`).join(", ");
  context.setDetail(`${action}: ${summary}`);
  if (unmaskable !== null || signed !== null) {
    const error = unmaskable === null ? signedMessage(signed ?? "") : unmaskableMessage(unmaskable);
    context.respond({ status: 400, body: { error, code: "value_not_maskable" } });
    return;
  }
  if (action === "block") context.respond({ status, body: { error: message, code: "pii_detected" } });
  else if (action === "tag") context.setResponseHeader("X-GW-PII", summary);
  else if (body !== null) {
    context.replaceBody(body);
    addValues(context, values);
  }
}

function addValues({ callNotes }: RequestContext, values: ValueTable | null): void {
  if (values === null) return;
  const known = callNotes.get(VALUES);
  callNotes.set(VALUES, known instanceof MaskedValues ? known.with(values) : new MaskedValues([values]));
}

/** Placeholders are numbered per request: those of an earlier request would be restored to values of this one. */
function conversationMessage(field: string): string {
  return `The request has "${field}", but pii_mask cannot continue the placeholders of a conversation that the provider keeps. Send the items of the conversation in "input" instead, or have the action of pii_mask set to "block" or "tag".`;
}

function unmaskableMessage(field: string): string {
  const place = field === "" ? "the name of a field or a file" : `"${field}"`;
  return `The request has personal data or a secret in ${place}, which pii_mask cannot replace without breaking the request. Send it without the value.`;
}

function signedMessage(field: string): string {
  return `The request has personal data or a secret in "${field}" of reasoning that the provider signed, which pii_mask cannot replace without breaking the signature. Remove this reasoning from the request.`;
}

/** Compiles the hook that restores masked values in the text of responses. */
export function compileRestore(host: PluginHost): (context: ResponseTextContext) => void | Promise<void> {
  return (context) => {
    const values = context.notes.get(VALUES);
    if (!(values instanceof MaskedValues)) return;
    const { text, channel, isLast, isForced } = context;
    if (text.length > LARGE_BODY_BYTES) return restoreOffLoop(context, values, host);
    const restored = restore(text, values, channel.isJson, isLast || isForced);
    context.release(restored.length, restored.text);
  };
}

/** Rejects the response if the task could not be completed: the client must not take placeholders for values. */
async function restoreOffLoop(
  context: ResponseTextContext,
  values: MaskedValues,
  host: PluginHost,
): Promise<void> {
  const { text, channel, isLast, isForced } = context;
  const input = { text, values: values.data, isJson: channel.isJson, isComplete: isLast || isForced };
  const limits = { bytes: text.length, timeoutMs: TASK_TIMEOUT_MS };
  try {
    const restored = await host.runOffLoop<typeof restoreTextTask>(TEXT_TASK, input, limits);
    context.release(restored.length, restored.text);
  } catch (error) {
    if (!(error instanceof OffLoopError)) throw error;
    context.reject({ status: 503, code: "overloaded", message: OVERLOADED });
  }
}
