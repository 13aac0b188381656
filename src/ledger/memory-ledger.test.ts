// The ledger in memory with as many keys as it may have.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { TokensClaim } from "./ledger.ts";
import { MemoryLedger } from "./memory-ledger.ts";

function claim(key: string, amount: number): TokensClaim {
  return { kind: "tokens", key, limit: 100, windowMs: 60_000, amount };
}

test("a window that a new key of the same call evicts loses its amounts, but not the reservation", () => {
  const ledger = new MemoryLedger({ clock: new ManualClock(), maxKeys: 1 });
  const first = ledger.reserve("g", [claim("a", 10)], "local");
  if (first.reserved) first.settle([10]);
  const both = ledger.reserve("g", [claim("b", 20), claim("a", 30)], "local");
  expect(both.reserved).toBe(true);
  const used = () => ledger.peek("g", [claim("a", 0), claim("b", 0)]).states.map((state) => state.used);
  expect(used()).toEqual([30, 20]);
  if (both.reserved) both.settle([21, 31]);
  expect(used()).toEqual([31, 21]);
});
