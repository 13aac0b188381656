// The trace of one request: its span, the parent of its span, and the context that is sent upstream.
import { formatTraceparent, newSpanId } from "./trace-context.ts";

export class RequestTrace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly parentSpanId: string | null;
  /** The `tracestate` header of the request. */
  readonly state: string | null;

  constructor(traceId: string, parentSpanId: string | null, state: string | null) {
    this.traceId = traceId;
    this.parentSpanId = parentSpanId;
    this.state = state;
  }

  /** Returns the span id of an upstream attempt and sets it as the parent in the request headers. */
  beginAttempt(headers: Record<string, string>): string {
    const spanId = newSpanId();
    headers["traceparent"] = formatTraceparent(this.traceId, spanId);
    // `tracestate` belongs to the parent. Without a valid parent it is removed (W3C Trace Context, section 3.3).
    if (this.parentSpanId === null && headers["tracestate"] !== undefined)
      Reflect.deleteProperty(headers, "tracestate");
    return spanId;
  }
}
