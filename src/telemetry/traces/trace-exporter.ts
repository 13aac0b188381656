// Sends spans to an OTLP collector.
import type { Log } from "../log/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { BatchExporter, type BatchExporterOptions } from "../otlp/batch-exporter.ts";
import type { ResourceAttributes } from "../otlp/otlp-settings.ts";
import { SpanBatch, spanCount } from "./otlp-spans.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

export interface TraceExporterOptions extends Pick<BatchExporterOptions, "endpoint" | "delayMs"> {
  readonly resource: ResourceAttributes;
  readonly version: string;
}

export class TraceExporter {
  readonly #open: SpanBatch;
  readonly #exporter: BatchExporter;

  constructor(options: TraceExporterOptions, metrics: Metrics, log: Log) {
    const { endpoint, delayMs } = options;
    const messages = { failed: "trace export failed", recovered: "trace export recovered" };
    const count = (result: "exported" | "dropped", spans: number) =>
      metrics.number("gatehouse_trace_spans_total", { result }).add(spans);
    this.#open = new SpanBatch(options);
    this.#exporter = new BatchExporter({ endpoint, delayMs, log, messages, count }, this.#open);
  }

  add(facts: RequestFacts): void {
    const { trace } = facts;
    if (trace !== null) this.#exporter.add(spanCount(facts), () => this.#open.add(facts, trace));
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }
}
