// Reads the values in a page of metrics that `Metrics.render` or `mergeMetrics` wrote.

export const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Names and values. */
export type Labels = readonly (readonly [name: string, value: string])[];

export interface Point {
  readonly metric: string;
  readonly labels: Labels;
  /** For a histogram the sum of the observed values. */
  readonly value: number;
  /** The counts of a histogram's buckets, not cumulative; null for a counter or a gauge. */
  readonly buckets: readonly number[] | null;
}

/** Yields the points of each metric one after another. */
export function* readPoints(page: string): Generator<Point> {
  let metric = "";
  let isHistogram = false;
  let buckets: number[] = [];
  let below = 0;
  let sum = 0;
  for (const line of page.split("\n")) {
    if (line.startsWith("# TYPE ")) {
      const [, , name = "", type] = line.split(" ");
      metric = name;
      isHistogram = type === "histogram";
      continue;
    }
    const [, sample = "", labels = "", text] = SAMPLE.exec(line) ?? [];
    if (sample === "") continue;
    const value = Number(text);
    if (!isHistogram) yield { metric, labels: labelsIn(labels), value, buckets: null };
    else if (sample === `${metric}_bucket`) {
      buckets.push(value - below);
      below = value;
    } else if (sample === `${metric}_sum`) sum = value;
    else {
      // The count is the last line of a histogram.
      yield { metric, labels: labelsIn(labels), value: sum, buckets };
      buckets = [];
      below = 0;
    }
  }
}

function labelsIn(text: string): Labels {
  return [...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, unescapeLabel(value)]);
}

export function unescapeLabel(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}
