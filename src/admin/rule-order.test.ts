import { expect, test } from "bun:test";
import fc from "fast-check";
import { MAX_PRIORITY, MIN_PRIORITY } from "../model/fields.ts";
import { inOrder, prioritiesAfterMove } from "./rule-order.ts";

interface Rule {
  readonly id: string;
  readonly priority: number;
}

/** Rules of these priorities, with ids in order of age. */
const rulesOf = (priorities: readonly number[]): Rule[] =>
  priorities.map((priority, index) => ({ id: String.fromCodePoint(97 + index), priority }));

function move(rules: readonly Rule[], id: string, position: number) {
  const moved = rules.find((rule) => rule.id === id)!;
  const others = inOrder(rules).filter((rule) => rule.id !== id);
  const changes = prioritiesAfterMove(moved, others, position);
  const after = rules.map((rule) => ({ ...rule, priority: changes.get(rule.id) ?? rule.priority }));
  return { changes: Object.fromEntries(changes), order: inOrder(after).map((rule) => rule.id), after };
}

test.each([
  ["the first place", [0, 0, 0], "c", 0, { c: -1 }],
  ["the last place", [0, 0, 0], "a", 2, { a: 1 }],
  ["between equal ones", [0, 0, 0], "c", 1, { c: 1, b: 2 }],
  ["a gap", [0, 10, 20], "c", 1, { c: 5 }],
  ["neighbors without a gap, up to the next gap", [0, 1, 2, 9, 10], "e", 1, { e: 1, b: 2, c: 3 }],
  ["equal ones, which stay equal", [0, 1, 1, 3, 7], "e", 1, { e: 1, b: 2, c: 2 }],
  ["its own place", [0, 5, 9], "b", 1, {}],
  ["the first place at the lowest number", [MIN_PRIORITY, 7], "b", 0, { a: 1, b: 0 }],
  ["the last place at the highest number", [1, MAX_PRIORITY], "a", 1, { b: 0 }],
] as const)("a rule moves to %s", (_, priorities, id, position, expected) => {
  expect(move(rulesOf(priorities), id, position).changes).toEqual(expected);
});

test("any rule at any place: the order is as requested, all others keep theirs, and the numbers are valid", () => {
  const priorities = fc.oneof(
    fc.integer({ min: -2, max: 4 }),
    fc.constantFrom(MIN_PRIORITY, MIN_PRIORITY + 1, MAX_PRIORITY - 1, MAX_PRIORITY),
  );
  const moves = fc.array(priorities, { minLength: 1, maxLength: 9 }).chain((list) =>
    fc.record({
      list: fc.constant(list),
      moved: fc.nat(list.length - 1),
      position: fc.nat(list.length - 1),
    }),
  );
  fc.assert(
    fc.property(moves, ({ list, moved, position }) => {
      const rules = rulesOf(list);
      const id = rules[moved]!.id;
      const wanted = inOrder(rules).flatMap((rule) => (rule.id === id ? [] : [rule.id]));
      const { order, after } = move(rules, id, position);
      expect(order).toEqual(wanted.toSpliced(position, 0, id));
      // The moved rule is not equal to another one: headers and age decide between equal ones.
      const { priority } = after.find((rule) => rule.id === id)!;
      expect(after.filter((rule) => rule.priority === priority)).toHaveLength(1);
      for (const rule of after) {
        expect(rule.priority).toBeGreaterThanOrEqual(MIN_PRIORITY);
        expect(rule.priority).toBeLessThanOrEqual(MAX_PRIORITY);
      }
    }),
    { numRuns: 300 },
  );
});
