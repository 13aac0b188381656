// GET …/upstreams/{id}/health: reports the effect of passive health checks, rests, and trials.
import { expect, test } from "bun:test";
import { expectError } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const [gatehouse, provider, other] = await Promise.all([
  useGatehouse(),
  useFakeProvider(),
  useFakeProvider(),
]);

async function health({ gateway, upstream }: SeededRoute): Promise<ApiResponse["body"][]> {
  const { status, body } = await gatehouse.api("GET", `/gateways/${gateway}/upstreams/${upstream}/health`);
  expect(status).toBe(200);
  return body.targets;
}

function seedPair(fields: Record<string, unknown> = {}): Promise<SeededRoute> {
  return seedRoute(gatehouse, {
    upstream: {
      targets: [targetAt(provider), targetAt(other, { provider: "second", priority: 2 })],
      health_checks: { passive: true, threshold: 2, interval: 600 },
      ...fields,
    },
  });
}

test("a target that fails is ejected for the interval", async () => {
  const route = await seedPair();
  const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/upstreams/${route.upstream}`);
  const ids = body.targets.map((target: { id: string }) => target.id);
  const fresh = {
    state: "healthy",
    failures: 0,
    recent_failures: null,
    until: null,
    in_flight: 0,
    latency_ms: null,
  };
  expect(await health(route)).toEqual([
    { target_id: ids[0], provider: "openai", ...fresh },
    { target_id: ids[1], provider: "second", ...fresh },
  ]);
  provider.behave({ status: 500 });
  await (await postChat(gatehouse, route)).text();
  expect(await health(route)).toMatchObject([
    { state: "healthy", failures: 1, until: null },
    { failures: 0 },
  ]);
  const before = Date.now();
  await (await postChat(gatehouse, route)).text();
  provider.reset();
  const [out, serving] = await health(route);
  expect(out).toMatchObject({ state: "out", failures: 0, recent_failures: 2, latency_ms: null });
  expect(Date.parse(out.until)).toBeWithin(before + 599_000, Date.now() + 601_000);
  expect(serving).toMatchObject({ state: "healthy", recent_failures: 0 });
  expect(serving.latency_ms).toBeGreaterThan(0);
});

test("after the interval the target is on trial, and a successful response ends the ejection", async () => {
  const route = await seedPair({ health_checks: { passive: true, threshold: 1, interval: 1 } });
  provider.behave({ status: 500 });
  await (await postChat(gatehouse, route)).text();
  provider.reset();
  const trial = await waitFor(async () => {
    const [first] = await health(route);
    return first.state === "trial" ? first : null;
  });
  expect(trial.until).toBeNull();
  await (await postChat(gatehouse, route)).text();
  expect((await health(route))[0]).toMatchObject({ state: "healthy", failures: 0 });
});

test("a 429 makes a target rest; requests in flight are counted", async () => {
  const route = await seedPair({ health_checks: {} });
  provider.behave({ rateLimited: { retryAfter: 30 } });
  const before = Date.now();
  await (await postChat(gatehouse, route)).text();
  provider.reset();
  const [resting] = await health(route);
  expect(resting).toMatchObject({ state: "resting", failures: 0 });
  expect(Date.parse(resting.until)).toBeWithin(before + 29_000, Date.now() + 31_000);

  other.behave({ delayMs: 60_000 });
  const leave = new AbortController();
  const call = fetch(gatehouse.proxyUrl + route.path, { method: "POST", body: "x", signal: leave.signal });
  const ended = call.catch(() => null);
  await waitUntil(async () => (await health(route))[1].in_flight === 1);
  other.reset();
  leave.abort();
  await ended;
  await waitUntil(async () => (await health(route))[1].in_flight === 0);
});

test("unknown gateways and upstreams are 404", async () => {
  const [route, foreign] = [await seedPair(), await seedPair()];
  const readHealth = (gateway: string, upstream: string) =>
    gatehouse.api("GET", `/gateways/${gateway}/upstreams/${upstream}/health`);
  expectError(await readHealth(route.gateway, foreign.upstream), 404, "not_found");
  expectError(await readHealth("nothing", route.upstream), 404, "not_found");
});

test("failures are counted without passive health checks, until a request succeeds", async () => {
  const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  provider.behave({ status: 500 });
  for (let count = 0; count < 3; count++) await (await postChat(gatehouse, route)).text();
  expect(await health(route)).toMatchObject([{ state: "healthy", failures: 0, recent_failures: 3 }]);
  provider.reset();
  await (await postChat(gatehouse, route)).text();
  await waitUntil(async () => (await health(route))[0].recent_failures === 0);
});
