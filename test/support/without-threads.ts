// A plugin on a host that has no thread for its tasks.
import { OffLoopError } from "../../src/off-loop/off-loop-error.ts";
import type { PluginDefinition } from "../../src/sdk/index.ts";

export function withoutThreads<Settings>(definition: PluginDefinition<Settings>): PluginDefinition<Settings> {
  const runOffLoop = () => Promise.reject(new OffLoopError("overloaded", "Too many tasks are waiting."));
  return {
    ...definition,
    create: (settings, host) => definition.create(settings, { ...host, runOffLoop }),
  };
}
