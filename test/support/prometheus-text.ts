// Reads a page in Prometheus' text format as strictly as Prometheus does, so that a test may look a value up.

export interface MetricsPage {
  /** `gatehouse_requests_total` and so on, with the type that its TYPE line gives. */
  readonly types: ReadonlyMap<string, string>;
  /** The value of the series with exactly these labels; null where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | null;
  /** The sum of all series that have at least these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
  readonly series: readonly Sample[];
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

/** Throws at what Prometheus would refuse: a bad line, a type after its samples, a series given twice. */
export function readMetrics(text: string): MetricsPage {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const types = new Map<string, string>();
  const series: Sample[] = [];
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split("\n")) {
    const [, kind, named = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === "TYPE") {
      if (types.has(named)) throw new Error(`two types of ${named}`);
      types.set(named, rest);
    }
    if (kind !== undefined) continue;
    const [, name = "", labelText = "", value = ""] = LINE.exec(line) ?? [];
    if (name === "") throw new Error(`not a line of metrics: ${line}`);
    if (seen.has(name + labelText)) throw new Error(`given twice: ${line}`);
    seen.add(name + labelText);
    const family = name.replace(/_(bucket|sum|count)$/, "");
    if (!types.has(name) && types.get(family) !== "histogram") throw new Error(`no type before ${line}`);
    series.push({ name, labels: readLabels(labelText), value: Number(value.replace("Inf", "Infinity")) });
  }
  const matching = (name: string, labels: Readonly<Record<string, string>>) =>
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
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex;
    const [, name = "", value = ""] = LABEL.exec(text) ?? [];
    if (name === "" || name in labels) throw new Error(`bad labels at ${at}: ${text}`);
    labels[name] = value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
  }
  return labels;
}
