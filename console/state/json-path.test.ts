// Places as the API writes them: read, changed, compared.
import { describe, expect, test } from "bun:test";
import { isWithin, join, stepsOf, valueAt, withValueAt } from "./json-path.ts";

const record = { name: "a", targets: [{ weight: 1, credentials: { header_name: "x" } }, { weight: 2 }] };

test("a path is read into its steps and written back", () => {
  const steps = stepsOf("targets[0].credentials.header_name");
  expect(steps).toEqual(["targets", 0, "credentials", "header_name"]);
  expect(steps.reduce<string>(join, "")).toBe("targets[0].credentials.header_name");
});

test("a value is found, and what is not there is undefined", () => {
  expect(valueAt(record, stepsOf("targets[1].weight"))).toBe(2);
  expect(valueAt(record, stepsOf("targets[7].weight"))).toBeUndefined();
  expect(valueAt(record, stepsOf("name.of.nothing"))).toBeUndefined();
});

describe("a change", () => {
  test("makes new only what is on the way", () => {
    const next = withValueAt(record, stepsOf("targets[1].weight"), 9) as typeof record;
    expect(next.targets.map(({ weight }) => weight)).toEqual([1, 9]);
    expect(next.targets[0]).toBe(record.targets[0]);
    expect(record.targets[1]?.weight).toBe(2);
  });

  test("makes the containers that are missing", () => {
    expect(withValueAt({}, stepsOf("limits.global.limit"), 5)).toEqual({ limits: { global: { limit: 5 } } });
    expect(withValueAt(undefined, stepsOf("list[0].a"), 1)).toEqual({ list: [{ a: 1 }] });
  });

  test("to undefined takes the field out", () => {
    expect(withValueAt({ a: 1, b: 2 }, ["a"], undefined)).toEqual({ b: 2 });
  });
});

test("a place lies within another only at whole steps", () => {
  expect(isWithin("targets[0].weight", "targets[0]")).toBe(true);
  expect(isWithin("targets[0]", "targets")).toBe(true);
  expect(isWithin("targets[01]", "targets[0]")).toBe(false);
  expect(isWithin("names", "name")).toBe(false);
});
