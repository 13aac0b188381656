// The bounds of the objects that clients store in the fake provider.
import { expect, test } from "bun:test";
import { BoundedStore } from "./stored-objects.ts";

test("the oldest objects are dropped when there are too many or they are too large", () => {
  const store = new BoundedStore<string>(3, 100);
  for (const id of ["a", "b", "c", "d"]) expect(store.add(id, id.toUpperCase(), 10)).toBe(true);
  expect(store.values()).toEqual(["B", "C", "D"]);
  expect(store.add("e", "E", 85)).toBe(true);
  expect(store.values()).toEqual(["D", "E"]);
  expect(store.get("b")).toBeUndefined();
});

test("an object that alone is too large is rejected, and the others stay", () => {
  const store = new BoundedStore<string>(3, 100);
  store.add("a", "A", 60);
  expect(store.add("b", "B", 101)).toBe(false);
  expect(store.values()).toEqual(["A"]);
});

test("replaced and deleted objects free their bytes", () => {
  const store = new BoundedStore<string>(3, 100);
  store.add("a", "A", 60);
  store.add("a", "A2", 60);
  expect(store.delete("a")).toBe(true);
  expect(store.delete("a")).toBe(false);
  store.add("b", "B", 50);
  store.add("c", "C", 50);
  expect(store.values()).toEqual(["B", "C"]);
  store.clear();
  expect(store.values()).toEqual([]);
});
