// The automata of an executable are those that are computed when the sources run.
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { embeddedAutomata } from "../../../scripts/build-automata.ts";
import { buildAutomaton, readAutomaton, writeAutomaton } from "./automaton.ts";
import { charSet } from "./char-set.ts";
import { selectTriggers } from "./compiled-patterns.ts";
import { hashOfTriggers, readBuiltAutomaton } from "./read-built-automaton.ts";
import { LANGUAGES, SENSITIVITIES } from "./settings.ts";

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

const embedded = Object.entries(embeddedAutomata());

test.each(SENSITIVITIES)("an executable has the automaton of all languages with %s", (sensitivity) => {
  const { key, triggers } = selectTriggers(LANGUAGES.map((language) => ({ language, sensitivity })));
  const [, bytes] = embedded.find(([path]) => basename(path) === `${sensitivity}.automaton`) ?? [];
  if (!(bytes instanceof Uint8Array)) throw new Error("there is no such file");
  const file = join(folder, sensitivity);
  writeFileSync(file, bytes);
  const [, module] = embedded.find(([path]) => basename(path) === "built-automata.ts") ?? [];
  const triggersHash = hashOfTriggers(triggers);
  expect(module).toContain(`"${key}": { file: ${sensitivity}, triggersHash: "${triggersHash}" }`);
  expect(readBuiltAutomaton({ file, triggersHash }, triggers)).toEqual(buildAutomaton(triggers));
  expect(readBuiltAutomaton({ file, triggersHash }, triggers.slice(1))).toBeUndefined();
});
