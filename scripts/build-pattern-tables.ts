// Computes the tables of code_sanitation at build time: what must follow the triggers of all patterns, and the automata of gateways that inspect
// all languages with the same sensitivity. The automata of other settings are computed when they are needed.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAutomaton, writeAutomaton } from "../src/plugins/code_sanitation/automaton.ts";
import {
  ALL_PATTERNS,
  idsOf,
  selectTriggers,
  textsOf,
} from "../src/plugins/code_sanitation/compiled-patterns.ts";
import { writeFirstSets } from "../src/plugins/code_sanitation/first-set-table.ts";
import { hashOfNames } from "../src/plugins/code_sanitation/read-built-tables.ts";
import { LANGUAGES, SENSITIVITIES } from "../src/plugins/code_sanitation/settings.ts";

const MODULE = fileURLToPath(new URL("../src/plugins/code_sanitation/built-tables.ts", import.meta.url));

/** Returns `files` for `Bun.build({ compile, files })`: the module with the list of tables, and a file for each of them. */
export function embeddedPatternTables(): Record<string, string | Uint8Array> {
  const files: Record<string, Uint8Array> = {};
  const imports: string[] = [];
  const add = (name: string, content: Uint8Array, names: readonly string[]) => {
    files[join(dirname(MODULE), `${name}.table`)] = content;
    imports.push(`import ${name} from "./${name}.table" with { type: "file" };`);
    return `{ file: ${name}, hash: "${hashOfNames(names)}" }`;
  };
  const automata = SENSITIVITIES.map((sensitivity) => {
    const { key, triggers } = selectTriggers(LANGUAGES.map((language) => ({ language, sensitivity })));
    const table = add(sensitivity, writeAutomaton(buildAutomaton(triggers)), textsOf(triggers));
    return `${JSON.stringify(key)}: ${table}`;
  });
  const content = writeFirstSets(ALL_PATTERNS.map(({ requiredAfter }) => requiredAfter));
  const firstSets = add("firstSets", content, idsOf(ALL_PATTERNS));
  const module = [
    ...imports,
    `export const BUILT_AUTOMATA = { ${automata.join(", ")} };`,
    `export const BUILT_FIRST_SETS = ${firstSets};`,
  ];
  return { ...files, [MODULE]: module.join("\n") };
}
