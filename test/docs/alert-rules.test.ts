// The alert rules of deploy/prometheus: they use only existing metrics and labels, and fire when they should.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { problemsOf } from "../support/promql-series.ts";
import { checkRules, hasPromtool, testRules } from "../support/promtool.ts";

const DIRECTORY = join(import.meta.dir, "../../deploy/prometheus");
const file = join(DIRECTORY, "alerts.yaml");

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const { groups } = Bun.YAML.parse(readFileSync(file, "utf8")) as {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

test.each(rules.map((rule) => [rule.alert, rule] as const))("%s", (name, { expr, labels, annotations }) => {
  expect(name).toStartWith("Gatehouse");
  expect(problemsOf(expr)).toEqual([]);
  expect(["critical", "warning", "info"]).toContain(labels.severity);
  expect(annotations.summary).not.toBe("");
  expect(annotations.description).not.toBe("");
});

test.skipIf(!hasPromtool)("promtool accepts the rules, and its tests of them pass", () => {
  expect(checkRules(file)).toBe("");
  expect(testRules(join(DIRECTORY, "alerts.test.yaml"))).toBe("");
});
