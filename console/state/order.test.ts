import { expect, test } from "bun:test";
import { moveAmong, moveItem, moveWithPriorities } from "./order.ts";

test("an item moves up and down", () => {
  expect(moveItem(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
  expect(moveItem(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
});

test("each position keeps its priority", () => {
  const list = [
    { name: "a", priority: 1 },
    { name: "b", priority: 1 },
    { name: "c", priority: 5 },
  ];
  expect(moveWithPriorities(list, 2, 0)).toEqual([
    { name: "c", priority: 1 },
    { name: "a", priority: 1 },
    { name: "b", priority: 5 },
  ]);
});

test("only the given entries change their places, also with equal priorities", () => {
  const list = [
    { name: "late", priority: 2 },
    { name: "other stage", priority: 1 },
    { name: "early", priority: 1 },
    { name: "early too", priority: 1 },
  ];
  expect(moveAmong(list, [2, 3, 0], 1, 0)).toEqual([
    { name: "early too", priority: 1 },
    { name: "other stage", priority: 1 },
    { name: "early", priority: 1 },
    { name: "late", priority: 2 },
  ]);
});
