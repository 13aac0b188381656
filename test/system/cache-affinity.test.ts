// cache-affinity over three nodes and four targets: conversations stay at their target, also after one of the targets was ejected,
// the load is even, and explain names the target that then serves. The long form has 10,000 conversations of 10 turns.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { untilAllFollow } from "../support/shared-nodes.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const CONVERSATIONS = runs({ short: 800, long: 10_000 });
const TURNS = runs({ short: 4, long: 10 });
const EXPLAINED = runs({ short: 60, long: 10_000 });
const CONCURRENCY = 24;
const TIMEOUT_MS = runs({ short: 60_000, long: 900_000 });

const folder = temporaryDirectory();
const providers = await Promise.all(Array.from({ length: 4 }, () => useFakeProvider({ record: false })));
const nodes: GatehouseProcess[] = [];
let route: SeededRoute;

beforeAll(async () => {
  const env = { WORKERS: "1", DATABASE_URL: `sqlite://${join(folder, "shared.db")}` };
  nodes.push(await startGatehouseProcess({ env }));
  nodes.push(...(await Promise.all([startGatehouseProcess({ env }), startGatehouseProcess({ env })])));
  const [first] = nodes;
  route = await seedRoute(first!, {
    upstream: {
      targets: providers.map((provider) => targetAt(provider)),
      health_checks: { passive: true, threshold: 1, interval: 1 },
    },
  });
  await create(first!, `/gateways/${route.gateway}/models`, {
    name: "warm",
    strategy: "cache-affinity",
    targets: [{ upstream: route.upstream, model: "m" }],
  });
  await untilAllFollow(nodes);
}, 60_000);
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const bodyOf = (conversation: number, turn: number) => ({
  model: "warm",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: `Question ${conversation}` },
    ...Array.from({ length: turn }, (_, index) => [
      { role: "assistant", content: `Reply ${index}` },
      { role: "user", content: `More ${index}` },
    ]).flat(),
  ],
});

/** Returns the index of the provider that served. Turns of a conversation go to different nodes. */
async function serve(conversation: number, turn: number): Promise<number> {
  const response = await fetch(nodes[(conversation + turn) % nodes.length]!.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(bodyOf(conversation, turn)),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.stringContaining("from target ")]);
  return Number(/from target (\d)/.exec(text)?.[1]);
}

/** Calls `work` for every number below `count`, several at a time, and returns the results in order. */
async function forAll<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return results;
}

test(
  "conversations stay at their target over nodes and an ejection, with an even load, and explain names it",
  async () => {
    const answer = () => {
      for (const [index, provider] of providers.entries()) provider.behave({ text: `from target ${index}` });
    };
    answer();
    const homes = await forAll(CONVERSATIONS, (conversation) => serve(conversation, 0));
    const counts = providers.map((_, index) => homes.filter((home) => home === index).length);
    expect(Math.max(...counts)).toBeLessThanOrEqual((1.25 * CONVERSATIONS) / providers.length);
    let kept = 0;
    let counted = 0;
    const ejectedAt = Math.floor(TURNS / 2);
    for (let turn = 1; turn < TURNS; turn++) {
      if (turn === ejectedAt) providers[0]!.behave({ status: 500 });
      const served = await forAll(CONVERSATIONS, (conversation) => serve(conversation, turn));
      if (turn === ejectedAt) {
        // Only conversations of the ejected target move.
        expect(served.filter((target) => target === 0)).toEqual([]);
        const moved = served.filter((target, index) => homes[index] !== 0 && target !== homes[index]);
        expect(moved.length).toBeLessThanOrEqual(0.05 * CONVERSATIONS);
        answer();
        const home = homes.indexOf(0);
        // Until each node has tried the target again.
        for (let node = 0; node < nodes.length; node++)
          await waitFor(async () => ((await serve(home, node)) === 0 ? true : null));
        continue;
      }
      counted += served.length;
      kept += served.filter((target, index) => target === homes[index]).length;
    }
    expect(kept / counted).toBeGreaterThanOrEqual(0.95);
    const named = await forAll(EXPLAINED, async (conversation) => {
      const { body } = await nodes[conversation % nodes.length]!.api(
        "POST",
        `/gateways/${route.gateway}/explain`,
        {
          path: route.path,
          body: bodyOf(conversation, TURNS),
        },
      );
      return providers.findIndex(({ url }) => (body.upstream_request.url as string).startsWith(url));
    });
    // At rest: one request after the other.
    for (const [conversation, target] of named.entries())
      expect(await serve(conversation, TURNS)).toBe(target);
  },
  TIMEOUT_MS,
);
