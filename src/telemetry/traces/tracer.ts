// Decides which requests are traced. There is no tracer if tracing is off.
import type { ReadableFields } from "../../base/readable-fields.ts";
import { truncateText } from "../truncate-text.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { RequestTrace } from "./request-trace.ts";
import { newTraceId, parseTraceparent } from "./trace-context.ts";
import type { TraceExporter } from "./trace-exporter.ts";

/** Sampling uses the last digits of the trace id, so that all nodes make the same decision. */
const ID_DIGITS = 14;
const ID_RANGE = 2 ** 56;

export class Tracer {
  readonly #exporter: TraceExporter;
  readonly #ratio: number;

  /** `ratio` is the share of requests without a parent that is traced. With a parent, its sampled flag decides. */
  constructor(exporter: TraceExporter, ratio: number) {
    this.#exporter = exporter;
    this.#ratio = ratio;
  }

  /** Returns null if the request is not traced. Its trace headers are then forwarded unchanged. */
  begin(headers: ReadableFields): RequestTrace | null {
    const parent = parseTraceparent(headers.get("traceparent"));
    if (parent !== null)
      return parent.isSampled
        ? new RequestTrace(parent.traceId, parent.spanId, truncateText(headers.get("tracestate")))
        : null;
    const traceId = newTraceId();
    const isSampled = Number.parseInt(traceId.slice(-ID_DIGITS), 16) / ID_RANGE < this.#ratio;
    return isSampled ? new RequestTrace(traceId, null, null) : null;
  }

  add(facts: RequestFacts): void {
    if (facts.trace !== null) this.#exporter.add(facts);
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }
}
