// The tables of an executable are those that are computed when the sources run.
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { embeddedPatternTables } from "../../../scripts/build-pattern-tables.ts";
import { buildAutomaton, readAutomaton, writeAutomaton } from "./automaton.ts";
import { charSet } from "./char-set.ts";
import type { BuiltTable } from "./built-tables.ts";
import { ALL_PATTERNS, idsOf, selectTriggers, textsOf } from "./compiled-patterns.ts";
import { FirstSetTable } from "./first-set-table.ts";
import { pattern } from "./pattern.ts";
import { hashOfNames, readBuiltTable } from "./read-built-tables.ts";
import { LANGUAGES, SENSITIVITIES } from "./settings.ts";
import { NO_WORDS } from "./word-set.ts";

const folder = mkdtempSync(join(tmpdir(), "gatehouse-automata-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a written automaton is read as it was", () => {
  const trigger = fc.record({
    text: fc.string({ unit: fc.constantFrom("a", "b", "C", "1", "<", " "), minLength: 1, maxLength: 6 }),
    followedBy: fc.constantFrom(null, charSet(0, "a<"), charSet(0, "b")),
  });
  fc.assert(
    fc.property(fc.array(trigger, { maxLength: 12 }), (triggers) => {
      const automaton = buildAutomaton(triggers);
      expect(readAutomaton(writeAutomaton(automaton))).toEqual(automaton);
    }),
  );
});

const embedded = Object.entries(embeddedPatternTables());

/** Writes a table to a file, as an executable has it, and returns its entry in the module. */
function builtTable(name: string, names: readonly string[]): BuiltTable {
  const [, bytes] = embedded.find(([path]) => basename(path) === `${name}.table`) ?? [];
  if (!(bytes instanceof Uint8Array)) throw new Error("there is no such file");
  const file = join(folder, name);
  writeFileSync(file, bytes);
  const hash = hashOfNames(names);
  const [, module] = embedded.find(([path]) => basename(path) === "built-tables.ts") ?? [];
  expect(module).toContain(`{ file: ${name}, hash: "${hash}" }`);
  return { file, hash };
}

test.each(SENSITIVITIES)("an executable has the automaton of all languages with %s", (sensitivity) => {
  const { key, triggers } = selectTriggers(LANGUAGES.map((language) => ({ language, sensitivity })));
  const bytes = readBuiltTable(builtTable(sensitivity, textsOf(triggers)), textsOf(triggers));
  expect(readAutomaton(bytes ?? new Uint8Array(8))).toEqual(buildAutomaton(triggers));
  expect(key).toBe(LANGUAGES.map(() => sensitivity).join());
});

test("an executable has what must follow the triggers of all patterns", () => {
  const ids = idsOf(ALL_PATTERNS);
  const bytes = readBuiltTable(builtTable("firstSets", ids), ids);
  const table = new FirstSetTable(bytes ?? new Uint8Array(8));
  for (const [index, { id, triggers, conditions }] of ALL_PATTERNS.entries()) {
    const derived = pattern(id, triggers, conditions);
    const read = pattern(id, triggers, conditions);
    read.useTable(table, index);
    expect(read.followedBy).toEqual(derived.followedBy);
    expect(read.requiredAfter?.prefixes).toEqual(derived.requiredAfter?.prefixes);
    expect(read.requiredAfter?.afterWhitespace).toEqual(derived.requiredAfter?.afterWhitespace);
    const words = derived.requiredAfter?.words();
    // A set without words rejects nothing.
    expect(read.requiredAfter?.words()).toEqual(words === NO_WORDS ? null : words);
  }
});

test("a table that was computed from something else is not used", () => {
  const table = builtTable("balanced", textsOf(selectTriggers(LANGUAGES).triggers));
  expect(readBuiltTable(table, ["eval"])).toBeNull();
});
