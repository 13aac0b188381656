// The host of a plugin inside an isolate. What needs the gateway is asked of it; the rest is local.
import { TextMemories } from "../../base/text-memories.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import type { PluginHost } from "../../sdk/index.ts";

/** Asks the gateway. `now` waits without returning to the event loop; `notify` needs no reply. */
export interface HostQuestions {
  now(method: string, args: readonly unknown[]): unknown;
  later(method: string, args: readonly unknown[]): Promise<unknown>;
  notify(method: string, args: readonly unknown[]): void;
}

/** Values of `host.keep` by instance id. They outlive settings, but not the isolate. */
const kept = new Map<string, Map<string, unknown>>();
const memories = new TextMemories();

export function createHost(
  instanceId: string,
  isExplaining: boolean,
  ask: HostQuestions,
  openOffLoop: () => OffLoop,
): PluginHost {
  // What the methods return is what the host of the gateway returned, after JSON.
  const later =
    (method: string) =>
    (...args: unknown[]) =>
      ask.later(method, args) as Promise<never>;
  const now =
    (method: string) =>
    (...args: unknown[]) =>
      ask.now(method, args) as never;
  return {
    instanceId,
    isExplaining,
    counters: {
      admit: later("counters.admit"),
      peek: later("counters.peek"),
      knownRejection: now("counters.knownRejection"),
      clear: later("counters.clear"),
    },
    knownRefusal: now("knownRefusal"),
    blocks: { has: now("blocks.has"), add: now("blocks.add") },
    runOffLoop: (module, input, limits) => openOffLoop().run(module, input, limits),
    keep: <T>(name: string, make: () => T): T => {
      if (isExplaining) return make();
      const values = kept.get(instanceId) ?? new Map<string, unknown>();
      kept.set(instanceId, values);
      if (!values.has(name)) values.set(name, make());
      return values.get(name) as T;
    },
    textMemory: (version = "") =>
      memories.open({ owner: instanceId, name: `${instanceId} ${crypto.randomUUID()} ${version}` }),
    openResponses: () => {
      throw new Error("host.openResponses is not available to isolated plugins; set isolation to inline");
    },
    log: (level, message, fields = {}) => ask.notify("log", [level, message, fields]),
  };
}
