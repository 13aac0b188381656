// The hooks of pii_mask: masks, blocks or tags requests, and restores masked values in responses.
import {
  LARGE_BODY_BYTES,
  OffLoopError,
  type PluginHost,
  type RequestContext,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import type * as maskBodyTask from "./mask-body-task.ts";
import { compileSearch, type SearchedBody } from "./mask-body.ts";
import { restore } from "./placeholders.ts";
import type { PiiMaskSettings } from "./settings.ts";

const BODY_TASK = new URL("./mask-body-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
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
    if (body.byteLength <= LARGE_BODY_BYTES) {
      apply(context, settings, search(body));
      return;
    }
    return searchOffLoop(body, settings, host).then((found) => {
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
  body: Uint8Array,
  settings: PiiMaskSettings,
  host: PluginHost,
): Promise<SearchedBody | null> {
  try {
    const limits = { bytes: body.byteLength, timeoutMs: TASK_TIMEOUT_MS };
    return await host.runOffLoop<typeof maskBodyTask>(BODY_TASK, { settings, body }, limits);
  } catch (error) {
    if (error instanceof OffLoopError) return null;
    throw error;
  }
}

function apply(
  context: RequestContext,
  settings: PiiMaskSettings,
  { body, values, counts }: SearchedBody,
): void {
  if (counts.size === 0) return;
  const { action, status_code: status, error_message: error } = settings;
  for (const [type, count] of counts) context.count(action === "mask" ? "masked" : "found", type, count);
  // Never the values: the request log shows this text.
  const summary = [...counts].map(([type, count]) => `${type}=${count}`).join(", ");
  context.setDetail(`${action}: ${summary}`);
  if (action === "block") context.respond({ status, body: { error, code: "pii_detected" } });
  else if (action === "tag") context.setResponseHeader("X-GW-PII", summary);
  else if (body !== null) {
    context.replaceBody(body);
    context.notes.set(VALUES, values);
  }
}

export function restoreValues(context: ResponseTextContext): void {
  const values = context.notes.get(VALUES);
  if (!(values instanceof Map)) return;
  const { text, channel, isLast, isForced } = context;
  const restored = restore(text, values as ReadonlyMap<string, string>, channel.isJson, isLast || isForced);
  context.release(restored.length, restored.text);
}
