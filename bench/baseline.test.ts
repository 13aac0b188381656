import { expect, test } from "bun:test";
import { compareRatios } from "./baseline.ts";

const slowerOf = (baseline: number, now: number) =>
  compareRatios({ "1k": { bare: baseline } }, { "1k": { bare: now } }).map(({ isSlower }) => isSlower);

test("names what is slower than the baseline by more than 10 %", () => {
  const baseline = { "1k": { bare: 2, full: 4 }, "20k": { bare: 2, full: 6 } };
  const measured = { "1k": { bare: 2.19, full: 4.5 }, "20k": { bare: 1, full: 6 } };
  const slower = compareRatios(baseline, measured).filter(({ isSlower }) => isSlower);
  expect(slower).toEqual([{ workload: "1k", subject: "full", before: 4, now: 4.5, isSlower: true }]);
});

test("10 % above the baseline is not slower yet", () => {
  expect(slowerOf(2, 2.2)).toEqual([false]);
  expect(slowerOf(2, 2.21)).toEqual([true]);
});

test("a subject without a measured value is slower", () => {
  expect(slowerOf(2, Number.NaN)).toEqual([true]);
});

test("a workload that the baseline does not have is listed without a verdict", () => {
  const [change] = compareRatios({}, { conversation: { full: 4 } });
  expect(change).toEqual({
    workload: "conversation",
    subject: "full",
    before: null,
    now: 4,
    isSlower: false,
  });
});
