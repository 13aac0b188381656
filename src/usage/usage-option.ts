// Handles targets that reject the option with which the gateway requests the usage of streams.
import type { StreamUsageOption } from "../formats/format.ts";
import { decodeBody, parseContentEncoding } from "../http/content-encoding.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";

/** Limit for reading an error response to find out what it rejects. */
const MAX_ERROR_BYTES = 4 * 1024 * 1024;

/**
 * Targets that rejected the option and accepted the same request without it. The keys are compiled targets, so gateways in
 * one process do not share entries, and the option is tried again after a configuration change.
 */
const rejectingTargets = new WeakSet<object>();

export function rememberRejection(target: object): void {
  rejectingTargets.add(target);
}

export function isKnownToReject(target: object): boolean {
  return rejectingTargets.has(target);
}

/** Whether the response to a request with the option rejects the option. Its body can still be read afterwards. */
export async function rejectsUsageOption(
  response: UpstreamResponse,
  option: StreamUsageOption,
  idleTimeoutMs: number,
): Promise<boolean> {
  if ((response.status !== 400 && response.status !== 422) || !response.hasBody) return false;
  response.idleTimeoutMs = idleTimeoutMs;
  const body = await readWholeBody(response, MAX_ERROR_BYTES);
  response.putBack(body);
  const text = decodeError(body, response.headers.get("content-encoding"));
  return text !== null && option.fieldNames.some((name) => text.includes(name));
}

/** Returns null if the body cannot be decoded. */
function decodeError(body: Uint8Array, contentEncoding: string | null): Buffer | null {
  const encoding = parseContentEncoding(contentEncoding);
  const plain =
    encoding === "identity" ? body : encoding === "unsupported" ? null : decodeBody(body, encoding);
  return plain === null ? null : Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength);
}
