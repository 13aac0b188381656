// Which requests are traced. Where tracing is off there is no tracer at all.
import { truncateText } from "../truncate-text.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { RequestTrace } from "./request-trace.ts";
import { newTraceId, parseTraceparent } from "./trace-context.ts";
import type { TraceExporter } from "./trace-exporter.ts";

/** The share is judged by the trace's id, so that all nodes judge alike. */
const ID_DIGITS = 14;
const ID_RANGE = 2 ** 56;

export class Tracer {
  readonly #exporter: TraceExporter;
  readonly #ratio: number;

  /** `ratio`: the share of requests without a parent that is traced; with one, the parent has decided. */
  constructor(exporter: TraceExporter, ratio: number) {
    this.#exporter = exporter;
    this.#ratio = ratio;
  }

  /** Null: this request is not traced, and what it brought goes on as it came. */
  begin(headers: Headers): RequestTrace | null {
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
