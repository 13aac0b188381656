// `npm run mutate:patterns -- [LANGUAGE...]`: lists the parts of code_sanitation's patterns that no text of the pattern needs. Add a text that
// notices the missing part, or remove the part.
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { survivingMutations } from "../test/support/pattern-mutations.ts";

const wanted = process.argv.slice(2);
const languages = LANGUAGES.filter((language) => wanted.length === 0 || wanted.includes(language));
const survivors = survivingMutations(languages);
for (const survivor of survivors) console.log(survivor);
console.log(`${survivors.length} parts that no text needs in ${languages.join(", ")}`);
