// Why the socket of a client ended: what telemetry and the health of the target take from it.
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { HealthResult } from "../balancer-report.ts";

export interface Ending {
  readonly outcome: Outcome;
  readonly health: HealthResult;
  /** Of the error table, or that of a plugin. */
  readonly errorCode: string | null;
}

/** The payload of a close frame has 125 bytes, of which the code takes two. */
const MAX_REASON_BYTES = 123;

export const COMPLETE: Ending = { outcome: "complete", health: "succeeded", errorCode: null };
export const CLIENT_LEFT: Ending = { outcome: "client_left", health: "neutral", errorCode: null };
export const LOST: Ending = { outcome: "incomplete", health: "failed", errorCode: "upstream_unreachable" };
export const TIMED_OUT: Ending = {
  outcome: "incomplete",
  health: "neutral",
  errorCode: "upstream_timeout",
};

/** Returns a reason that a close frame has room for. */
export function closeReason(code: string, reason: string): string {
  return Buffer.byteLength(reason) <= MAX_REASON_BYTES ? reason : `${code}: see the log of the gateway.`;
}
