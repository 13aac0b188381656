// Why a provider gave no complete response.
import type { AttemptFault } from "../telemetry/requests/attempt-fault.ts";

/** A response that a content filter has emptied is complete. */
export type UpstreamErrorKind = Exclude<AttemptFault, "content_filter">;

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;

  constructor(kind: UpstreamErrorKind, cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.name = "UpstreamError";
    this.kind = kind;
  }
}
