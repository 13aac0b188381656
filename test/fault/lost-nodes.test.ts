// Two nodes behind the published load balancers, of which one is lost: its machine is dead (nothing arrives, nothing comes back), or its
// process is frozen (connections are accepted, nothing responds). A request that reached no node is served by the other one; a request that a node may be working
// on is never repeated; and a node that wakes up does not send what nobody waits for.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startDeployedBalancer, hasNginx } from "../support/nginx.ts";
import { hasEnvoy, hasHaproxy, startEnvoy, startHaproxy } from "../support/load-balancers.ts";
import { canLoseMachines, loseMachine } from "../support/lost-machine.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(180_000);

const REQUESTS = 160;
const AT_A_TIME = 8;
/** Longer than any balancer takes to find out that a node is lost. */
const SLOW_MS = 15_000;

interface Balancer {
  readonly url: string;
  stop(): Promise<void>;
}

describe.skipIf(!hasPostgres)("two nodes, one of them lost", () => {
  let shared: SharedNodes;
  let route: SeededRoute;
  const portOf = (node: number) => Number(new URL(shared.nodes[node]!.proxyUrl).port);

  beforeAll(async () => {
    shared = await startSharedNodes({ nodes: 2, redis: false, postgres: true });
    route = await seedRoute(shared.nodes[0]!, { upstream: { targets: [targetAt(shared.provider)] } });
    await untilAllFollow(shared.nodes);
  });
  afterAll(() => shared.stop());

  /** Resolves to the status, or to 0 for a connection that was closed. */
  async function send(url: string, text: string, behavior = {}): Promise<number> {
    try {
      const response = await fetch(`${url}${route.path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "x-fake": JSON.stringify(behavior) },
        body: JSON.stringify({ ...CHAT, messages: [{ role: "user", content: text }] }),
        keepalive: false,
      });
      await response.text();
      return response.status;
    } catch {
      return 0;
    }
  }

  async function sendMany(url: string, text: string, count = REQUESTS): Promise<number[]> {
    const statuses: number[] = [];
    let left = count;
    const sendSome = async () => {
      while (left-- > 0) statuses.push(await send(url, text));
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, sendSome));
    return statuses;
  }

  const isServed = (status: number) => status === 200;
  const received = (text: string) =>
    shared.provider.requests.filter(({ body }) => Buffer.from(body).includes(`"${text}"`)).length;

  const checking = [
    { name: "HAProxy", isHere: hasHaproxy, start: startHaproxy, endsRequests: true },
    { name: "Envoy", isHere: hasEnvoy, start: startEnvoy, endsRequests: false },
  ];

  test.skipIf(!hasNginx || !canLoseMachines)("nginx: a dead machine costs no request", async () => {
    const balancer: Balancer = await startDeployedBalancer([portOf(0), portOf(1)], portOf(0));
    const restore = loseMachine(portOf(1));
    try {
      const statuses = await sendMany(balancer.url, "nginx, dead");
      expect(statuses.filter(isServed)).toHaveLength(REQUESTS);
      expect(received("nginx, dead")).toBe(REQUESTS);
    } finally {
      restore();
      await balancer.stop();
    }
  });

  for (const { name, isHere, start, endsRequests } of checking) {
    test.skipIf(!isHere || !canLoseMachines)(
      `${name}: a dead machine costs only the requests in it`,
      async () => {
        const balancer = await start([portOf(0), portOf(1)]);
        const inside = `${name}, inside the dead`;
        const slow = Array.from({ length: 10 }, () => send(balancer.url, inside, { delayMs: SLOW_MS }));
        await waitUntil(() => received(inside) === slow.length);
        const restore = loseMachine(portOf(1));
        try {
          const during = await sendMany(balancer.url, `${name}, during`);
          expect(during.filter(isServed)).toHaveLength(REQUESTS);
          expect(received(`${name}, during`)).toBe(REQUESTS);
          await waitUntil(async () => (await balancer.healthyPorts()).length === 1);
          expect((await sendMany(balancer.url, `${name}, after`)).filter(isServed)).toHaveLength(REQUESTS);
          const statuses = await Promise.all(slow);
          expect(statuses.filter(isServed).length).toBeWithin(1, slow.length);
          expect(received(inside)).toBe(slow.length);
        } finally {
          restore();
        }
        await waitUntil(async () => (await balancer.healthyPorts()).length === 2);
        await balancer.stop();
      },
    );

    test.skipIf(!isHere)(
      `${name}: a frozen process is found, and sends nothing late when it wakes up`,
      async () => {
        const balancer = await start([portOf(0), portOf(1)]);
        const during = `${name}, while frozen`;
        shared.nodes[1]!.signal("SIGSTOP");
        const sent = Array.from({ length: 40 }, () => send(balancer.url, during));
        try {
          await waitUntil(async () => (await balancer.healthyPorts()).length === 1);
          expect((await sendMany(balancer.url, `${name}, found`)).filter(isServed)).toHaveLength(REQUESTS);
          // The requests inside of the frozen process fail, and are not repeated.
          if (endsRequests) expect((await Promise.all(sent)).filter(isServed)).toHaveLength(received(during));
        } finally {
          shared.nodes[1]!.signal("SIGCONT");
        }
        const served = (await Promise.all(sent)).filter(isServed);
        if (endsRequests) expect(served.length).toBeLessThan(sent.length);
        await waitUntil(async () => (await balancer.healthyPorts()).length === 2);
        expect((await sendMany(balancer.url, `${name}, awake`)).filter(isServed)).toHaveLength(REQUESTS);
        expect(received(during)).toBe(served.length);
        await balancer.stop();
      },
    );
  }
});
