// `npm run accuracy:prompts -- [DIR] [--verbose]`: measures prompt_guard on corpora (JSON lines), without DIR on that of this repository.
// Prints how many texts of each reach the default threshold; --verbose lists attacks that do not, and harmless texts that do.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { RULES } from "../src/plugins/prompt_guard/rules.ts";
import { compileRules } from "../src/plugins/prompt_guard/score-text.ts";
import { promptGuardSettings } from "../src/plugins/prompt_guard/settings.ts";
import { readCorpora } from "./accuracy/corpora.ts";

const MAX_SHOWN = 160;
const { values, positionals } = parseArgs({
  options: { verbose: { type: "boolean", default: false } },
  allowPositionals: true,
});
const directory = positionals[0] ?? join(import.meta.dirname, "../src/plugins/prompt_guard/corpus");
const { threshold } = promptGuardSettings().parse({});
const scoreOf = compileRules(RULES);

for (const { name, isHarmless, samples } of readCorpora(directory)) {
  const flagged = samples.filter(({ text }) => scoreOf(text).score >= threshold);
  const share = ((100 * flagged.length) / Math.max(samples.length, 1)).toFixed(1);
  console.log(`${name.padEnd(24)} ${flagged.length} of ${samples.length} (${share} %)`);
  if (!values.verbose) continue;
  for (const sample of samples)
    if (flagged.includes(sample) === isHarmless)
      console.log(
        `  ${scoreOf(sample.text).rules.join(" ")} ${JSON.stringify(sample.text.slice(0, MAX_SHOWN))}`,
      );
}
