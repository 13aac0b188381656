// The action "block" of rate_limiter: blocked subjects, their list in the Admin API, and their removal.
import { describe, expect, test } from "bun:test";
import { expectError } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  type ApiResponse,
  type RunningGatehouse,
} from "../support/gatehouse-process.ts";
import { limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson } from "../support/proxy-fixtures.ts";
import { isBlocked, limitHeaders, startRateLimiterHarness } from "../support/rate-limiter-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

/** For tests that start processes, on a busy machine. */
const START_MS = 60_000;

const { gatehouse, clock, provider, seedLimits, statusOf } = await startRateLimiterHarness();

describe("block", () => {
  const BLOCK = { actions: { type: "block" } };
  const blocksOf = async (gateway: string): Promise<ApiResponse["body"]> =>
    (await gatehouse.api("GET", `/gateways/${gateway}/blocks`)).body;
  const untilBlocks = (gateway: string, count: number) =>
    waitFor(async () => {
      const body = await blocksOf(gateway);
      return body.count === count ? (body.blocks as Record<string, string>[]) : null;
    });

  test("403 with the same error and no retry_after, even after the window is over", async () => {
    const route = await seedLimits({ per_user: [1, "1s"] }, BLOCK);
    const ann = { "X-User-ID": "ann" };
    expect(await statusOf(route, ann)).toBe(200);
    for (const waitMs of [0, 0, 1100]) {
      clock.advance(waitMs);
      const response = await postChat(gatehouse, route, { headers: ann });
      expect(response.status).toBe(403);
      expect(response.headers.has("retry-after")).toBe(false);
      expect(await response.json()).toEqual({
        error: "per_user rate limit exceeded",
        code: "rate_limit_blocked",
        request_id: response.headers.get("x-request-id"),
      });
    }
    expect(await statusOf(route, { "X-User-ID": "bob" })).toBe(200);
  });

  test("blocks are listed; removing one clears its count and keeps the others", async () => {
    const route = await seedLimits({ per_user: [1, "1h"], global: [90, "1h"] }, BLOCK);
    const other = await seedLimits({ per_user: [1, "1h"] }, BLOCK);
    for (const user of ["ann", "bob"]) {
      for (const status of [200, 403]) expect(await statusOf(route, { "X-User-ID": user })).toBe(status);
    }
    const blocks = await untilBlocks(route.gateway, 2);
    for (const block of blocks) {
      expect(Object.keys(block).sort()).toEqual(["created_at", "expires_at", "id", "subject", "type"]);
      expect(block["type"]).toBe("per_user");
      expect(Date.parse(block["created_at"]!)).toBeWithin(clock.unixNow() - 60_000, clock.unixNow() + 1000);
    }
    const ann = blocks.find(({ subject }) => subject!.includes("ann"))!;
    expect(blocks.some(({ subject }) => subject!.includes("bob"))).toBe(true);

    const foreign = await gatehouse.api("DELETE", `/gateways/${other.gateway}/blocks/${ann["id"]}`);
    expectError(foreign, 404, "not_found");
    expect(await statusOf(route, { "X-User-ID": "ann" })).toBe(403);
    const lifted = await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks/${ann["id"]}`);
    expect([lifted.status, lifted.body]).toEqual([204, null]);
    // The window of an hour is not over: an admitted request shows that the count was cleared.
    expect(await statusOf(route, { "X-User-ID": "ann" })).toBe(200);
    expect(await statusOf(route, { "X-User-ID": "bob" })).toBe(403);
    expectError(
      await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks/${ann["id"]}`),
      404,
      "not_found",
    );
    expect((await untilBlocks(route.gateway, 1))[0]!["subject"]).toContain("bob");
  });

  test("all blocks of a gateway can be removed together, without those of another", async () => {
    const route = await seedLimits({ per_user: [1, "1h"] }, BLOCK);
    const other = await seedLimits({ per_ip: [1, "1h"] }, BLOCK);
    for (const user of ["ann", "bob", "carol"]) {
      for (const status of [200, 403]) expect(await statusOf(route, { "X-User-ID": user })).toBe(status);
    }
    for (const status of [200, 403]) expect(await statusOf(other)).toBe(status);
    await untilBlocks(route.gateway, 3);
    expect((await untilBlocks(other.gateway, 1))[0]).toMatchObject({ type: "per_ip", subject: "127.0.0.1" });
    const page = (await gatehouse.api("GET", `/gateways/${route.gateway}/blocks?limit=2&offset=1`)).body;
    expect([page.count, page.limit, page.offset, page.blocks.length]).toEqual([3, 2, 1, 2]);
    expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks`)).status).toBe(204);
    expect(await blocksOf(route.gateway)).toMatchObject({ blocks: [], count: 0 });
    for (const user of ["ann", "bob", "carol"])
      expect(await statusOf(route, { "X-User-ID": user })).toBe(200);
    expect(await statusOf(other)).toBe(403);
    const missing = crypto.randomUUID();
    expectError(await gatehouse.api("GET", `/gateways/${missing}/blocks`), 404, "not_found");
    expectError(await gatehouse.api("DELETE", `/gateways/${missing}/blocks`), 404, "not_found");
  });

  test("a blocked request is not counted, and a block is created once", async () => {
    const route = await seedLimits({ per_user: [2, "1h"], global: [50, "1h"] }, BLOCK);
    await Promise.all(Array.from({ length: 40 }, () => statusOf(route)));
    await untilBlocks(route.gateway, 1);
    const { headers } = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(limitHeaders(headers)["X-RateLimit-global-Remaining"]).toBe("48");
    expect((await blocksOf(route.gateway)).count).toBe(1);
  });

  test(
    "survives a restart, and is deleted with its gateway",
    async () => {
      const own = await startGatehouseProcess({ keepData: true });
      const route = await seedPlugins(own, provider, [limiter({ per_ip: [1, "1s"] }, BLOCK)]);
      await postChat(own, route);
      expect((await postChat(own, route)).status).toBe(403);
      await waitUntil(
        async () => (await own.api("GET", `/gateways/${route.gateway}/blocks`)).body.count === 1,
      );
      await own.stop();
      const again = await startGatehouseProcess({ dataDir: own.dataDir });
      try {
        expect((await postChat(again, route)).status).toBe(403);
        const { body } = await again.api("GET", `/gateways/${route.gateway}/blocks`);
        expect(body.blocks).toMatchObject([{ type: "per_ip", subject: "127.0.0.1" }]);
        expect(
          (await again.api("DELETE", `/gateways/${route.gateway}/blocks/${body.blocks[0].id}`)).status,
        ).toBe(204);
        expect((await postChat(again, route)).status).toBe(200);
        expect((await postChat(again, route)).status).toBe(403);
        await waitUntil(
          async () => (await again.api("GET", `/gateways/${route.gateway}/blocks`)).body.count === 1,
        );
        expect((await again.api("DELETE", `/gateways/${route.gateway}?cascade=true`)).status).toBe(204);
        expectError(await again.api("GET", `/gateways/${route.gateway}/blocks`), 404, "not_found");
      } finally {
        await again.stop();
      }
    },
    START_MS,
  );
});

test(
  "removing a block clears the count in every process, even without a shared Redis",
  async () => {
    const other = await startGatehouseProcess({ dataDir: gatehouse.dataDir, keepData: true });
    const revision = async (at: RunningGatehouse) =>
      ((await (await fetch(`${at.adminUrl}/readyz`)).json()) as { revision: number }).revision;
    const caughtUp = () => waitUntil(async () => (await revision(other)) >= (await revision(gatehouse)));
    try {
      const route = await seedLimits({ per_ip: [2, "1h"] }, { actions: { type: "block" } });
      const send = async (at: RunningGatehouse) => (await postChat(at, route, {})).status;
      const blocks = `/gateways/${route.gateway}/blocks`;
      await caughtUp();
      expect(await send(other)).toBe(200);
      for (const status of [200, 200, 403]) expect(await send(gatehouse)).toBe(status);
      // The other process has counted one of two requests, so only the block can reject the next one.
      await waitUntil(() => isBlocked(other, route));
      expect((await gatehouse.api("DELETE", blocks)).status).toBe(204);
      await waitUntil(async () => !(await isBlocked(other, route)));
      for (const node of [gatehouse, other])
        for (const status of [200, 200]) expect(await send(node)).toBe(status);
    } finally {
      await other.stop();
    }
  },
  START_MS,
);
