// `npm run bench:peers`: compares nginx, Gatehouse bare and full, and Portkey's gateway in one run, in alternating rounds.
// Flags: --rounds 5 --seconds 5 --connections 64 --only bare,full,portkey (nginx is always measured) --out file.json
//        --body 1k,20k,100k,1m,conversation (default 1k); --same sends the same body every time instead of new text
//        --env 'NAME=value NAME=value' sets variables of Gatehouse's processes, to try a setting or a flag of the runtime
import { compare, readVariables, requireTools } from "./comparison.ts";
import { readFlags } from "./flags.ts";
import { saveResults } from "./grid.ts";
import { printComparison } from "./comparison-report.ts";

const flags = readFlags("bench:peers", {
  rounds: 5,
  seconds: 5,
  connections: 64,
  body: "1k",
  same: false,
  only: "bare,full,portkey",
  env: "",
  out: "",
});
requireTools();
const comparison = await compare("bench:peers", {
  ...flags,
  subjects: flags.only.split(","),
  env: readVariables(flags.env),
});
printComparison(comparison, flags);
saveResults("peers", flags.out, { flags, rounds: comparison.rounds });
process.exit(0);
