// Exactness over Redis holds while every process hears it, so that is what tests of exactness make sure of.
import { waitFor, type GatehouseProcess } from "./gatehouse-process.ts";

const lostSoFar = (nodes: readonly GatehouseProcess[]): Promise<string[]> =>
  Promise.all(
    nodes.map(async ({ adminUrl }) => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      return /^gatehouse_counters_lost_total (\S+)$/m.exec(text)![1]!;
    }),
  );

const MOST_ATTEMPTS = 12;

/** Until this process says that its counters are in that state. */
export const untilCounters = (node: GatehouseProcess, state: string, deadlineMs = 5000): Promise<boolean> =>
  waitFor(async () => {
    const { counters } = (await (await fetch(`${node.proxyUrl}/readyz`)).json()) as {
      counters: { state: string };
    };
    return counters.state === state ? true : null;
  }, deadlineMs);

/**
 * What the requests of `act` came to while every process heard Redis. A machine with too much other work can keep Redis
 * from running for 25 ms; then processes decide alone, as the contract says, and exactness has to be asked for again.
 * `attempt` tells the tries apart, so that none counts for another.
 */
export async function whileHeard<T>(
  nodes: readonly GatehouseProcess[],
  act: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const before = await lostSoFar(nodes);
    const outcome = await act(attempt);
    if (attempt === MOST_ATTEMPTS || Bun.deepEquals(before, await lostSoFar(nodes))) return outcome;
    await Promise.all(nodes.map((node) => untilCounters(node, "ok")));
  }
}
