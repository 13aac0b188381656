// Traffic per second: what is counted, how long it is kept, and merging several processes.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { requestFacts, servedBy } from "./request-facts.fixture.ts";
import { quantile, TRAFFIC_SECONDS } from "./second-ring.ts";
import { MAX_GATEWAY_RINGS, mergePoints, showPoints, Traffic } from "./traffic.ts";

const NOW = 1_800_000_000;

/** A request with this duration that ended in this second. */
function ended(second: number, fields: Parameters<typeof requestFacts>[0] = {}, ms = 10) {
  return requestFacts({ endedWallMs: second * 1000 + 500, startedAt: 1000, endedAt: 1000 + ms, ...fields });
}

async function shown(traffic: Traffic, from: number, to: number, gateway: string | null = null) {
  return showPoints(await traffic.readTraffic(from, to, gateway === null ? null : [gateway]), from, to);
}

describe("points", () => {
  test("one per second, also without traffic, oldest first", async () => {
    const traffic = new Traffic();
    for (const second of [NOW - 2, NOW, NOW]) traffic.add(ended(second));
    const points = await shown(traffic, NOW - 3, NOW);
    expect(points.map((point) => point.requests)).toEqual([0, 1, 0, 2]);
    expect(points[0]).toEqual({
      time: new Date((NOW - 3) * 1000).toISOString(),
      requests: 0,
      errors: 0,
      p50_ms: null,
      p99_ms: null,
      first_byte_p50_ms: null,
      first_token_p50_ms: null,
      input_tokens: 0,
      output_tokens: 0,
      cost: 0,
      unpriced_requests: 0,
      refused: {},
      failed: {},
    });
  });

  test("sums errors, rejected requests, tokens and cost", async () => {
    const traffic = new Traffic();
    const attempt = servedBy(0, { status: 200, firstByteAt: 1005 });
    const served = { attempts: [attempt], finalAttempt: attempt };
    const tokens = { input: 2, output: 3, cachedInput: 0, cacheWrite: 0, reasoning: 0, isPartial: false };
    traffic.add(ended(NOW, { ...served, tokens, cost: 0.25, firstTokenAt: 1100 }));
    traffic.add(ended(NOW, { ...served, tokens, cost: 0.5, outcome: "incomplete" }));
    traffic.add(ended(NOW, { status: 499, outcome: "client_left" }));
    traffic.add(ended(NOW, { status: 429, errorCode: "rate_limit_exceeded" }));
    traffic.add(ended(NOW, { status: 502, errorCode: "upstream_unreachable", attempts: [attempt] }));
    for (let index = 0; index < 40; index++)
      traffic.add(ended(NOW, { status: 400, errorCode: `made up ${index}` }));
    const [point] = await shown(traffic, NOW, NOW);
    expect(point).toMatchObject({ requests: 45, errors: 43, input_tokens: 4, output_tokens: 6, cost: 0.75 });
    const refused = point?.refused ?? {};
    expect(refused["rate_limit_exceeded"]).toBe(1);
    expect(refused).not.toHaveProperty("upstream_unreachable");
    expect(Object.keys(refused).length).toBeLessThan(20);
    expect(Object.values(refused).reduce((sum, each) => sum + each, 0)).toBe(41);
    expect(point?.first_byte_p50_ms).toBeWithin(3, 8);
    expect(point?.first_token_p50_ms).toBeWithin(67, 150);
  });

  test("a second is dropped when its slot is reused", async () => {
    const traffic = new Traffic();
    traffic.add(ended(NOW, { status: 500, errorCode: "x", firstTokenAt: 1005 }));
    traffic.add(ended(NOW + TRAFFIC_SECONDS));
    expect(await traffic.readTraffic(NOW, NOW, null)).toEqual([]);
    const [point] = await shown(traffic, NOW + TRAFFIC_SECONDS, NOW + TRAFFIC_SECONDS);
    expect(point).toMatchObject({ requests: 1, errors: 0, refused: {}, first_token_p50_ms: null });
  });
});

describe("gateways", () => {
  test("each gateway has its own points", async () => {
    const traffic = new Traffic();
    traffic.add(ended(NOW, { gatewayId: "a" }));
    traffic.add(ended(NOW, { gatewayId: "b" }));
    traffic.add(ended(NOW, { gatewayId: null }));
    const count = async (id: string | null) => (await shown(traffic, NOW, NOW, id))[0]?.requests;
    expect([await count(null), await count("a"), await count("b"), await count("c")]).toEqual([3, 1, 1, 0]);
  });

  test("are summed for several gateways", async () => {
    const traffic = new Traffic();
    for (const gatewayId of ["a", "a", "b", "c"]) traffic.add(ended(NOW, { gatewayId }));
    traffic.add(ended(NOW + 1, { gatewayId: "b", status: 500 }));
    const points = await traffic.readTraffic(NOW, NOW + 1, ["a", "b", "none"]);
    expect(points.map(({ requests }) => requests)).toEqual([3, 1]);
    expect(await traffic.sumByGateway(NOW, NOW + 1)).toEqual([
      { gatewayId: "a", requests: 2, errors: 0 },
      { gatewayId: "b", requests: 2, errors: 1 },
      { gatewayId: "c", requests: 1, errors: 0 },
    ]);
    expect(await traffic.sumByGateway(NOW + 1, NOW + 1)).toHaveLength(1);
  });

  test("the number of rings is bounded; one that was idle for ten minutes is removed", async () => {
    const traffic = new Traffic();
    for (let index = 0; index <= MAX_GATEWAY_RINGS; index++)
      traffic.add(ended(NOW, { gatewayId: `gateway ${index}` }));
    expect(await traffic.readTraffic(NOW, NOW, ["gateway 0"])).toHaveLength(1);
    expect(await traffic.readTraffic(NOW, NOW, [`gateway ${MAX_GATEWAY_RINGS}`])).toEqual([]);
    const later = NOW + TRAFFIC_SECONDS;
    traffic.add(ended(later, { gatewayId: "late" }));
    expect(await traffic.readTraffic(later, later, ["late"])).toHaveLength(1);
  });
});

describe("quantiles", () => {
  test("are accurate to within one bucket for all durations", async () => {
    const durations = fc.array(fc.double({ min: 1.01, max: 250_000, noNaN: true }), {
      minLength: 1,
      maxLength: 50,
    });
    const check = fc.asyncProperty(durations, async (milliseconds) => {
      const traffic = new Traffic();
      for (const ms of milliseconds) traffic.add(ended(NOW, {}, ms));
      const sorted = [...milliseconds].sort((a, b) => a - b);
      const [point] = await traffic.readTraffic(NOW, NOW, null);
      for (const share of [0.5, 0.99]) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] as number;
        expect((quantile(point?.durations ?? [], share) as number) / exact).toBeWithin(1 / 1.51, 1.51);
      }
    });
    await fc.assert(check, { numRuns: 50 });
  });

  test("are null without requests", () => {
    expect(quantile([], 0.5)).toBeNull();
    expect(quantile([0, 0], 0.5)).toBeNull();
  });
});

test("mergePoints sums the seconds of several processes", async () => {
  const read = (...seconds: readonly number[]) => {
    const traffic = new Traffic();
    for (const second of seconds)
      traffic.add(ended(second, { status: 400, errorCode: "a", firstTokenAt: second }, second - NOW + 1));
    return traffic.readTraffic(NOW, NOW + 10, null);
  };
  const merged = mergePoints([await read(NOW, NOW + 5), await read(NOW, NOW, NOW + 1)]);
  expect(merged.map(({ second, requests, refused }) => [second - NOW, requests, refused])).toEqual([
    [0, 3, { a: 3 }],
    [1, 1, { a: 1 }],
    [5, 1, { a: 1 }],
  ]);
  const whole = await read(NOW, NOW, NOW, NOW + 1, NOW + 5);
  expect(merged).toEqual([...whole]);
});
