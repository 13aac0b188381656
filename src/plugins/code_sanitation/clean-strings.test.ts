// Tests of the strings that are known to be clean: a detector that has scanned other strings before finds the same, with the same work.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { CleanStrings, MAX_CLEAN_UNITS } from "./clean-strings.ts";
import { compileDetector } from "./detector.ts";

const unitsOf = (text: string) => Uint16Array.from(text, (character) => character.charCodeAt(0));

test("only strings that were added are known", () => {
  const clean = new CleanStrings();
  const units = unitsOf("role content");
  clean.add(units, 0, 4, 14);
  expect(clean.stepsOf(unitsOf("role"), 0, 4)).toBe(14);
  expect(clean.stepsOf(units, 0, 3)).toBe(0);
  expect(clean.stepsOf(units, 5, 12)).toBe(0);
  expect(clean.stepsOf(unitsOf("rolf"), 0, 4)).toBe(0);
  expect(clean.stepsOf(units, 0, 0)).toBe(0);
});

test("knows no string that was not added, whatever strings were added before it", () => {
  const short = fc.string({ maxLength: MAX_CLEAN_UNITS });
  fc.assert(
    fc.property(fc.array(fc.tuple(short, fc.integer({ min: 1, max: 300 })), { maxLength: 200 }), (added) => {
      const clean = new CleanStrings();
      const stepsByText = new Map<string, number>();
      for (const [text, steps] of added) {
        const known = clean.stepsOf(unitsOf(text), 0, text.length);
        if (known > 0) expect(known).toBe(stepsByText.get(text) ?? -1);
        clean.add(unitsOf(text), 0, text.length, steps);
        if (steps <= 255) stepsByText.set(text, steps);
      }
    }),
  );
});

test("knows no beginning of a string that was added", () => {
  // Enough strings that some are looked up in the slot of a longer one.
  for (let index = 0; index < 20_000; index++) {
    const text = `${(index * 7919).toString(36)}()`;
    const clean = new CleanStrings();
    clean.add(unitsOf(text), 0, text.length, 9);
    for (let end = 1; end < text.length; end++) expect(clean.stepsOf(unitsOf(text), 0, end)).toBe(0);
  }
});

test("any two strings are known at the same time", () => {
  const short = fc.string({ minLength: 1, maxLength: MAX_CLEAN_UNITS });
  fc.assert(
    fc.property(short, short, (one, other) => {
      fc.pre(one !== other);
      expect(stepsOfBoth(one, other)).toEqual([7, 9]);
    }),
  );
  // Keys of every chat request, which have the same slot.
  expect(stepsOfBoth("model", "content")).toEqual([7, 9]);
});

function stepsOfBoth(one: string, other: string): number[] {
  const clean = new CleanStrings();
  clean.add(unitsOf(one), 0, one.length, 7);
  clean.add(unitsOf(other), 0, other.length, 9);
  return [one, other].map((text) => clean.stepsOf(unitsOf(text), 0, text.length));
}

test("a string takes the same steps when it is known", () => {
  const work = { steps: 0, limit: Infinity };
  const detector = compileDetector(["sql", "shell"], work);
  const stepsOf = (scan: () => unknown) => {
    work.steps = 0;
    scan();
    return work.steps;
  };
  for (const text of ["", "role", "and a", "x;", "a\\b"]) {
    const first = stepsOf(() => detector.first(text));
    expect(first).toBeGreaterThan(0);
    expect(stepsOf(() => detector.first(text))).toBe(first);
    expect(stepsOf(() => detector.findAll(text))).toBe(first);
  }
});

test("a string that is clean because its pattern is excluded is found by another detector", () => {
  const text = "UNION SELECT";
  const found = compileDetector(["sql"]).first(text);
  const exclude = found === null ? [] : [found.pattern];
  const excluding = compileDetector([{ language: "sql", exclude }]);
  expect(found).not.toBeNull();
  expect(excluding.first(text)).toBeNull();
  expect(compileDetector(["sql"]).first(text)).toEqual(found);
});
