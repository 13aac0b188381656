// Why a request to a target of a virtual model failed, if another target or virtual model may serve it.
import { GatehouseError, type ErrorCode } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import { CONTEXT_LENGTH_EXCEEDED, isContextLengthMessage } from "../../formats/context-length.ts";
import type { FallbackReason } from "../../model/virtual-model.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { TargetResponse } from "../target-response.ts";
import { parseJson } from "../translate-whole.ts";

/** Errors of the gateway that say nothing about other targets' ability to serve the request. */
const UNAVAILABLE: ReadonlySet<ErrorCode> = new Set([
  "no_healthy_target",
  "untranslatable",
  "operation_not_supported",
  "upstream_credentials",
]);
/** The request as a whole is over. */
const FINAL: ReadonlySet<string> = new Set(["client_left", "total_timeout", "abandoned"]);
/** Statuses of responses that may say that the input is too long or was filtered. */
const REJECTIONS: ReadonlySet<number> = new Set([400, 403, 413, 422]);
/** OpenAI and Azure OpenAI. */
const FILTERED = /^(?:content_filter|content_policy_violation|ResponsibleAIPolicyViolation)$/;
const MAX_READ_BYTES = 64 * 1024;

/** Returns null if the response or error is final. `readsFilter`: whether a successful response without content may be filtered. */
export function fallbackReasonOf(
  result: TargetResponse | Error,
  readsFilter: boolean,
): FallbackReason | null {
  if (result instanceof GatehouseError) return UNAVAILABLE.has(result.code) ? "unavailable" : null;
  if (result instanceof UpstreamError) return FINAL.has(result.kind) ? null : "unavailable";
  if (result instanceof Error) return null;
  const { status } = result.upstreamResponse;
  if (status === 429) return "rate_limited";
  if (result.isRetried) return "unavailable";
  if (REJECTIONS.has(status)) return rejectionReason(result);
  return readsFilter && result.isFiltered() ? "content_filter" : null;
}

function rejectionReason({ firstBytes: body }: TargetResponse): FallbackReason | null {
  if (body === null || body.byteLength > MAX_READ_BYTES) return null;
  const json = parseJson(body);
  const error = isJsonObject(json) && isJsonObject(json["error"]) ? json["error"] : null;
  if (error === null) return null;
  const { code, type, message } = error;
  const isTooLong = typeof message === "string" && isContextLengthMessage(message);
  if (code === CONTEXT_LENGTH_EXCEEDED || isTooLong) return "context";
  const inner = isJsonObject(error["innererror"]) ? error["innererror"]["code"] : null;
  return [code, type, inner].some((each) => typeof each === "string" && FILTERED.test(each))
    ? "content_filter"
    : null;
}
