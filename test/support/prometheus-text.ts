// Reads values from a page in the Prometheus text format. promtool.ts checks whether a page is valid.

export interface MetricsPage {
  /** Metric name to the type of its TYPE line. */
  readonly types: ReadonlyMap<string, string>;
  /** Returns the value of the series with exactly these labels; null if there is none. */
  value(name: string, labels?: Labels): number | null;
  /** Returns the sum of all series that have at least these labels. */
  sum(name: string, labels?: Labels): number;
  readonly series: readonly Sample[];
}

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

const TYPE_LINE = /^# TYPE (\S+) (\S+)$/gm;
const SAMPLE_LINE = /^([^#{\s]+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Throws if a series is given twice, which `promtool check metrics` accepts. */
export function readMetrics(text: string): MetricsPage {
  const types = new Map([...text.matchAll(TYPE_LINE)].map(([, name = "", type = ""]) => [name, type]));
  const series: Sample[] = [];
  const seen = new Set<string>();
  for (const [, name = "", labelText = "", value = ""] of text.matchAll(SAMPLE_LINE)) {
    if (seen.has(name + labelText)) throw new Error(`series given twice: ${name}{${labelText}}`);
    seen.add(name + labelText);
    series.push({ name, labels: readLabels(labelText), value: Number(value.replace("Inf", "Infinity")) });
  }
  const matching = (name: string, labels: Labels) =>
    series.filter(
      (each) =>
        each.name === name && Object.entries(labels).every(([label, value]) => each.labels[label] === value),
    );
  return {
    types,
    series,
    value: (name, labels = {}) =>
      matching(name, labels).find((each) => Object.keys(each.labels).length === Object.keys(labels).length)
        ?.value ?? null,
    sum: (name, labels = {}) => matching(name, labels).reduce((total, { value }) => total + value, 0),
  };
}

function readLabels(text: string): Record<string, string> {
  const unescape = (value: string) =>
    value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
  return Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, unescape(value)]),
  );
}
