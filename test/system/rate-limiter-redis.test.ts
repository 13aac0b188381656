// Tests of rate_limiter with a real Redis (section 7 of the contract): exact counts across three processes that also share a
// database. test/fault/rate-limiter-redis.test.ts tests what happens while Redis is unavailable.
import { describe, expect, test } from "bun:test";
import { whileConnected } from "../support/exact-counters.ts";
import { countStatuses, postChat } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson } from "../support/proxy-fixtures.ts";
import { readiness, statusOf, useRateLimitedNodes } from "../support/rate-limited-nodes.ts";
import { isBlocked } from "../support/rate-limiter-fixtures.ts";
import { hasRedis } from "../support/redis.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

describe.skipIf(!hasRedis)("rate_limiter with Redis", () => {
  const shared = useRateLimitedNodes();

  test("/readyz reports the state of the counters", async () => {
    for (const node of shared.nodes) expect((await readiness(node)).counters).toEqual({ state: "ok" });
  });

  test("1,000 concurrent requests across three processes against a limit of 100: exactly 100 pass", async () => {
    const { route, statuses } = await whileConnected(shared.nodes, async () => {
      const route = await shared.seedEverywhere({ per_user: [100, "1m"], global: [900, "1m"] });
      shared.provider.reset();
      const requests = Array.from({ length: 1000 }, (_, index) => statusOf(shared.nodes[index % 3]!, route));
      return { route, statuses: await Promise.all(requests) };
    });
    expect(countStatuses(statuses)).toEqual({ "200": 100, "429": 900 });
    expect(shared.provider.requestCount).toBe(100);
    // Rejected requests were not counted: the global limit is used up by exactly the hundred admitted ones and this one.
    const next = await rawJson(shared.nodes[1].proxyUrl, route.path, CHAT, [["X-User-ID", "bob"]]);
    expect(next.header("X-RateLimit-global-Remaining")).toBe("799");
    expect(next.header("X-RateLimit-per_user-Remaining")).toBe("99");
    expect(Number(next.header("X-RateLimit-global-Reset")) - Date.now() / 1000).toBeWithin(1, 62);
  }, 60_000);

  test("all processes share one count in one sliding window", async () => {
    const route = await shared.seedEverywhere({ per_user: [2, "1h"] });
    const { admitted, rejected } = await whileConnected(shared.nodes, async (attempt) => {
      const user = `user ${attempt}`;
      const admitted = [
        await statusOf(shared.nodes[0], route, user),
        await statusOf(shared.nodes[1], route, user),
      ];
      return {
        admitted,
        rejected: await postChat(shared.nodes[2], route, { headers: { "X-User-ID": user } }),
      };
    });
    expect([...admitted, rejected.status]).toEqual([200, 200, 429]);
    expect(await rejected.json()).toMatchObject({
      error: "per_user rate limit exceeded",
      code: "rate_limit_exceeded",
    });
    expect(Number(rejected.headers.get("retry-after"))).toBeWithin(3000, 3601);
    const short = await shared.seedEverywhere({ per_user: [1, "1s"] });
    expect(await statusOf(shared.nodes[0], short)).toBe(200);
    await waitUntil(async () => (await statusOf(shared.nodes[2], short)) === 200);
  });

  test("a block, and its removal together with its count, takes effect in every process within a second", async () => {
    const route = await shared.seedEverywhere({ per_user: [1, "1h"] }, { actions: { type: "block" } });
    const blocks = `/gateways/${route.gateway}/blocks`;
    const ann = { "X-User-ID": "ann" };
    const [first, second, third] = shared.nodes;
    expect(await statusOf(first, route)).toBe(200);
    expect(await statusOf(first, route)).toBe(403);
    const listed = await waitFor(async () => {
      const { body } = await third.api("GET", blocks);
      return body.count === 1 ? (body.blocks as { id: string; type: string }[]) : null;
    });
    expect(listed).toMatchObject([{ type: "per_user" }]);
    // The count alone would reject the requests as well. Without it, only the block can.
    await shared.redis.command("FLUSHALL");
    for (const node of shared.nodes) await waitUntil(() => isBlocked(node, route, ann));
    for (const node of shared.nodes) expect(await statusOf(node, route)).toBe(403);
    expect((await second.api("DELETE", `${blocks}/${listed[0]!.id}`)).status).toBe(204);
    for (const node of shared.nodes) await waitUntil(async () => !(await isBlocked(node, route, ann)));
    expect(await statusOf(third, route)).toBe(200);
    expect(await statusOf(first, route)).toBe(403);
  });
});
