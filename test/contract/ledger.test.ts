// Runs the contract of the ledger in memory.
import { describe } from "bun:test";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import { describeLedger } from "./ledger.contract.ts";

describe("the ledger in memory", () => {
  describeLedger({
    source: "memory",
    // The monotonic clock may start anywhere; windows must not depend on it.
    create: (time) =>
      Promise.resolve(new MemoryLedger({ clock: { now: () => time() - 1_749_999_000_000, unixNow: time } })),
  });
});
