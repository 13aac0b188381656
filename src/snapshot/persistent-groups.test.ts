// PersistentGroups against plain nested Maps: same members after any changes, and earlier copies that never change.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { GroupChanges, PersistentGroups } from "./persistent-groups.ts";

type Oracle = ReadonlyMap<string, ReadonlyMap<string, number>>;
type Change = readonly [group: string, id: string, member: number | null];

const group = fc.constantFrom("", "one", "two", "three");
const id = fc.oneof(
  fc.nat({ max: 50 }).map(String),
  fc.constantFrom("key-68942", "key-119729"), // same hash
);
const change = fc.tuple(group, id, fc.option(fc.nat(), { nil: null, freq: 2 }));
const batches = fc.array(fc.array(change, { maxLength: 30 }), { maxLength: 10 });

function changesOf(batch: readonly Change[]): GroupChanges<number> {
  const changes = new GroupChanges<number>();
  for (const each of batch) changes.set(...each);
  return changes;
}

function apply(oracle: Oracle, batch: readonly Change[]): Oracle {
  const next = new Map(Array.from(oracle, ([name, members]) => [name, new Map(members)]));
  for (const [name, member, value] of batch) {
    const members = next.get(name) ?? new Map<string, number>();
    if (value === null) members.delete(member);
    else members.set(member, value);
    next.set(name, members);
  }
  return new Map([...next].filter(([, members]) => members.size > 0));
}

test("holds what nested Maps hold, without empty groups, and every earlier copy keeps its contents", () => {
  fc.assert(
    fc.property(batches, (all) => {
      const history: [PersistentGroups<number>, Oracle][] = [[PersistentGroups.empty<number>(), new Map()]];
      for (const batch of all) {
        const [groups, oracle] = history.at(-1)!;
        history.push([groups.with(changesOf(batch)), apply(oracle, batch)]);
      }
      for (const [groups, oracle] of history) {
        expect(groups.size).toBe(oracle.size);
        for (const name of ["", "one", "two", "three"]) {
          const members = groups.get(name);
          expect(members?.size).toBe(oracle.get(name)?.size);
          for (const [member, value] of oracle.get(name) ?? []) expect(members?.get(member)).toBe(value);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("returns the same groups if nothing changes", () => {
  const groups = PersistentGroups.empty<number>().with(changesOf([["one", "a", 1]]));
  expect(groups.with(new GroupChanges())).toBe(groups);
});
