// Blocks under attack: a client that invents users fills neither the history nor the store, and a block may expire.
import { expect, test } from "bun:test";
import { expectError } from "../support/admin-fixtures.ts";
import { limiter } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";
import { startRateLimiterHarness } from "../support/rate-limiter-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const MAX_BLOCKS = 3;
const REVISIONS_KEPT = 20;
const { gatehouse, clock, seedLimits, statusOf } = await startRateLimiterHarness({
  REVISIONS_KEPT: String(REVISIONS_KEPT),
});
const bounded = await startRateLimiterHarness({ MAX_BLOCKS: String(MAX_BLOCKS) });
const BLOCK = { actions: { type: "block" } };

async function blocksOf(gateway: string, at = gatehouse) {
  const { body } = await at.api("GET", `/gateways/${gateway}/blocks?limit=1000`);
  return body as { count: number; blocks: { id: string; subject: string; expires_at: string | null }[] };
}

const untilCount = (gateway: string, count: number, at = gatehouse) =>
  waitUntil(async () => (await blocksOf(gateway, at)).count === count);

async function revisions() {
  const { body } = await gatehouse.api("GET", "/revisions?limit=1000");
  return body as { count: number; revisions: { revision: number; resource: string; gateway_id: string }[] };
}

/** Sends two requests as this user. The limit is one, so the second one is rejected with the returned status. */
async function offend(route: SeededRoute, user: string, send = statusOf): Promise<number> {
  expect(await send(route, { "X-User-ID": user })).toBe(200);
  return send(route, { "X-User-ID": user });
}

async function refusedBlocks(gateway: string): Promise<number> {
  const { body } = await bounded.gatehouse.api("GET", `/gateways/${gateway}`);
  const text = await (await fetch(`${bounded.gatehouse.adminUrl}/metrics`)).text();
  return readMetrics(text).sum("gatehouse_blocks_refused_total", {
    gateway: String(body.name),
    type: "per_user",
  });
}

test("blocked users that a client invents push no revision out of the history", async () => {
  const route = await seedLimits({ per_user: [1, "1h"] }, BLOCK);
  const before = await revisions();
  const users = 2 * REVISIONS_KEPT;
  for (let user = 0; user < users; user++) expect(await offend(route, `invented-${user}`)).toBe(403);
  await untilCount(route.gateway, users);
  expect(await revisions()).toEqual(before);
  // Removing blocks writes no revision either.
  const [first] = (await blocksOf(route.gateway)).blocks;
  expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks/${first!.id}`)).status).toBe(204);
  expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks`)).status).toBe(204);
  expect(await revisions()).toEqual(before);
});

test("at the bound of a gateway and limit, further offenders get 429, a metric counts them, and all blocks stay", async () => {
  const route = await bounded.seedLimits({ per_user: [1, "1h"] }, BLOCK);
  const other = await bounded.seedLimits({ per_user: [1, "1h"] }, BLOCK);
  for (let user = 0; user < MAX_BLOCKS; user++)
    expect(await offend(route, `u${user}`, bounded.statusOf)).toBe(403);
  for (const times of [1, 2]) {
    const late = { "X-User-ID": "late" };
    if (times === 1) expect(await bounded.statusOf(route, late)).toBe(200);
    expect(await bounded.statusOf(route, late)).toBe(429);
    expect(await refusedBlocks(route.gateway)).toBe(times);
  }
  await untilCount(route.gateway, MAX_BLOCKS, bounded.gatehouse);
  expect(await bounded.statusOf(route, { "X-User-ID": "late" })).toBe(429);
  for (const user of ["u0", `u${MAX_BLOCKS - 1}`])
    expect(await bounded.statusOf(route, { "X-User-ID": user })).toBe(403);
  expect(await offend(other, "late", bounded.statusOf)).toBe(403);
  expect(await refusedBlocks(other.gateway)).toBe(0);
  // A removed block makes room.
  const [first] = (await blocksOf(route.gateway, bounded.gatehouse)).blocks;
  const path = `/gateways/${route.gateway}/blocks/${first!.id}`;
  expect((await bounded.gatehouse.api("DELETE", path)).status).toBe(204);
  expect(await bounded.statusOf(route, { "X-User-ID": "late" })).toBe(403);
});

test("a block ends after block_duration and is removed; one without it does not", async () => {
  const short = await seedLimits(
    { per_user: [1, "1s"] },
    { actions: { type: "block", block_duration: "1m" } },
  );
  const permanent = await seedLimits({ per_user: [1, "1s"] }, BLOCK);
  for (const route of [short, permanent]) expect(await offend(route, "ann")).toBe(403);
  const [block] = await waitFor(async () => {
    const { count, blocks } = await blocksOf(short.gateway);
    return count === 1 ? blocks : null;
  });
  expect(Date.parse(block!.expires_at!)).toBeWithin(clock.unixNow() + 50_000, clock.unixNow() + 60_001);
  await untilCount(permanent.gateway, 1);
  expect((await blocksOf(permanent.gateway)).blocks[0]!.expires_at).toBeNull();
  clock.advance(55_000);
  expect(await statusOf(short, { "X-User-ID": "ann" })).toBe(403);
  clock.advance(6000);
  expect(await statusOf(short, { "X-User-ID": "ann" })).toBe(200);
  expect(await statusOf(permanent, { "X-User-ID": "ann" })).toBe(403);
  await untilCount(short.gateway, 0);
  // The same user can be blocked again.
  expect(await statusOf(short, { "X-User-ID": "ann" })).toBe(403);
  await untilCount(short.gateway, 1);
  clock.advance(600_000);
  expect(await statusOf(permanent, { "X-User-ID": "ann" })).toBe(403);
});

test("block_duration is validated like a window", async () => {
  for (const block_duration of ["", "0s", "1", "1w", "400d", 60]) {
    const entry = limiter({ per_user: [1, "1s"] }, { actions: { type: "block", block_duration } });
    const response = await gatehouse.api("POST", "/gateways", { name: "g", required_plugins: [entry] });
    expectError(response, 400, "validation_failed");
    const [detail] = response.body.details as { path: string; message: string }[];
    expect(detail!.path).toEndWith("settings.actions.block_duration");
    expect(detail!.message).not.toContain("unknown");
  }
});

test("a user whose name no database can store is blocked and unblocked like any other", async () => {
  const route = await seedLimits({ per_user: [1, "1h"] }, BLOCK);
  const body = { model: "m", messages: [{ role: "user", content: "hi" }], user: "nul\0 and \ud800" };
  expect(await statusOf(route, {}, body)).toBe(200);
  expect(await statusOf(route, {}, body)).toBe(403);
  await untilCount(route.gateway, 1);
  expect(await statusOf(route, {}, body)).toBe(403);
  expect((await gatehouse.api("DELETE", `/gateways/${route.gateway}/blocks`)).status).toBe(204);
  expect(await statusOf(route, {}, body)).toBe(200);
});
