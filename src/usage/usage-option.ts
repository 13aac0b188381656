// Asks providers for the usage of a stream on the gateway's own account: puts the option into a request, and does
// without it at targets that refuse it.
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { insertFirst, spliceTopLevel } from "../base/json-splice.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import { decodeBody, parseContentEncoding } from "../http/content-encoding.ts";

/** An answer that must be read to see what it refuses is read up to this size. */
const MAX_REFUSAL_BYTES = 4 * 1024 * 1024;
const OPTION = Buffer.from('"stream_options":{"include_usage":true},');

/** Those that have refused the option and then answered without it. A new configuration of theirs is asked anew. */
const refusing = new WeakSet<object>();

/** Whether the client itself asks for the usage of its stream. */
export function asksForUsage({ stream_options: options }: JsonObject): boolean {
  return isJsonObject(options) && options["include_usage"] === true;
}

/** Whether the option is to be put into this chat request: it is for a stream, and the client left it open. */
export function lacksUsageOption(body: JsonObject, target: object): boolean {
  if (body["stream"] !== true || refusing.has(target)) return false;
  const options = body["stream_options"] ?? null;
  if (options === null) return true;
  // What is no object, or no boolean, is the provider's to refuse.
  return isJsonObject(options) && [undefined, null, false].includes(options["include_usage"] as null);
}

/** The same body with the option; every other byte stays as it was. */
export function withUsageOption(body: Uint8Array, json: JsonObject): Uint8Array {
  if (json["stream_options"] === undefined) return insertFirst(body, OPTION);
  const spliced = spliceTopLevel(new TextDecoder().decode(body), "stream_options", (options) =>
    options?.startsWith("{") === true
      ? spliceTopLevel(options, "include_usage", () => "true")
      : '{"include_usage":true}',
  );
  return Buffer.from(spliced);
}

export function rememberRejection(target: object): void {
  refusing.add(target);
}

/** Whether the answer to a request that holds the option refuses it. Its body can still be read afterwards. */
export async function rejectsUsageOption(response: UpstreamResponse, idleMs: number): Promise<boolean> {
  if ((response.status !== 400 && response.status !== 422) || !response.hasBody) return false;
  response.idleTimeoutMs = idleMs;
  const body = await readWholeBody(response, MAX_REFUSAL_BYTES);
  response.putBack(body);
  return namesOption(body, response.headers.get("content-encoding"));
}

function namesOption(body: Uint8Array, contentEncoding: string | null): boolean {
  const encoding = parseContentEncoding(contentEncoding);
  const plain =
    encoding === "identity" ? body : encoding === "unsupported" ? null : decodeBody(body, encoding);
  if (plain === null) return false;
  const text = Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength);
  return text.includes("stream_options") || text.includes("include_usage");
}
