// The Grafana dashboard asks only for what there is: every query is read, every metric and label looked up in the table.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { METRICS, type MetricDeclaration } from "../../src/telemetry/metrics/metric-table.ts";
import { readQuery, type Selector } from "../support/promql.ts";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const dashboard = JSON.parse(
  readFileSync(join(import.meta.dir, "../../deploy/grafana/gatehouse.json"), "utf8"),
) as {
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
};

/** What Prometheus itself adds to every series. */
const SCRAPED = ["instance", "job"];
const declarations: Readonly<Record<string, MetricDeclaration | undefined>> = METRICS;

/** The labels of a series as it is stored; throws where there is no such metric. */
function labelsOf(series: string): string[] {
  const family = series.replace(/_(bucket|sum|count)$/, "");
  const histogram = declarations[family];
  if (family !== series && histogram?.type === "histogram")
    return [...histogram.labels, ...SCRAPED, ...(series.endsWith("_bucket") ? ["le"] : [])];
  const declared = declarations[series];
  if (declared === undefined || declared.type === "histogram")
    throw new Error(`there is no series ${series}`);
  return [...declared.labels, ...SCRAPED];
}

/** What a query asks for that there is not. */
function faultsOf(expression: string, legend = ""): string[] {
  const { selectors, groupings, resultLabels } = readQuery(expression);
  const problems: string[] = [];
  const check = ({ metric }: Selector, labels: readonly string[]) => {
    const known = labelsOf(metric);
    for (const label of labels) if (!known.includes(label)) problems.push(`${metric} has no label ${label}`);
  };
  for (const selector of selectors) check(selector, selector.labels);
  for (const { labels, of } of groupings) for (const selector of of) check(selector, labels);
  for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g))
    if (!resultLabels.includes(label)) problems.push(`the legend's ${label} is not in the result`);
  return problems;
}

const queries = dashboard.panels.flatMap((panel) =>
  (panel.targets ?? []).map((target) => ({ panel: panel.title, ...target })),
);

describe("the dashboard", () => {
  test("has queries at all", () => expect(queries.length).toBeGreaterThan(30));

  for (const { panel, expr, legendFormat } of queries)
    test(`${panel}: ${expr}`, () => expect(faultsOf(expr, legendFormat)).toEqual([]));

  test("its variables and annotations ask for what there is", () => {
    for (const { expr } of dashboard.annotations.list) expect(faultsOf(expr)).toEqual([]);
    const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
    expect(definitions.length).toBeGreaterThan(0);
    for (const definition of definitions) {
      const [, metric = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
      expect(labelsOf(metric)).toContain(label);
    }
  });

  test("every variable that a query uses is declared", () => {
    const declared = dashboard.templating.list.map(({ name }) => name);
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)/g)].map(([, name = ""]) => name);
    for (const name of used) if (!name.startsWith("__")) expect(declared).toContain(name);
  });

  test("shows every metric there is", () => {
    const shown = new Set(
      queries.flatMap(({ expr }) =>
        readQuery(expr).selectors.map(({ metric }) => metric.replace(/_(bucket|sum|count)$/, "")),
      ),
    );
    // Those that do not compile are told by /readyz, by name.
    const missing = Object.keys(METRICS).filter((name) => !shown.has(name));
    expect(missing).toEqual(["gatehouse_faulty_gateways"]);
  });

  test("no panel lies on another, and ids differ", () => {
    const { panels } = dashboard;
    expect(new Set(panels.map((panel) => panel.id)).size).toBe(panels.length);
    for (const [index, { gridPos: a, title }] of panels.entries()) {
      expect(a.x + a.w).toBeLessThanOrEqual(24);
      for (const { gridPos: b, title: other } of panels.slice(index + 1)) {
        const isApart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        expect([title, other, isApart]).toEqual([title, other, true]);
      }
    }
  });
});

describe("the check itself finds", () => {
  test.each([
    ["sum(rate(gatehouse_request_total[5m]))", "no series gatehouse_request_total"],
    ["sum(rate(gatehouse_request_duration_seconds[5m]))", "no series"],
    ["sum(rate(gatehouse_requests_total[5m])", "ends too early"],
    ["sum by status (rate(gatehouse_requests_total[5m]))", 'instead of "("'],
    ["sum(rates(gatehouse_requests_total[5m]))", "no function rates"],
    ["sum(rate(gatehouse_requests_total[5x]))", "not PromQL"],
    ["gatehouse_ready gatehouse_ready", "more than a query"],
    ["histogram_quantile(gatehouse_ready)", "takes 2 arguments"],
  ])("%s: %s", (expression, error) => expect(() => faultsOf(expression)).toThrow(error));

  test.each([
    ['gatehouse_requests_total{gatway="x"}', "", "gatehouse_requests_total has no label gatway"],
    ["sum by (code) (rate(gatehouse_requests_total[5m]))", "", "gatehouse_requests_total has no label code"],
    ["sum by (status) (gatehouse_requests_total)", "{{state}}", "the legend's state is not in the result"],
  ])("%s %s", (expression, legend, error) => expect(faultsOf(expression, legend)).toEqual([error]));
});
