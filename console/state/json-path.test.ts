// Field paths in the API's notation: parse, read, write, compare.
import { describe, expect, test } from "bun:test";
import { isWithin, joinPath, parsePath, valueAt, withValueAt } from "./json-path.ts";

const record = { name: "a", targets: [{ weight: 1, credentials: { header_name: "x" } }, { weight: 2 }] };

test("parses a path into steps and joins them again", () => {
  const steps = parsePath("targets[0].credentials.header_name");
  expect(steps).toEqual(["targets", 0, "credentials", "header_name"]);
  expect(steps.reduce<string>(joinPath, "")).toBe("targets[0].credentials.header_name");
});

test("reads a value; a missing one is undefined", () => {
  expect(valueAt(record, parsePath("targets[1].weight"))).toBe(2);
  expect(valueAt(record, parsePath("targets[7].weight"))).toBeUndefined();
  expect(valueAt(record, parsePath("name.of.nothing"))).toBeUndefined();
});

describe("withValueAt", () => {
  test("copies only the containers along the path", () => {
    const next = withValueAt(record, parsePath("targets[1].weight"), 9) as typeof record;
    expect(next.targets.map(({ weight }) => weight)).toEqual([1, 9]);
    expect(next.targets[0]).toBe(record.targets[0]);
    expect(record.targets[1]?.weight).toBe(2);
  });

  test("creates missing containers", () => {
    expect(withValueAt({}, parsePath("limits.global.limit"), 5)).toEqual({
      limits: { global: { limit: 5 } },
    });
    expect(withValueAt(undefined, parsePath("list[0].a"), 1)).toEqual({ list: [{ a: 1 }] });
  });

  test("removes the field if the value is undefined", () => {
    expect(withValueAt({ a: 1, b: 2 }, ["a"], undefined)).toEqual({ b: 2 });
  });
});

test("a path is within another only at step boundaries", () => {
  expect(isWithin("targets[0].weight", "targets[0]")).toBe(true);
  expect(isWithin("targets[0]", "targets")).toBe(true);
  expect(isWithin("targets[01]", "targets[0]")).toBe(false);
  expect(isWithin("names", "name")).toBe(false);
});
