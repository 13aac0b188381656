// Sends records to an OTLP collector as logs.
import type { Log } from "../log/log.ts";
import { BatchExporter, type BatchExporterOptions } from "../otlp/batch-exporter.ts";
import type { ResourceAttributes } from "../otlp/otlp-settings.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { RecordBatch } from "./otlp-records.ts";
import type { RecordOutput, SinkCounts } from "./request-sink.ts";

interface OtlpSinkOptions extends Pick<BatchExporterOptions, "endpoint" | "delayMs"> {
  readonly resource: ResourceAttributes;
  readonly version: string;
}

export class OtlpSink implements RecordOutput {
  readonly #open: RecordBatch;
  readonly #exporter: BatchExporter;

  constructor(options: OtlpSinkOptions, counts: SinkCounts, log: Log) {
    const { endpoint, delayMs } = options;
    this.#open = new RecordBatch(options);
    this.#exporter = new BatchExporter(
      {
        endpoint,
        delayMs,
        log,
        messages: { failed: "request log export failed", recovered: "request log export recovered" },
        count: (result, records) => counts[result === "exported" ? "written" : "dropped"](records),
      },
      this.#open,
    );
  }

  write(line: string, facts: RequestFacts): void {
    this.#exporter.add(1, () => this.#open.add(line, facts));
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }
}
