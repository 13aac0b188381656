// What compiling a gateway needs, for tests without a server: real parts, in memory.
import { BalanceRegistry } from "../../src/balance/balance-registry.ts";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import { PluginRegistry } from "../../src/plugins/registry.ts";
import type { ConfigurationContext } from "../../src/runtime/current-configuration.ts";
import { OffLoop } from "../../src/off-loop/off-loop.ts";
import { PluginHosts } from "../../src/runtime/plugin-hosts.ts";
import { createLog } from "../../src/telemetry/log/log.ts";

export function compileContext(): ConfigurationContext {
  const log = createLog({ level: "silent", format: "json" }, { write: () => undefined });
  const blocks = { has: () => false, add: () => true, canAdd: () => true };
  const hosts = new PluginHosts(new MemoryLedger(), blocks, log, new OffLoop());
  return {
    plugins: new PluginRegistry(),
    balance: new BalanceRegistry(),
    credentials: { of: () => null, problemOf: () => null },
    instances: hosts,
  };
}
