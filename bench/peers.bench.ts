// `npm run bench:peers`: compares nginx, Gatehouse bare and full, and Portkey's gateway in one run, in alternating rounds.
// Flags: --rounds 5 --seconds 5 --connections 64 --only bare,full,portkey (nginx is always measured) --out file.json
//        --body 1k,20k,100k,1m,conversation (default 1k); --same sends the same body every time instead of new text
//        --peers adds Bifrost, LiteLLM, agentgateway and GoModel, as far as they are installed
//        --plot file.svg draws CPU per request against body size
//        --rest 5: seconds after the load until memory is read again
//        --env 'NAME=value NAME=value' sets variables of Gatehouse's processes, to try a setting or a flag of the runtime
import { writeFileSync } from "node:fs";
import { compare, readVariables, requireTools } from "./comparison.ts";
import { readFlags } from "./flags.ts";
import { saveResults } from "./grid.ts";
import { plotSeries, printComparison } from "./comparison-report.ts";
import { drawCostPlot } from "./cost-plot.ts";
import { PEER_IDS } from "./subjects.ts";

const flags = readFlags("bench:peers", {
  rounds: 5,
  seconds: 5,
  connections: 64,
  body: "1k",
  same: false,
  only: "bare,full,portkey",
  peers: false,
  plot: "",
  rest: 5,
  env: "",
  out: "",
});
requireTools();
const comparison = await compare("bench:peers", {
  ...flags,
  subjects: [...flags.only.split(","), ...(flags.peers ? PEER_IDS : [])],
  env: readVariables(flags.env),
  restMs: flags.rest * 1000,
});
printComparison(comparison, flags);
if (flags.plot !== "") {
  writeFileSync(flags.plot, drawCostPlot(plotSeries(comparison)));
  console.log(`\nPlot written to ${flags.plot}`);
}
saveResults("peers", flags.out, { flags, rounds: comparison.rounds });
process.exit(0);
