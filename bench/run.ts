// `npm run bench [name…]`: runs all benchmarks or the named ones, and prints their results.
import { benchAdmin } from "./admin.bench.ts";
import { benchCodeSanitation } from "./code-sanitation.bench.ts";
import { benchConsole } from "./console.bench.ts";
import { benchJsonScanner } from "./json-scanner.bench.ts";
import { benchHalfSentBodies } from "./half-sent-bodies.bench.ts";
import { benchGrowth } from "./growth-writes.bench.ts";
import { benchHedge } from "./hedge.bench.ts";
import { benchLedger } from "./ledger.bench.ts";
import { benchObserve } from "./observe.bench.ts";
import { benchOverload } from "./overload.bench.ts";
import { benchTranslate } from "./translate.bench.ts";
import { benchUsage } from "./usage.bench.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  admin: benchAdmin,
  console: benchConsole,
  growth: benchGrowth,
  hedge: benchHedge,
  "json-scanner": benchJsonScanner,
  ledger: benchLedger,
  observe: benchObserve,
  overload: async () => {
    await benchOverload();
    await benchHalfSentBodies();
  },
  sanitation: benchCodeSanitation,
  translate: benchTranslate,
  usage: benchUsage,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => BENCHMARKS[name] === undefined);
if (unknown.length > 0) {
  console.error(`bench: unknown ${unknown.join(", ")}; use some of ${Object.keys(BENCHMARKS).join(", ")}`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHMARKS)) {
  if (names.length === 0 || names.includes(name)) await bench();
}
