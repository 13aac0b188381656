// Sends the metrics of /metrics to an OTLP collector at intervals. What could not be sent is part of the next export, because all
// values are cumulative.
import type { Log } from "../log/log.ts";
import { loggedUrl, type OtlpEndpoint } from "../otlp/otlp-settings.ts";
import { postOtlp } from "../otlp/post-otlp.ts";
import type { MetricsSource } from "./metrics.ts";
import { encodeMetrics, type MetricsSender } from "./otlp-metrics.ts";

const CLOSE_TIMEOUT_MS = 2000;

export interface MetricsExporterOptions extends MetricsSender {
  readonly endpoint: Pick<OtlpEndpoint, "url" | "headers">;
  readonly intervalMs: number;
}

export class MetricsExporter {
  readonly #options: MetricsExporterOptions;
  readonly #source: MetricsSource;
  readonly #log: Log;
  readonly #timer: Timer;
  #exporting: Promise<void> | null = null;
  #isFailing = false;

  constructor(options: MetricsExporterOptions, source: MetricsSource, log: Log) {
    this.#options = options;
    this.#source = source;
    this.#log = log;
    // An export that takes longer than the interval replaces the next one.
    this.#timer = setInterval(() => {
      this.#exporting ??= this.#export();
    }, options.intervalMs);
    this.#timer.unref();
  }

  /** Sends the last values, for at most CLOSE_TIMEOUT_MS. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const sent = (this.#exporting ?? Promise.resolve()).then(() => this.#export());
    await Promise.race([sent, Bun.sleep(CLOSE_TIMEOUT_MS)]);
  }

  async #export(): Promise<void> {
    try {
      this.#logResult(await this.#send());
    } catch (error) {
      this.#logResult(error instanceof Error ? error.message : String(error));
    } finally {
      this.#exporting = null;
    }
  }

  /** Returns why the metrics were not accepted, or null. The rest of an export is not sent after a failure. */
  async #send(): Promise<string | null> {
    const page = await this.#source.metricsText();
    for (const request of encodeMetrics(page, this.#options, Date.now())) {
      const { error, rejected } = await postOtlp(this.#options.endpoint, request);
      if (error !== null) return error;
      if (rejected > 0) return `the collector rejected ${rejected} data points`;
    }
    return null;
  }

  /** Logs once per outage, not once per export. */
  #logResult(reason: string | null): void {
    if ((reason !== null) === this.#isFailing) return;
    this.#isFailing = reason !== null;
    if (reason === null) this.#log.info("metrics export recovered");
    else this.#log.warn({ reason, url: loggedUrl(this.#options.endpoint) }, "metrics export failed");
  }
}
