// The trace of one request: its own span, whose child it is, and what it hands on.
import { formatTraceparent, newSpanId } from "./trace-context.ts";

export class RequestTrace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly parentSpanId: string | null;
  /** What other tracing systems on the way have to say to each other. */
  readonly state: string | null;

  constructor(traceId: string, parentSpanId: string | null, state: string | null) {
    this.traceId = traceId;
    this.parentSpanId = parentSpanId;
    this.state = state;
  }

  /** The id of an attempt's span, which becomes the parent of whatever the provider does. */
  beginAttempt(headers: Record<string, string>): string {
    const spanId = newSpanId();
    headers["traceparent"] = formatTraceparent(this.traceId, spanId);
    // It belongs to the parent; where that was not believed, neither is this.
    if (this.parentSpanId === null && headers["tracestate"] !== undefined)
      Reflect.deleteProperty(headers, "tracestate");
    return spanId;
  }
}
