// The metrics registry: Prometheus text, bounds on series, and merging the pages of several processes.
import { describe, expect, test } from "bun:test";
import { readMetrics } from "../../../test/support/prometheus-text.ts";
import { checkMetrics, hasPromtool } from "../../../test/support/promtool.ts";
import { mergeEndedMetrics, mergeMetrics } from "./merge-metrics.ts";
import { MAX_SERIES, MetricFamily, NumberSeries } from "./metric-family.ts";
import { METRICS } from "./metric-table.ts";
import { Metrics } from "./metrics.ts";
import { ObservedRoutes } from "./observed-route.ts";

const HOUR = 3_600_000;

describe("a page of metrics", () => {
  test("declares every metric of the table once, with its type, also without series", () => {
    const { types } = readMetrics(new Metrics().render());
    expect(Object.fromEntries(types)).toEqual(
      Object.fromEntries(Object.entries(METRICS).map(([name, { type }]) => [name, type])),
    );
  });

  test("label values may be any text; secrets in them are redacted", () => {
    const metrics = new Metrics();
    const odd = 'a "quoted"\nline \\ with {braces}, commas = and more';
    metrics.number("gatehouse_errors_total", { gateway: odd, code: "x" }).add(2);
    const routes = new ObservedRoutes(metrics);
    const secret = "sk-abcdefghijklmnop";
    routes.gateway(null, "g").countError(secret);
    routes.plugin({}, "g", "p", "pre_request").count("seen", secret);
    const page = readMetrics(metrics.render());
    expect(page.value("gatehouse_errors_total", { gateway: odd, code: "x" })).toBe(2);
    expect(page.sum("gatehouse_errors_total", { code: "sk-***" })).toBe(1);
    expect(page.sum("gatehouse_plugin_events_total", { kind: "sk-***" })).toBe(1);
  });

  test.skipIf(!hasPromtool)("passes promtool check metrics, merged or not", () => {
    const metrics = new Metrics();
    metrics
      .number("gatehouse_errors_total", { gateway: 'a "quoted"\nline \\ with {braces}', code: "x" })
      .add(2);
    metrics.histogram("gatehouse_event_loop_lag_seconds", {}).observe(0.005);
    const page = metrics.render();
    expect(checkMetrics(page)).toBe("");
    expect(checkMetrics(mergeMetrics([page, page]))).toBe("");
    expect(checkMetrics(page.replace("gatehouse_ready", "gatehouse-ready"))).toContain("error");
  });

  test("a histogram is cumulative with inclusive bounds, and has a sum and a count", () => {
    const metrics = new Metrics();
    const lag = metrics.histogram("gatehouse_event_loop_lag_seconds", {});
    for (const value of [0.0005, 0.005, 0.2, 7]) lag.observe(value);
    const page = readMetrics(metrics.render());
    const bucket = (le: string) => page.value("gatehouse_event_loop_lag_seconds_bucket", { le });
    expect([
      bucket("0.001"),
      bucket("0.005"),
      bucket("0.1"),
      bucket("0.25"),
      bucket("1"),
      bucket("+Inf"),
    ]).toEqual([1, 2, 2, 3, 3, 4]);
    expect(page.value("gatehouse_event_loop_lag_seconds_count")).toBe(4);
    expect(page.value("gatehouse_event_loop_lag_seconds_sum")).toBeCloseTo(7.2055);
  });

  test("collectors run for every page", () => {
    const metrics = new Metrics();
    let looks = 0;
    metrics.onCollect(() => metrics.set("gatehouse_ready", {}, ++looks));
    metrics.render();
    expect(readMetrics(metrics.render()).value("gatehouse_ready")).toBe(2);
  });
});

describe("bounds", () => {
  const family = () => {
    let drops = 0;
    const declaration = METRICS.gatehouse_errors_total;
    const made = new MetricFamily(
      "f",
      declaration,
      () => new NumberSeries(),
      () => (drops += 1),
      0,
    );
    return { family: made, drops: () => drops };
  };
  const lines = (text: string) => text.split("\n").filter((line) => line.startsWith("f{"));

  test("beyond the maximum number of series, new label values are counted as other, and no count is lost", () => {
    const { family: errors } = family();
    for (let index = 0; index < MAX_SERIES + 50; index++) errors.series(["g", `code ${index}`], 0).add();
    const rendered = lines(errors.render());
    expect(rendered).toHaveLength(MAX_SERIES + 1);
    expect(rendered.at(-1)).toBe('f{gateway="g",code="other"} 50');
    errors.series(["g", "code 3"], 0).add();
    expect(errors.render()).toContain('f{gateway="g",code="code 3"} 2\n');
  });

  test("a gateway with all its series loses those that were idle for an hour", () => {
    const { family: errors, drops } = family();
    for (let index = 0; index < MAX_SERIES; index++) errors.series(["g", `old ${index}`], 0).add();
    const add = (code: string, now: number) => errors.series(["g", code], now).add();
    // The first check records the activity; the second removes series without new activity.
    add("new", HOUR);
    expect(errors.render()).toContain('code="other"} 1\n');
    add("old 7", HOUR + 1);
    add("newer", 2 * HOUR);
    expect(drops()).toBeGreaterThan(0);
    expect(lines(errors.render()).map((line) => line.slice(1))).toEqual([
      '{gateway="g",code="old 7"} 2',
      '{gateway="g",code="other"} 1',
      '{gateway="g",code="newer"} 1',
    ]);
  });

  test("the series of one gateway neither replace nor remove those of another", () => {
    const { family: errors } = family();
    errors.series(["idle", "code"], 0).add();
    for (const hours of [0, 1, 2, 3])
      for (let index = 0; index < MAX_SERIES + 50; index++)
        errors.series(["hostile", `${hours} ${index}`], hours * HOUR).add();
    for (let index = 0; index < MAX_SERIES; index++) errors.series(["new", `${index}`], 3 * HOUR).add();
    const rendered = lines(errors.render());
    expect(rendered).toContain('f{gateway="idle",code="code"} 1');
    expect(rendered.filter((line) => line.includes('"new"'))).toHaveLength(MAX_SERIES);
    expect(rendered.filter((line) => line.includes('"hostile"')).length).toBeLessThan(MAX_SERIES + 2);
  });

  test("the series of a deleted gateway are on one more page, and are then removed", () => {
    const metrics = new Metrics();
    const names = ["kept", "deleted", "x".repeat(300)];
    metrics.onCollect(() => metrics.dropDeletedGateways(names));
    const count = () => {
      for (const gateway of ["", ...names])
        metrics.number("gatehouse_request_outcomes_total", { gateway, outcome: "complete" }).add();
    };
    const shown = () =>
      new Set(readMetrics(metrics.render()).series.flatMap(({ labels }) => labels["gateway"] ?? []));
    count();
    expect(shown().size).toBe(4);
    names.splice(1, 1);
    const { generation } = metrics;
    expect(shown()).toContain("deleted");
    expect(shown()).toEqual(new Set(["", "kept", "x".repeat(128)]));
    expect(metrics.generation).toBeGreaterThan(generation);
  });

  test("unknown models share one series; configured models and models with a successful response have their own", () => {
    const metrics = new Metrics();
    const routes = new ObservedRoutes(metrics);
    const rule = { id: "r", name: null, path: "/p" };
    const target = {
      id: "t",
      provider: "p",
      semanticName: "p",
      baseUrl: "http://p",
      path: null,
      models: ["declared"],
    };
    const observed = routes.addRule({}, { gateway: "g", rule, upstream: "u" }, [target]).targets[0]!;
    observed.series("declared", false).countStatus(500);
    for (let index = 0; index < 300; index++) observed.series(`made up ${index}`, false).countStatus(404);
    for (let index = 0; index < 300; index++) observed.series(`served ${index}`, true).countStatus(200);
    observed.series("served 0", false).countStatus(500);
    const page = readMetrics(metrics.render());
    const sum = (labels: Record<string, string>) => page.sum("gatehouse_requests_total", labels);
    expect(sum({ model: "declared" })).toBe(1);
    expect(sum({ model: "served 0" })).toBe(2);
    expect(sum({ model: "other", status: "404" })).toBe(300);
    expect(sum({})).toBe(602);
    expect(new Set(page.series.map(({ labels }) => labels["model"])).size).toBeLessThan(60);
  });

  test("error codes of plugins are bounded per gateway", () => {
    const metrics = new Metrics();
    const gateway = new ObservedRoutes(metrics).gateway({}, "g");
    for (let index = 0; index < 500; index++) gateway.countError(`code ${index % 100}`);
    const page = readMetrics(metrics.render());
    expect(page.sum("gatehouse_errors_total")).toBe(500);
    expect(page.sum("gatehouse_errors_total", { code: "code 1" })).toBe(5);
    expect(page.sum("gatehouse_errors_total", { code: "other" })).toBe(250);
  });

  test("events are bounded per plugin", () => {
    const metrics = new Metrics();
    const plugin = new ObservedRoutes(metrics).plugin({}, "g", "p", "pre_request");
    for (let index = 0; index < 500; index++) plugin.count("seen", `kind ${index % 250}`);
    const page = readMetrics(metrics.render());
    expect(page.sum("gatehouse_plugin_events_total")).toBe(500);
    expect(page.sum("gatehouse_plugin_events_total", { kind: "kind 0" })).toBe(2);
    expect(page.sum("gatehouse_plugin_events_total", { event: "other", kind: "other" })).toBe(300);
  });

  test("callers look up series again after they were removed", () => {
    const metrics = new Metrics();
    const routes = new ObservedRoutes(metrics);
    const key = {};
    const before = routes.gateway(key, "g");
    expect(routes.gateway(key, "g")).toBe(before);
    metrics.generation++;
    expect(routes.gateway(key, "g")).not.toBe(before);
  });
});

describe("mergeMetrics", () => {
  test("sums counters, histograms and load gauges; takes the worst state and the oldest revision", () => {
    const pages = [1, 2].map((factor) => {
      const metrics = new Metrics();
      metrics.number("gatehouse_errors_total", { gateway: "g", code: "a" }).add(factor);
      metrics.number("gatehouse_errors_total", { gateway: "g", code: `only ${factor}` }).add(factor);
      metrics.histogram("gatehouse_event_loop_lag_seconds", {}).observe(factor / 10);
      metrics.set("gatehouse_requests_in_flight", {}, factor);
      metrics.set("gatehouse_ready", {}, factor - 1);
      metrics.set("gatehouse_config_revision", {}, 10 * factor);
      metrics.set("gatehouse_faulty_gateways", {}, factor);
      return metrics.render();
    });
    const page = readMetrics(mergeMetrics(pages));
    expect(page.value("gatehouse_errors_total", { gateway: "g", code: "a" })).toBe(3);
    expect(page.value("gatehouse_errors_total", { gateway: "g", code: "only 2" })).toBe(2);
    expect(page.value("gatehouse_event_loop_lag_seconds_bucket", { le: "0.1" })).toBe(1);
    expect(page.value("gatehouse_event_loop_lag_seconds_count")).toBe(2);
    expect(page.value("gatehouse_event_loop_lag_seconds_sum")).toBeCloseTo(0.3);
    expect(page.value("gatehouse_requests_in_flight")).toBe(3);
    expect(page.value("gatehouse_ready")).toBe(0);
    expect(page.value("gatehouse_config_revision")).toBe(10);
    expect(page.value("gatehouse_faulty_gateways")).toBe(2);
  });

  test("leaves a single page unchanged", () => {
    const metrics = new Metrics();
    metrics.number("gatehouse_errors_total", { gateway: 'a b "c"', code: "a" }).add();
    const page = metrics.render();
    expect(mergeMetrics([page])).toBe(page);
  });
});

describe("mergeEndedMetrics", () => {
  test("keeps counters and histograms of existing gateways, and no gauges", () => {
    const name = 'a "b" \\ c';
    const pages = [1, 2].map((count) => {
      const metrics = new Metrics();
      for (const gateway of [name, "deleted", ""])
        metrics.number("gatehouse_errors_total", { gateway, code: "a" }).add(count);
      metrics.histogram("gatehouse_event_loop_lag_seconds", {}).observe(0.1);
      metrics.set("gatehouse_requests_in_flight", {}, count);
      metrics.set("gatehouse_ready", {}, 1);
      return metrics.render();
    });
    const living = new Metrics();
    living.dropDeletedGateways([name]);
    const merged = mergeEndedMetrics(pages, (gateway) => living.isExistingGateway(gateway));
    expect(checkMetrics(merged)).toBe("");
    const page = readMetrics(merged);
    expect(page.value("gatehouse_errors_total", { gateway: name, code: "a" })).toBe(3);
    expect(page.value("gatehouse_errors_total", { gateway: "", code: "a" })).toBe(3);
    expect(page.value("gatehouse_errors_total", { gateway: "deleted", code: "a" })).toBeNull();
    expect(page.value("gatehouse_event_loop_lag_seconds_count")).toBe(2);
    expect(page.value("gatehouse_requests_in_flight")).toBeNull();
    expect(page.value("gatehouse_ready")).toBeNull();
    expect(mergeEndedMetrics([merged], (gateway) => living.isExistingGateway(gateway))).toBe(merged);
  });
});
