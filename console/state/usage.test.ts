// Usage totals, and CSV export with safe quoting.
import { expect, test } from "bun:test";
import type { UsageRow } from "../api/item-types.ts";
import type { ApiKey } from "../api/types.ts";
import {
  daysBetween,
  groupChoices,
  groupName,
  sumUsage,
  toCsv,
  costDecimals,
  periodBefore,
} from "./usage.ts";

function row(fields: Partial<UsageRow>): UsageRow {
  const counts = { requests: 1, partial_requests: 0, input_tokens: 10, output_tokens: 20 };
  const saved = { cached_requests: 0, saved_input_tokens: 0, saved_output_tokens: 0, saved_cost: 0 };
  return { ...counts, ...saved, unpriced_requests: 0, cost: 0, ...fields };
}

test("sums rows", () => {
  expect(sumUsage([row({}), row({ cost: 0.5 })])).toMatchObject({
    requests: 2,
    input: 20,
    output: 40,
    cost: 0.5,
  });
});

test("requests without a price are counted apart; if all are, the cost is unknown and not 0", () => {
  const unpriced = row({ requests: 2, unpriced_requests: 2, cost: null });
  expect(sumUsage([unpriced, unpriced])).toMatchObject({ requests: 4, unpriced: 4, cost: null });
  expect(sumUsage([unpriced, row({ cost: 0.5 })])).toMatchObject({ requests: 3, unpriced: 2, cost: 0.5 });
  expect(sumUsage([])).toMatchObject({ unpriced: 0, cost: 0 });
  expect(toCsv([unpriced])).toEndWith(",2,0,10,20,2,\r\n");
});

test("lists every day across the end of a month", () => {
  expect(daysBetween("2026-02-27", "2026-03-02")).toEqual([
    "2026-02-27",
    "2026-02-28",
    "2026-03-01",
    "2026-03-02",
  ]);
});

test("the period before has the same length", () => {
  expect(periodBefore("2026-03-01", "2026-03-02")).toEqual({ from: "2026-02-27", to: "2026-02-28" });
  expect(periodBefore("2026-03-01", "2026-03-01")).toEqual({ from: "2026-02-28", to: "2026-02-28" });
});

test("a column of costs has as many decimals as its smallest amount needs", () => {
  expect(costDecimals([12, 3.5, null, 0])).toBe(2);
  expect(costDecimals([12, 0.034])).toBe(3);
  expect(costDecimals([0.0000001])).toBe(6);
  expect(costDecimals([])).toBe(2);
});

test("quotes cells with commas, quotes, and line breaks", () => {
  const [, line] = toCsv([row({ day: "2026-11-01", api_key: 'a "b", c', model: "x\ny" })]).split("\r\n");
  expect(line).toBe('2026-11-01,"a ""b"", c",,"x\ny",1,0,10,20,0,0');
});

test("escapes names that a spreadsheet would evaluate as a formula", () => {
  expect(toCsv([row({ api_key: "=1+1" })])).toContain("'=1+1");
});

test("usage can be grouped by the labels of all keys", () => {
  const key = (labels: Record<string, string>) => ({ labels }) as unknown as ApiKey;
  expect(groupChoices([key({ team: "a", app: "b" }), key({}), key({ team: "c" })])).toEqual([
    ["rule", "Rule"],
    ["provider", "Provider"],
    ["label:app", "Label app"],
    ["label:team", "Label team"],
  ]);
});

test("a row of a group has the name of its rule, its provider, or the value of its label", () => {
  expect(groupName(row({ rule: "chat" }), "rule")).toBe("chat");
  expect(groupName(row({ rule: null }), "rule")).toBe("No rule");
  expect(groupName(row({ provider: "openai" }), "provider")).toBe("openai");
  expect(groupName(row({ labels: { team: "search" } }), "label:team")).toBe("search");
  expect(groupName(row({ labels: { team: null } }), "label:team")).toBe("No label");
});
