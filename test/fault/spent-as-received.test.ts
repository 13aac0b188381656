// Random walks of requests whose clients disconnect in every phase and whose providers fail in many ways, while Redis pauses: a budget has spent
// exactly what the provider has counted. The oracle is naive: a request costs a cent if the provider received it and did not respond
// with an error. `GATEHOUSE_LONG=1` sends ten times as many requests.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { connectRaw, type RawClient } from "../support/raw-client.ts";
import { hasRedis } from "../support/redis.ts";
import { startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { randomPause, waitUntil } from "../support/waiting.ts";

const WALKS = runs({ short: 3, long: 30 });
const SENDERS = 12;
const START_MS = 120_000;

/** What the provider does, and whether it charges for it. */
const BILLED: readonly Behavior[] = [
  {},
  { delayMs: 30 },
  { chunks: 6, chunkDelayMs: 5 },
  { headerDelayMs: 20 },
  { chunks: 6, cutAfterChunks: 2, chunkDelayMs: 1 },
  { cutAfterBytes: 40 },
  { cutAfterBytes: 40, reset: true },
  { errorAfterChunks: 2 },
];
const FREE: readonly Behavior[] = [{ status: 500 }, { status: 400 }, { rateLimited: { retryAfter: 0 } }];

/** When the client disconnects. */
type Phase = "in the body" | "at once" | "when received" | "at the headers" | "in the response" | "never";

interface Script {
  readonly behavior: Behavior;
  readonly isBilled: boolean;
  readonly phase: Phase;
  readonly stream: boolean;
  readonly reset: boolean;
}

const script: fc.Arbitrary<Script> = fc
  .oneof(
    fc.record({
      behavior: fc.constantFrom(...BILLED),
      isBilled: fc.constant(true),
      phase: fc.constantFrom<Phase>(
        ...([
          "in the body",
          "at once",
          "when received",
          "at the headers",
          "in the response",
          "never",
        ] as const),
      ),
    }),
    // If the client disconnects before the error arrives, the gateway does not learn that the provider charges nothing.
    fc.record({
      behavior: fc.constantFrom(...FREE),
      isBilled: fc.constant(false),
      phase: fc.constantFrom<Phase>("in the body", "never"),
    }),
  )
  .chain((fixed) =>
    fc.record({ stream: fc.boolean(), reset: fc.boolean() }).map((more) => ({ ...fixed, ...more })),
  );

const walk = fc.array(script, { minLength: 100, maxLength: 150, size: "max" });

describe.each([
  { where: "over three nodes with Redis", setup: { nodes: 3, redis: true, postgres: true } },
  { where: "in memory", setup: { nodes: 1, redis: false, postgres: false } },
])("$where", ({ setup }) => {
  const isMissing = (setup.redis && !hasRedis) || (setup.postgres && !hasPostgres);
  describe.skipIf(isMissing)("in random walks", () => {
    let shared: SharedNodes;
    beforeAll(async () => {
      // Some pauses are longer than this: then requests are rejected, and settlements are repeated.
      shared = await startSharedNodes({ ...setup, env: { REDIS_SILENT_MS: "200" } });
    }, START_MS);
    afterAll(() => shared.stop());

    async function seed(): Promise<{ route: SeededRoute; state: string }> {
      const [first] = shared.nodes;
      const route = await seedRoute(first!, {
        gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
        upstream: { targets: [targetAt(shared.provider)], max_attempts: 1 },
      });
      const path = `/gateways/${route.gateway}/budgets`;
      const { id } = await create(first!, path, { name: "team", unit: "usd", amount: "1000" });
      await untilAllFollow(shared.nodes);
      return { route, state: `${path}/${id}/state` };
    }

    const isReceived = (id: string) =>
      shared.provider.requests.some((request) => request.header("x-id") === id);

    /** Resolves when the request is over for the client. */
    async function send(
      { path }: SeededRoute,
      at: number,
      { behavior, phase, stream, reset }: Script,
      id: string,
    ) {
      const node = shared.nodes[at % shared.nodes.length]!;
      const client = await connectRaw(Number(new URL(node.proxyUrl).port));
      const body = JSON.stringify({ ...CHAT, stream });
      const head =
        `POST ${path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nConnection: close\r\n` +
        `x-id: ${id}\r\nx-fake: ${JSON.stringify(behavior)}\r\nContent-Length: ${body.length}\r\n\r\n`;
      client.send(head + (phase === "in the body" ? body.slice(0, 20) : body));
      await untilPhase(client, phase, id);
      client.disconnect(reset);
    }

    /** Resolves also if the response has ended before. */
    function untilPhase(client: RawClient, phase: Phase, id: string): Promise<unknown> {
      const { ended } = client;
      let isOver = false;
      void ended.then(() => (isOver = true));
      switch (phase) {
        case "never":
          return ended;
        case "when received":
          return waitUntil(() => isOver || isReceived(id));
        case "at the headers":
          return Promise.race([ended, client.until((text) => text.includes("\r\n\r\n")).catch(() => ended)]);
        case "in the response":
          return Promise.race([ended, client.until((text) => /\r\n\r\n[^]/.test(text)).catch(() => ended)]);
        default:
          return Promise.resolve();
      }
    }

    async function pauseRedis(isDone: () => boolean): Promise<void> {
      while (!isDone()) {
        await randomPause(500);
        shared.redis?.pause();
        await randomPause(400);
        shared.redis?.resume();
      }
    }

    async function settledCents(state: string): Promise<number> {
      let spent = NaN;
      await waitUntil(async () => {
        const { status, body } = await shared.nodes[0]!.api("GET", state);
        spent = Math.round(Number(body.spent) * 100);
        return status === 200 && Number(body.reserved) === 0;
      }, 40_000);
      return spent;
    }

    test(
      "a budget has spent exactly what the provider has counted",
      async () => {
        let counted = 0;
        const property = fc.asyncProperty(walk, async (scripts) => {
          shared.provider.reset();
          const { route, state } = await seed();
          const left = [...scripts.entries()];
          const billed = new Set<string>();
          const sender = async () => {
            for (let next = left.pop(); next !== undefined; next = left.pop()) {
              const [at, each] = next;
              const id = `${route.gateway}-${at}`;
              if (each.isBilled) billed.add(id);
              await send(route, at, each, id);
            }
          };
          let isDone = false;
          const pauses = shared.redis === null ? null : pauseRedis(() => isDone);
          await Promise.all(Array.from({ length: SENDERS }, sender));
          isDone = true;
          await pauses;
          const spent = await settledCents(state);
          const tally = shared.provider.requests.filter((request) =>
            billed.has(request.header("x-id") ?? ""),
          );
          expect(spent).toBe(tally.length);
          counted += tally.length;
        });
        await fc.assert(property, { numRuns: WALKS, endOnFailure: true });
        // In a walk during a pause of Redis, most requests are rejected.
        expect(counted).toBeGreaterThan(20);
      },
      START_MS + WALKS * 20_000,
    );
  });
});
