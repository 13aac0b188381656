// `npm run bench [name…]`: runs all benchmarks or the named ones, and prints their results.
import { benchAdmin } from "./admin.bench.ts";
import { benchAllocations } from "./allocations.bench.ts";
import { benchCanary } from "./canary.bench.ts";
import { benchCache, benchCacheRedis } from "./cache.bench.ts";
import { benchCodeSanitation } from "./code-sanitation.bench.ts";
import { benchConsole } from "./console.bench.ts";
import { benchPiiMask } from "./pii-mask.bench.ts";
import { benchJsonScanner } from "./json-scanner.bench.ts";
import { benchHalfSentBodies } from "./half-sent-bodies.bench.ts";
import { benchGrowth } from "./growth-writes.bench.ts";
import { benchHedge } from "./hedge.bench.ts";
import { benchIsolation } from "./isolation.bench.ts";
import { benchLargePeers } from "./large-peers.ts";
import { benchLargeTexts } from "./large-texts.ts";
import { benchLedger } from "./ledger.bench.ts";
import { benchLimits } from "./limits.bench.ts";
import { benchMcp } from "./mcp.bench.ts";
import { benchNeighbors } from "./neighbors.bench.ts";
import { benchObserve } from "./observe.bench.ts";
import { benchOverload } from "./overload.bench.ts";
import { benchShadow } from "./shadow.bench.ts";
import { benchTranslate } from "./translate.bench.ts";
import { benchUsage } from "./usage.bench.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  admin: benchAdmin,
  allocations: benchAllocations,
  canary: benchCanary,
  cache: benchCache,
  "cache-redis": benchCacheRedis,
  console: benchConsole,
  growth: benchGrowth,
  hedge: benchHedge,
  isolation: benchIsolation,
  "json-scanner": benchJsonScanner,
  "pii-mask": benchPiiMask,
  ledger: benchLedger,
  limits: benchLimits,
  mcp: benchMcp,
  neighbors: () => benchNeighbors(["worker", "process"]),
  observe: benchObserve,
  overload: async () => {
    await benchOverload();
    await benchHalfSentBodies();
    await benchLargePeers();
  },
  sanitation: benchCodeSanitation,
  shadow: benchShadow,
  translate: benchTranslate,
  usage: benchUsage,
};

/** Parts of the benchmarks above, which run only if they are named. */
const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  "large-peers": benchLargePeers,
  "large-texts": benchLargeTexts,
  "neighbors-worker": () => benchNeighbors(["worker"]),
  "neighbors-process": () => benchNeighbors(["process"]),
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => BENCHMARKS[name] === undefined && PARTS[name] === undefined);
if (unknown.length > 0) {
  const known = Object.keys({ ...BENCHMARKS, ...PARTS }).join(", ");
  console.error(`bench: unknown ${unknown.join(", ")}; use some of ${known}`);
  process.exit(2);
}
for (const [name, bench] of Object.entries(BENCHMARKS)) {
  if (names.length === 0 || names.includes(name)) await bench();
}
for (const [name, bench] of Object.entries(PARTS)) {
  if (names.includes(name)) await bench();
}
// Programs that a benchmark started may still run: they end with this process.
process.exit(0);
