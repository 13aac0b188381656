// Reports of plugins in shadow mode: what is counted and kept, and how the reports of several processes are merged.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../../test/support/long-form.ts";
import { mergeShadowReports, SHADOW_OUTCOMES, ShadowReport, type ShadowResult } from "./shadow-report.ts";

const result: fc.Arbitrary<ShadowResult> = fc.record({
  outcome: fc.constantFrom(...SHADOW_OUTCOMES),
  status: fc.option(fc.integer({ min: 200, max: 599 })),
  detail: fc.option(fc.string()),
  agrees: fc.option(fc.boolean()),
  ms: fc.constantFrom(1, 2.34),
});
const sample = fc.record({
  result,
  requestId: fc.string({ minLength: 1, maxLength: 4 }),
  unixMs: fc.integer({ min: 0, max: 1e6 }),
});
/** As a report shows it. */
const shown = ({
  result: of,
  requestId,
  unixMs,
}: typeof sample extends fc.Arbitrary<infer T> ? T : never) => ({
  request_id: requestId,
  time: new Date(unixMs).toISOString(),
  ...of,
});

test("counts each sample once, however the samples are distributed over processes", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(sample, fc.integer({ min: 0, max: 2 })), { maxLength: 300 }), (samples) => {
      const reports = [new ShadowReport(), new ShadowReport(), new ShadowReport()];
      for (const [{ result: of, requestId, unixMs }, process] of samples)
        reports[process]?.add(of, requestId, unixMs);
      const { counts, samples: kept, since } = mergeShadowReports(reports.map(({ data }) => data));
      const all = samples.map(([each]) => shown(each));
      for (const outcome of SHADOW_OUTCOMES)
        expect(counts[outcome]).toBe(all.filter((each) => each.outcome === outcome).length);
      expect(counts.ran + counts.skipped).toBe(all.length);
      expect(counts.agreed).toBe(all.filter(({ agrees }) => agrees === true).length);
      const firsts = reports.flatMap(({ data }) => data.since ?? []);
      expect(since).toBe(firsts.length === 0 ? null : firsts.reduce((a, b) => (a < b ? a : b)));
      const noteworthy = all.filter(({ outcome, agrees }) =>
        agrees === null ? outcome !== "passed" && outcome !== "skipped" : !agrees,
      );
      expect(kept.length).toBe(Math.min(100, noteworthy.length));
      for (const each of kept) expect(noteworthy).toContainEqual(each);
      expect(kept.map(({ time }) => time)).toEqual(
        kept
          .map(({ time }) => time)
          .toSorted()
          .toReversed(),
      );
    }),
    { numRuns: runs({ short: 30, long: 5000 }) },
  );
});

test("counts at most 50 different statuses", () => {
  const report = new ShadowReport();
  for (let status = 200; status < 600; status++)
    report.add({ outcome: "responded", status, detail: null, agrees: null, ms: 0 }, "r", 0);
  expect(Object.keys(report.data.statuses).length).toBe(50);
  expect(report.data.counts.responded).toBe(400);
});
