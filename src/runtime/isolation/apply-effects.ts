// Applies what a hook did in an isolate to the context of the request. The context checks every value, as it does for inline plugins.
import { HOOKS } from "../../sdk/hook-table.ts";
import type { PluginContext, PluginResponse } from "../../sdk/index.ts";
import type { IsolatedContexts } from "./context-data.ts";
import { isReport, type BlobReference, type Effect, type IsolatedHook } from "./messages.ts";

type Methods = Readonly<Record<string, ((...args: unknown[]) => void) | undefined>>;

export function applyEffects<Hook extends IsolatedHook>(
  hook: Hook,
  context: IsolatedContexts[Hook],
  effects: readonly Effect[],
  blobs: readonly Uint8Array[],
): void {
  const changes: readonly string[] = HOOKS[hook].isolated.changes;
  for (const effect of effects) {
    if (!isReport(effect) && !changes.includes(effect[0]))
      throw new Error(`the isolated plugin called ${effect[0]}, which is unknown`);
    apply(context, effect, blobs);
  }
}

/** Applies only what a failed hook has reported: a hook that fails in an isolate changes nothing. */
export function applyReports(context: PluginContext, effects: readonly Effect[]): void {
  for (const effect of effects) if (isReport(effect)) apply(context, effect, []);
}

/** Applies what a plugin did while its response was held. As inline, the request is sent already and does not change any more. */
export function applyLateEffects(context: PluginContext, effects: readonly Effect[]): void {
  for (const effect of effects)
    if (isReport(effect) || effect[0] === "setResponseHeader") apply(context, effect, []);
}

/** Returns a response that the plugin decided on. The context checks its values. */
export function decidedResponse(response: unknown, blobs: readonly Uint8Array[]): PluginResponse | null {
  return response === null ? null : (withBlobs(response, blobs) as PluginResponse);
}

function apply(context: object, [method, ...args]: Effect, blobs: readonly Uint8Array[]): void {
  const resolved = args.map((arg) => withBlobs(arg, blobs));
  // Called as a method: contexts keep their state in private fields.
  (context as Methods)[method]?.(...resolved);
}

function withBlobs(value: unknown, blobs: readonly Uint8Array[]): unknown {
  if (isBlobReference(value)) return blobs[value.blob];
  // The body of `respond`: a value of its own, because JSON may look like a reference.
  if (typeof value === "object" && value !== null && "bodyBlob" in value) {
    const { bodyBlob, ...response } = value as { readonly bodyBlob: number };
    return { ...response, body: blobs[bodyBlob] };
  }
  return value;
}

function isBlobReference(value: unknown): value is BlobReference {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).length === 1 &&
    "blob" in value &&
    typeof value.blob === "number"
  );
}
