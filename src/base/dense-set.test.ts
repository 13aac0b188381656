// The dense set, compared with a JavaScript Set.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { DenseSet, NOT_A_MEMBER, type DenseSetMember } from "./dense-set.ts";

const create = (): DenseSetMember => ({ setPosition: NOT_A_MEMBER });

test("it has the same members as a Set after any adds and deletes", () => {
  const step = fc.record({ isAdd: fc.boolean(), which: fc.nat({ max: 9 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const known = Array.from({ length: 10 }, create);
      const set = new DenseSet();
      const oracle = new Set<DenseSetMember>();
      for (const { isAdd, which } of steps) {
        const member = known[which] ?? create();
        if (isAdd) {
          set.add(member);
          oracle.add(member);
        } else expect(set.delete(member)).toBe(oracle.delete(member));
        expect(set.size).toBe(oracle.size);
        expect(new Set(set.members)).toEqual(oracle);
      }
    }),
  );
});

test("forEach visits every member that is not deleted before its turn, also while others come and go", () => {
  const change = fc.record({
    deleted: fc.array(fc.nat({ max: 9 }), { maxLength: 4 }),
    added: fc.nat({ max: 2 }),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 10, maxLength: 10 }), (changes) => {
      const members = Array.from({ length: 10 }, create);
      const set = new DenseSet();
      for (const member of members) set.add(member);
      const visited = new Set<DenseSetMember>();
      const deleted = new Set<DenseSetMember>();
      set.forEach((member) => {
        expect(deleted.has(member)).toBe(false);
        visited.add(member);
        const planned = changes[members.indexOf(member)];
        for (const index of planned?.deleted ?? []) {
          const victim = members[index] ?? create();
          if (set.delete(victim)) deleted.add(victim);
        }
        for (let count = planned?.added ?? 0; count > 0; count--) set.add(create());
      });
      for (const member of members) expect(visited.has(member) || deleted.has(member)).toBe(true);
    }),
  );
});
