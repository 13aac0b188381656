// The metric series of one rule, provider and model.
import type { HistogramSeries, NumberSeries } from "./metric-family.ts";
import type { Metrics } from "./metrics.ts";

export class RequestSeries {
  readonly #metrics: Metrics;
  readonly #labels: { gateway: string; rule: string; provider: string; model: string };
  readonly #byStatus = new Map<number, NumberSeries>();
  readonly duration: HistogramSeries;
  #firstByte: HistogramSeries | null = null;
  #firstToken: HistogramSeries | null = null;
  #perOutputToken: HistogramSeries | null = null;
  #inputTokens: NumberSeries | null = null;
  #outputTokens: NumberSeries | null = null;
  #cost: NumberSeries | null = null;
  #unpriced: NumberSeries | null = null;

  constructor(metrics: Metrics, gateway: string, rule: string, provider: string, model: string) {
    this.#metrics = metrics;
    this.#labels = { gateway, rule, provider, model };
    this.duration = metrics.histogram("gatehouse_request_duration_seconds", this.#labels);
  }

  countStatus(status: number): void {
    let series = this.#byStatus.get(status);
    if (series === undefined) {
      const labels = { ...this.#labels, status: String(status) };
      series = this.#metrics.number("gatehouse_requests_total", labels);
      this.#byStatus.set(status, series);
    }
    series.add();
  }

  // Created when first needed: most routes never use some of these series.
  get firstByte(): HistogramSeries {
    return (this.#firstByte ??= this.#metrics.histogram("gatehouse_first_byte_seconds", this.#labels));
  }
  get firstToken(): HistogramSeries {
    return (this.#firstToken ??= this.#metrics.histogram(
      "gatehouse_time_to_first_token_seconds",
      this.#labels,
    ));
  }
  get perOutputToken(): HistogramSeries {
    return (this.#perOutputToken ??= this.#metrics.histogram(
      "gatehouse_time_per_output_token_seconds",
      this.#labels,
    ));
  }
  get inputTokens(): NumberSeries {
    return (this.#inputTokens ??= this.#tokens("input"));
  }
  get outputTokens(): NumberSeries {
    return (this.#outputTokens ??= this.#tokens("output"));
  }
  get cost(): NumberSeries {
    return (this.#cost ??= this.#metrics.number("gatehouse_cost_dollars_total", this.#labels));
  }

  get unpriced(): NumberSeries {
    return (this.#unpriced ??= this.#metrics.number("gatehouse_unpriced_requests_total", this.#labels));
  }

  #tokens(direction: string): NumberSeries {
    return this.#metrics.number("gatehouse_tokens_total", { ...this.#labels, direction });
  }
}
