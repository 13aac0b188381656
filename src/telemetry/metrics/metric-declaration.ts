// What the table of metrics says about each metric, and the buckets of its histograms.

export type MetricType = "counter" | "gauge" | "histogram";

export interface MetricDeclaration {
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
  /** How the values of several worker processes are merged; the default is their sum. */
  readonly merge?: "min" | "max";
}

/** From a cached response to a model that reasons for minutes. */
export const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
/** From a small model on fast hardware, more than 1,000 tokens per second, to a stalled stream. */
export const TOKEN_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2.5,
];
export const PLUGIN_SECONDS = [0.00001, 0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.05, 0.25, 1, 5];
export const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
