// Computes the automata of code_sanitation at build time, for gateways that inspect all languages with the same sensitivity. Those of other
// settings are computed when they are needed.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAutomaton, writeAutomaton } from "../src/plugins/code_sanitation/automaton.ts";
import { selectTriggers } from "../src/plugins/code_sanitation/compiled-patterns.ts";
import { hashOfTriggers } from "../src/plugins/code_sanitation/read-built-automaton.ts";
import { LANGUAGES, SENSITIVITIES } from "../src/plugins/code_sanitation/settings.ts";

const MODULE = fileURLToPath(new URL("../src/plugins/code_sanitation/built-automata.ts", import.meta.url));

/** Returns `files` for `Bun.build({ compile, files })`: the module with the list of automata, and a file for each of them. */
export function embeddedAutomata(): Record<string, string | Uint8Array> {
  const files: Record<string, Uint8Array> = {};
  const imports: string[] = [];
  const entries: string[] = [];
  for (const sensitivity of SENSITIVITIES) {
    const { key, triggers } = selectTriggers(LANGUAGES.map((language) => ({ language, sensitivity })));
    files[join(dirname(MODULE), `${sensitivity}.automaton`)] = writeAutomaton(buildAutomaton(triggers));
    imports.push(`import ${sensitivity} from "./${sensitivity}.automaton" with { type: "file" };`);
    const triggersHash = hashOfTriggers(triggers);
    entries.push(`${JSON.stringify(key)}: { file: ${sensitivity}, triggersHash: "${triggersHash}" }`);
  }
  const module = `${imports.join("\n")}\nexport const BUILT_AUTOMATA = { ${entries.join(", ")} };\n`;
  return { ...files, [MODULE]: module };
}
