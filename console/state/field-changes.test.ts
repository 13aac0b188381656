import { expect, test } from "bun:test";
import { changesBetween } from "./field-changes.ts";

test("lists the fields that the stored version changed, with the entered values", () => {
  const base = { name: "a", methods: ["GET"], targets: [{ id: "1", weight: 1 }], updated_at: "then" };
  const theirs = {
    name: "b",
    methods: ["GET", "POST"],
    targets: [
      { id: "1", weight: 2 },
      { id: "2", weight: 1 },
    ],
    updated_at: "now",
  };
  const mine = { ...base, name: "c" };
  expect(changesBetween(base, theirs, mine)).toEqual([
    { path: "name", theirs: "b", mine: "c", isChangedByMe: true },
    { path: "methods", theirs: ["GET", "POST"], mine: ["GET"], isChangedByMe: false },
    { path: "targets[0].weight", theirs: 2, mine: 1, isChangedByMe: false },
    { path: "targets[1]", theirs: { id: "2", weight: 1 }, mine: undefined, isChangedByMe: false },
  ]);
});

test("compares records as a whole whose names cannot be part of a path", () => {
  const base = { models: { "gpt-4.1": "a" } };
  expect(changesBetween(base, { models: { "gpt-4.1": "b" } }, base)).toEqual([
    { path: "models", theirs: { "gpt-4.1": "b" }, mine: { "gpt-4.1": "a" }, isChangedByMe: false },
  ]);
});
