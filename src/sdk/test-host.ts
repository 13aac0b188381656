// The host of a plugin under test: limits in memory, counters that admit everything, and tasks that run in the thread of the test.
import { TextMemories } from "../base/text-memories.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Decision } from "./counters.ts";
import type { PluginHost } from "./host.ts";
import { TestResponses } from "./test-responses.ts";

/** A host whose counters admit every request. Blocks and kept values exist only within one test. */
export function testHost(ledger: Ledger): PluginHost {
  const kept = new Map<string, unknown>();
  const blocks = new Set<string>();
  const memories = new TextMemories();
  const admitted: Decision = { admitted: true, refusedBy: -1, states: [], source: "open" };
  return {
    instanceId: "test-gateway/test/0",
    isExplaining: false,
    counters: {
      admit: () => admitted,
      peek: () => admitted,
      knownRejection: () => null,
      clear: () => undefined,
    },
    knownRefusal: (claims) => {
      const refusal = ledger.knownRefusal(claims);
      return refusal === null ? null : { ...refusal, isReserved: false };
    },
    blocks: {
      has: (type, subject) => blocks.has(`${type}:${subject}`),
      add: ({ type, subject }) => blocks.add(`${type}:${subject}`).size > 0,
    },
    runOffLoop: runTask,
    keep: <T>(name: string, make: () => T): T => {
      if (!kept.has(name)) kept.set(name, make());
      return kept.get(name) as T;
    },
    textMemory: (version = "") =>
      memories.open({ owner: "test-gateway", name: `${crypto.randomUUID()} ${version}` }),
    openResponses: (limits) => new TestResponses(limits),
    log: () => undefined,
  };
}

/** Runs a task in this thread. */
const runTask: PluginHost["runOffLoop"] = async (module: URL, input: unknown) => {
  const task = (await import(module.href)) as { run(input: unknown): unknown };
  return task.run(input) as never;
};
