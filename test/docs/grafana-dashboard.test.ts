// The Grafana dashboard: every expression is valid PromQL and uses only metrics and labels of the metric table.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { METRICS } from "../../src/telemetry/metrics/metric-table.ts";
import { labelsOf, problemsOf, seriesIn } from "../support/promql-series.ts";
import { checkExpressions, hasPromtool } from "../support/promtool.ts";

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

const queries = dashboard.panels.flatMap((panel) =>
  (panel.targets ?? []).map((target) => ({ panel: panel.title, ...target })),
);
const annotations = dashboard.annotations.list.map(({ expr }) => expr);

describe("the dashboard", () => {
  test("has queries", () => expect(queries.length).toBeGreaterThan(30));

  test.skipIf(!hasPromtool)("has only valid PromQL expressions", () => {
    // Grafana replaces its variables before Prometheus parses the expression.
    const expressions = [...queries.map(({ expr }) => expr), ...annotations].map((expr) =>
      expr.replaceAll("$__rate_interval", "5m"),
    );
    expect(checkExpressions(expressions)).toBe("");
  });

  for (const { panel, expr, legendFormat } of queries)
    test(`${panel}: ${expr}`, () => expect(problemsOf(expr, legendFormat)).toEqual([]));

  test("uses existing metrics in its variables and annotations", () => {
    for (const expr of annotations) expect(problemsOf(expr)).toEqual([]);
    const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
    expect(definitions.length).toBeGreaterThan(0);
    for (const definition of definitions) {
      const [, metric = "", label = ""] =
        /^label_values\((\w+)(?:\{[^}]*\})?, (\w+)\)$/.exec(definition) ?? [];
      expect(labelsOf(metric)).toContain(label);
    }
  });

  test("declares every variable that a query uses", () => {
    const declared = dashboard.templating.list.map(({ name }) => name);
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)/g)].map(([, name = ""]) => name);
    for (const name of used) if (!name.startsWith("__")) expect(declared).toContain(name);
  });

  test("filters every series by job and instance", () => {
    for (const { name, labels } of [...queries.map(({ expr }) => expr), ...annotations].flatMap(seriesIn))
      expect([name, labels.slice(0, 2)]).toEqual([name, ["job", "instance"]]);
  });

  test("shows every metric", () => {
    const shown = new Set(
      queries.flatMap(({ expr }) =>
        seriesIn(expr).map(({ name }) => name.replace(/_(bucket|sum|count)$/, "")),
      ),
    );
    const missing = Object.keys(METRICS).filter((name) => !shown.has(name));
    // /readyz names the gateways that this metric counts.
    expect(missing).toEqual(["gatehouse_faulty_gateways"]);
  });

  test("has no overlapping panels and no duplicate panel ids", () => {
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

describe("the checks find", () => {
  test.skipIf(!hasPromtool).each([
    ["sum(rate(gatehouse_requests_total[5m])", "unclosed left parenthesis"],
    ["sum(rates(gatehouse_requests_total[5m]))", "unknown function"],
    ["sum(rate(gatehouse_requests_total[5x]))", "duration"],
    ["histogram_quantile(gatehouse_ready)", "expected 2 argument(s)"],
    ["sum(gatehouse_requests_total[5m])", "expected type instant vector"],
  ])("invalid PromQL: %s", (expression, error) =>
    expect(checkExpressions(["vector(1)", expression])).toContain(error),
  );

  test.each(["sum(rate(gatehouse_request_total[5m]))", "sum(rate(gatehouse_request_duration_seconds[5m]))"])(
    "an unknown series: %s",
    (expression) => expect(() => problemsOf(expression)).toThrow("the metric table has no series"),
  );

  test.each([
    ['gatehouse_requests_total{gatway="x"}', "", "gatehouse_requests_total has no label gatway"],
    ["sum by (code) (rate(gatehouse_requests_total[5m]))", "", "gatehouse_requests_total has no label code"],
    [
      "sum by (status) (gatehouse_requests_total)",
      "{{state}}",
      "the result has no label state, which the legend uses",
    ],
  ])("an unknown label: %s %s", (expression, legend, error) =>
    expect(problemsOf(expression, legend)).toEqual([error]),
  );
});
