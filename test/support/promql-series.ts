// The series and labels that a PromQL expression uses, checked against the metric table.
import type { MetricDeclaration } from "../../src/telemetry/metrics/metric-declaration.ts";
import { METRICS } from "../../src/telemetry/metrics/metric-table.ts";

/** Labels that Prometheus adds to every series when it scrapes. */
const SCRAPE_LABELS = ["instance", "job"];
/** The series by which Prometheus reports whether it could scrape an instance. */
const SCRAPED = "up";
const declarations: Readonly<Record<string, MetricDeclaration | undefined>> = METRICS;

/** Returns the labels of a stored series; throws if the metric table does not have it. */
export function labelsOf(series: string): string[] {
  if (series === SCRAPED) return SCRAPE_LABELS;
  const family = series.replace(/_(bucket|sum|count)$/, "");
  const histogram = declarations[family];
  if (family !== series && histogram?.type === "histogram")
    return [...histogram.labels, ...SCRAPE_LABELS, ...(series.endsWith("_bucket") ? ["le"] : [])];
  const declared = declarations[series];
  if (declared === undefined || declared.type === "histogram")
    throw new Error(`the metric table has no series ${series}`);
  return [...declared.labels, ...SCRAPE_LABELS];
}

const GROUPING = /\bby \(([^)]*)\)/;
/** A series with its label matchers (a name that is neither a function nor an aggregation), or a grouping. */
const SERIES_OR_GROUPING =
  /\bby \((?<grouping>[^)]*)\)|\b(?<name>[a-z_]\w*)\b(?! ?\(| by \()(?:\{(?<matchers>[^}]*)\})?/g;
const OPERATORS = new Set(["and", "or", "unless", "group_left", "group_right"]);
/** Ranges, offsets, and the labels by which two operands are matched. */
const WITHOUT_SERIES = /\[[^\]]*\]|\boffset \w+|\bon \([^)]*\)/g;

interface UsedSeries {
  readonly name: string;
  /** Labels in matchers and in the grouping directly before the series. */
  readonly labels: readonly string[];
}

/** Extracts the series of an expression with the labels it uses. promtool checks the syntax. */
export function seriesIn(expression: string): UsedSeries[] {
  const found: UsedSeries[] = [];
  let grouping: string[] = [];
  for (const { groups = {} } of expression.replaceAll(WITHOUT_SERIES, "").matchAll(SERIES_OR_GROUPING)) {
    const { grouping: labels, name = "", matchers = "" } = groups;
    if (labels !== undefined) grouping = splitLabels(labels);
    else if (!OPERATORS.has(name)) {
      const matched = [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label);
      found.push({ name, labels: [...matched, ...grouping] });
      grouping = [];
    }
  }
  return found;
}

const splitLabels = (text: string) => text.split(",").map((label) => label.trim());

/** Returns the labels that an expression uses and its series do not have. */
export function problemsOf(expression: string, legend = ""): string[] {
  const problems = seriesIn(expression).flatMap(({ name, labels }) => {
    const known = labelsOf(name);
    return labels.filter((label) => !known.includes(label)).map((label) => `${name} has no label ${label}`);
  });
  const resultLabels = splitLabels(GROUPING.exec(expression)?.[1] ?? "");
  for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g))
    if (!resultLabels.includes(label) || label === "le")
      problems.push(`the result has no label ${label}, which the legend uses`);
  return problems;
}
