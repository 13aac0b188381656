// Applies what a hook did in an isolate to the context of the request. The context checks every value, as it does for inline plugins.
import type { PluginContext } from "../../sdk/index.ts";
import type { IsolatedContexts } from "./context-data.ts";
import type { BlobReference, Effect, IsolatedHook } from "./messages.ts";

/** Telemetry, which also counts if the hook failed. */
const REPORTS: readonly string[] = ["count", "setDetail"];

const CHANGES: Readonly<Record<IsolatedHook, readonly string[]>> = {
  pre_request: [
    "setHeader",
    "removeHeader",
    "setPath",
    "setQuery",
    "replaceBody",
    "setResponseHeader",
    "reportTokenLimit",
    "respond",
  ],
  post_request: ["setStatus", "setHeader", "removeHeader"],
  pre_response: ["replaceChunk"],
  response_text: ["release", "reject"],
  post_response: [],
};

type Methods = Readonly<Record<string, ((...args: unknown[]) => void) | undefined>>;

export function applyEffects<Hook extends IsolatedHook>(
  hook: Hook,
  context: IsolatedContexts[Hook],
  effects: readonly Effect[],
  blobs: readonly Uint8Array[],
): void {
  const allowed = [...REPORTS, ...CHANGES[hook]];
  for (const effect of effects) apply(context, allowed, effect, blobs);
}

/** Applies only what a failed hook has reported: a hook that fails in an isolate changes nothing. */
export function applyReports(context: PluginContext, effects: readonly Effect[]): void {
  for (const effect of effects) if (REPORTS.includes(effect[0])) apply(context, REPORTS, effect, []);
}

function apply(
  context: object,
  allowed: readonly string[],
  [method, ...args]: Effect,
  blobs: readonly Uint8Array[],
): void {
  if (!allowed.includes(method)) throw new Error(`the isolated plugin called ${method}, which is unknown`);
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
