// Replaces the URIs of resources in the results of servers by those that clients of a service use.
import { RawJson } from "../base/raw-json.ts";
import type { JsonObject } from "../base/json.ts";
import { LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { URI_FIELDS, withPrefixedUris } from "./prefixed-uris.ts";
import type * as publicUrisTask from "./public-uris-task.ts";

const TASK = new URL("./public-uris-task.ts", import.meta.url);

/** Resolves to the result with `prefix` before each URI. A large list is changed in a worker thread. */
export async function withPublicUris(
  result: JsonObject,
  prefix: string,
  { offLoop, tenant }: { readonly offLoop: OffLoop; readonly tenant: string },
): Promise<JsonObject> {
  if (prefix === "") return result;
  const changed = { ...result };
  for (const field of URI_FIELDS) {
    const value = result[field];
    if (Array.isArray(value)) changed[field] = withPrefixedUris(field, value, prefix);
    else if (value instanceof RawJson && value.isArray) {
      const { bytes } = value;
      const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS, tenant };
      changed[field] = new RawJson(
        await offLoop.run<typeof publicUrisTask>(TASK, { field, bytes, prefix }, limits),
      );
    }
  }
  return changed;
}
