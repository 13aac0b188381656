// The list of dropped fields is bounded, because clients choose the names of unknown fields.
import { expect, test } from "bun:test";
import { TranslationReport } from "./translation-report.ts";

test("lists each field once, in the order in which they were dropped", () => {
  const report = new TranslationReport();
  report.dropPresent({ seed: 1, user: null, top_k: 2 }, ["top_k", "user", "seed"]);
  report.drop("seed");
  expect(report.dropped).toEqual(["top_k", "seed"]);
});

test("shortens long names", () => {
  const report = new TranslationReport();
  report.drop("ä".repeat(1_000_000));
  expect(report.dropped).toEqual([`${"ä".repeat(64)}...`]);
});

test("fits into a header value, and shows that there are more fields", () => {
  const report = new TranslationReport();
  for (let number = 0; number < 100_000; number++) report.drop(`field_${number}`);
  expect(report.dropped[0]).toBe("field_0");
  expect(report.dropped.at(-1)).toBe("...");
  expect(`dropped=${report.dropped.join(",")}`.length).toBeLessThanOrEqual(256);
});
