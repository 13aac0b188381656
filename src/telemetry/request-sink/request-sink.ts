// The durable copy of the request log: converts each finished request to a redacted record and passes it to the output that
// REQUEST_LOG_SINK names.
import { isPromise } from "../../base/value-or-promise.ts";
import { redact } from "../log/redact.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { recordOf, type RequestRecord } from "../requests/request-record.ts";

/** Requests whose bodies are being decoded; further ones are dropped. */
const MAX_DECODING = 256;
const CLOSE_TIMEOUT_MS = 2000;

export interface RecordOutput {
  /** `line` is a redacted record as JSON. */
  write(line: string, facts: RequestFacts): void;
  close(): Promise<void>;
}

export interface SinkCounts {
  written(records: number): void;
  dropped(records: number): void;
}

export function sinkCounts(metrics: Metrics): SinkCounts {
  const add = (result: "written" | "dropped", records: number) =>
    metrics.number("gatehouse_request_log_records_total", { result }).add(records);
  add("written", 0);
  add("dropped", 0);
  return { written: (records) => add("written", records), dropped: (records) => add("dropped", records) };
}

export class RequestSink {
  readonly #output: RecordOutput;
  readonly #counts: SinkCounts;
  readonly #decoding = new Set<Promise<void>>();

  constructor(output: RecordOutput, counts: SinkCounts) {
    this.#output = output;
    this.#counts = counts;
  }

  add(facts: RequestFacts): void {
    if (this.#decoding.size >= MAX_DECODING && facts.bodies !== null) {
      this.#counts.dropped(1);
      return;
    }
    const record = recordOf(facts);
    if (!isPromise(record)) this.#write(record, facts);
    else {
      const decoding: Promise<void> = record.then((decoded) => {
        this.#decoding.delete(decoding);
        this.#write(decoded, facts);
      });
      this.#decoding.add(decoding);
    }
  }

  /** Writes what is queued, for at most CLOSE_TIMEOUT_MS. */
  async close(): Promise<void> {
    const closed = Promise.all(this.#decoding).then(() => this.#output.close());
    await Promise.race([closed, Bun.sleep(CLOSE_TIMEOUT_MS)]);
  }

  #write(record: RequestRecord, facts: RequestFacts): void {
    this.#output.write(redact(JSON.stringify(record)), facts);
  }
}
