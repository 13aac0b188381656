// Request limits of a ledger in the terms of counters, as plugins use them.
import type { Ledger, LedgerState } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import { countersIn } from "../../src/runtime/plugin-counters.ts";
import type { Counters } from "../../src/sdk/index.ts";

export interface LedgerCounters extends Counters {
  readonly state: LedgerState;
  close(): Promise<void>;
}

export function ledgerCounters(ledger: Ledger): LedgerCounters {
  return {
    ...countersIn(ledger, "gw"),
    get state() {
      return ledger.state;
    },
    close: () => ledger.close(),
  };
}

export function redisCounters(
  ...options: ConstructorParameters<typeof RedisLedger>
): LedgerCounters & { readonly settled: Promise<void> } {
  const ledger = new RedisLedger(...options);
  return {
    ...countersIn(ledger, "gw"),
    get state() {
      return ledger.state;
    },
    get settled() {
      return ledger.settled;
    },
    close: () => ledger.close(),
  };
}
