// Helpers for tests of exact limits, which hold only while every process is connected to Redis.
import type { GatehouseProcess } from "./gatehouse-process.ts";
import { waitUntil } from "./waiting.ts";

const lostConnections = (nodes: readonly GatehouseProcess[]): Promise<string[]> =>
  Promise.all(
    nodes.map(async ({ adminUrl }) => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      return /^gatehouse_counters_lost_total (\S+)$/m.exec(text)![1]!;
    }),
  );

const MAX_ATTEMPTS = 12;

/** Waits until the process reports this state of its counters. */
export const untilCounters = (node: GatehouseProcess, state: string): Promise<void> =>
  waitUntil(async () => {
    const { counters } = (await (await fetch(`${node.proxyUrl}/readyz`)).json()) as {
      counters: { state: string };
    };
    return counters.state === state;
  });

/**
 * Returns the result of `act` during which every process was connected to Redis. On a busy machine, Redis may not run for
 * 25 ms; processes then decide without it, and `act` is repeated. Use `attempt` in keys, so that attempts are independent.
 */
export async function whileConnected<T>(
  nodes: readonly GatehouseProcess[],
  act: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const before = await lostConnections(nodes);
    // After the connections were counted: one that was lost before is not counted again.
    await Promise.all(nodes.map((node) => untilCounters(node, "ok")));
    const outcome = await act(attempt);
    if (attempt === MAX_ATTEMPTS || Bun.deepEquals(before, await lostConnections(nodes))) return outcome;
  }
}
