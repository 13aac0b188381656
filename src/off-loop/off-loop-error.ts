// The error of a task that did not run to its end. A task that throws rejects with its own error instead.
import { GatehouseError, type ErrorCode } from "../base/errors.ts";

type OffLoopFailure = "overloaded" | "timed_out" | "crashed" | "aborted" | "closed";

const CODES: Readonly<Record<OffLoopFailure, ErrorCode>> = {
  overloaded: "overloaded",
  timed_out: "overloaded",
  crashed: "internal_error",
  aborted: "internal_error",
  closed: "overloaded",
};

const RETRY_AFTER_SECONDS = "1";

/** If nothing catches it, the client gets 503 with `Retry-After`, or 500 after a crash. */
export class OffLoopError extends GatehouseError {
  readonly reason: OffLoopFailure;

  constructor(reason: OffLoopFailure, message: string, extras: { readonly cause?: unknown } = {}) {
    const code = CODES[reason];
    const headers = code === "overloaded" ? { "Retry-After": RETRY_AFTER_SECONDS } : {};
    super(code, message, { ...extras, headers });
    this.name = "OffLoopError";
    this.reason = reason;
  }
}
