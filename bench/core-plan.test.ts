import { expect, test } from "bun:test";
import { parseCores, planCores, workerCounts } from "./core-plan.ts";

test("parses lists of taskset", () => {
  expect(parseCores("0-3,6")).toEqual([0, 1, 2, 3, 6]);
  expect(parseCores("5,0-1,1")).toEqual([0, 1, 5]);
  for (const list of ["", "a", "3-1", "0-", "-2"])
    expect(() => parseCores(list)).toThrow("use a list such as");
});

test("the parts are disjoint and use all cores", () => {
  for (let count = 3; count < 40; count++) {
    const cores = Array.from({ length: count }, (_, index) => index);
    const plan = planCores(cores);
    expect([...plan!.gateway, ...plan!.load, ...plan!.provider]).toEqual(cores);
    expect([plan!.gateway, plan!.load, plan!.provider].every(({ length }) => length > 0)).toBe(true);
  }
  expect(planCores([0, 1, 2, 3, 4, 5, 6, 7])?.gateway).toEqual([0, 1, 2, 3]);
});

test("two cores are too few", () => {
  expect(planCores([0, 1])).toBeNull();
});

test("the number of workers doubles up to the number of cores", () => {
  expect(workerCounts(1)).toEqual([1]);
  expect(workerCounts(4)).toEqual([1, 2, 4]);
  expect(workerCounts(6)).toEqual([1, 2, 4, 6]);
});
