// Tests of what is remembered for texts: never for another text, scope or owner, and within the bounds.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { TextMemories, type TextMemory } from "./text-memories.ts";
import { runs } from "../../test/support/long-form.ts";

const BOUNDS = { leastPerOwner: 16, mostPerOwner: 128, most: 256 };

function recall(memory: TextMemory, text: string): number | null {
  const bytes = Buffer.from(text);
  const known = memory.recall(bytes, 0, bytes.length);
  return typeof known === "number" ? known : null;
}

function remember(memory: TextMemory, text: string, value: number): void {
  const bytes = Buffer.from(text);
  const known = memory.recall(bytes, 0, bytes.length);
  if (typeof known !== "number") known.remember(value);
}

test("a text is unknown until it is remembered", () => {
  const memory = new TextMemories().open({ owner: "g", name: "n" });
  expect(recall(memory, "text")).toBeNull();
  remember(memory, "text", 7);
  expect(recall(memory, "text")).toBe(7);
  expect(recall(memory, "Text")).toBeNull();
  const bytes = Buffer.from("a text, and more");
  expect(memory.recall(bytes, 2, 6)).toBe(7);
});

test("a text that is remembered late does not take the place of the text that was recalled last", () => {
  const memory = new TextMemories().open({ owner: "g", name: "n" });
  const [one, other] = [Buffer.from("one text"), Buffer.from("other text")];
  const unknown = memory.recall(one, 0, one.length);
  memory.recall(other, 0, other.length);
  if (typeof unknown !== "number") unknown.remember(1);
  expect(recall(memory, "one text")).toBe(1);
  expect(recall(memory, "other text")).toBeNull();
});

test.each([-1, 0.5, Number.NaN, Infinity, 2 ** 31])("%d is not remembered", (value) => {
  const memory = new TextMemories().open({ owner: "g", name: "n" });
  remember(memory, "text", value);
  expect(recall(memory, "text")).toBeNull();
});

test("nothing is shared by owners, scopes, or processes", () => {
  const memories = new TextMemories();
  remember(memories.open({ owner: "g", name: "n" }), "text", 1);
  expect(recall(memories.open({ owner: "g", name: "n" }), "text")).toBe(1);
  expect(recall(memories.open({ owner: "g", name: "other" }), "text")).toBeNull();
  expect(recall(memories.open({ owner: "other", name: "n" }), "text")).toBeNull();
  expect(recall(memories.open({ owner: 'g","n', name: "" }), "text")).toBeNull();
  expect(recall(new TextMemories().open({ owner: "g", name: "n" }), "text")).toBeNull();
});

test("what an owner remembered is forgotten and its memory is freed when it is released", () => {
  const memories = new TextMemories();
  const memory = memories.open({ owner: "g", name: "n" });
  expect(memories.capacity).toBe(0);
  remember(memory, "text", 1);
  expect(memories.capacity).toBe(256);
  memories.release("other");
  memories.release("g");
  expect(memories.capacity).toBe(0);
  expect(recall(memory, "text")).toBeNull();
});

describe("under load", () => {
  const step = fc.record({
    owner: fc.integer({ min: 0, max: 30 }),
    scope: fc.constantFrom("a", "b"),
    text: fc.integer({ min: 0, max: 60 }),
    value: fc.nat(5),
    isReleased: fc.integer({ min: 0, max: 50 }).map((number) => number === 0),
  });

  test("the bounds hold, and what is recalled was remembered for the text", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 1500, size: "max" }), (steps) => {
        const memories = new TextMemories(BOUNDS);
        const expected = new Map<string, number>();
        for (const { owner, scope, text, value, isReleased } of steps) {
          const memory = memories.open({ owner: String(owner), name: scope });
          const name = `${owner} ${scope} ${text}`;
          const known = recall(memory, String(text));
          if (known === null) {
            remember(memory, String(text), value);
            expected.set(name, value);
            expect(recall(memory, String(text))).toBe(value);
          } else expect(known).toBe(expected.get(name) ?? -1);
          if (isReleased) memories.release(String(owner));
          expect(memories.capacity).toBeLessThanOrEqual(BOUNDS.most);
        }
      }),
      { numRuns: runs({ short: 10, long: 30 }) },
    );
  });

  test("an owner has at most its share, and keeps the texts that it used last", () => {
    const memories = new TextMemories(BOUNDS);
    const memory = memories.open({ owner: "g", name: "n" });
    for (let index = 0; index < 10_000; index++) remember(memory, `text ${index}`, index);
    expect(memories.capacity).toBe(BOUNDS.mostPerOwner);
    expect(recall(memory, "text 9999")).toBe(9999);
    const known = Array.from({ length: 10_000 }, (_, index) => recall(memory, `text ${index}`));
    const count = known.filter((value) => value !== null).length;
    expect(count).toBeGreaterThan(BOUNDS.mostPerOwner / 2);
    expect(count).toBeLessThanOrEqual(BOUNDS.mostPerOwner);
  });

  test("owners that send many texts do not make another one forget its few", () => {
    const memories = new TextMemories(BOUNDS);
    const quiet = memories.open({ owner: "quiet", name: "n" });
    for (let index = 0; index < 3; index++) remember(quiet, `text ${index}`, index);
    for (let owner = 0; owner < 8; owner++) {
      const memory = memories.open({ owner: String(owner), name: "n" });
      for (let index = 0; index < 2000; index++) remember(memory, `text ${index}`, index);
      expect(memories.capacity).toBeLessThanOrEqual(BOUNDS.most);
    }
    expect([0, 1, 2].map((index) => recall(quiet, `text ${index}`))).toEqual([0, 1, 2]);
  });

  test("an owner that comes last gets as much space as the others", () => {
    const memories = new TextMemories(BOUNDS);
    const open = (owner: string) => memories.open({ owner, name: "n" });
    const fill = (memory: TextMemory) => {
      for (let index = 0; index < 2000; index++) remember(memory, `text ${index}`, index);
    };
    const countIn = (memory: TextMemory) =>
      Array.from({ length: 2000 }, (_, index) => recall(memory, `text ${index}`)).filter(
        (value) => value !== null,
      ).length;
    const early = ["a", "b", "c"].map(open);
    early.forEach(fill);
    const late = open("late");
    fill(late);
    for (const memory of [...early, late]) expect(countIn(memory)).toBeGreaterThanOrEqual(16);
    expect(countIn(late)).toBeGreaterThanOrEqual(32);
  });
});
