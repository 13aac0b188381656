// Balancing as a client sees it: algorithms, weights and tiers.
import { describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import {
  sendChat,
  countOf,
  patchUpstream,
  seedUpstream,
  servedBy,
  servedInTurn,
  targetOf,
  type Route,
} from "../support/balancing-fixtures.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { passTimeUntil } from "../support/waiting.ts";

const ALGORITHMS = [
  "round-robin",
  "weighted-round-robin",
  "random",
  "least-connections",
  "lowest-latency",
  "ip-hash",
] as const;
const IN_TURN = ["round-robin", "weighted-round-robin"] as const;

const { gatehouse, providers, clock } = await startWithProviders("one", "two", "three");
const [one, two, three] = providers;

/** Sends requests that stay open until they are released. */
function holdOpen(route: Route, times: number): { readonly release: () => Promise<void> } {
  const abort = new AbortController();
  const held = Array.from({ length: times }, () =>
    sendChat(route, { fake: { delayMs: 60_000 }, signal: abort.signal }).catch(() => null),
  );
  return {
    async release() {
      abort.abort();
      await Promise.all(held);
    },
  };
}

describe.each(IN_TURN)("%s", (algorithm) => {
  test("alternates strictly between equal weights", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], { algorithm });
    const served = await servedInTurn(route, 20);
    const [first, second] = served;
    expect([first, second].toSorted()).toEqual(["one", "two"]);
    expect(served).toEqual(Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? first! : second!)));
  });

  test("takes strict turns with three equal targets", async () => {
    const route = await seedUpstream(
      gatehouse,
      [one, two, three].map((each) => targetOf(each)),
      {
        algorithm,
      },
    );
    const served = await servedInTurn(route, 12);
    expect(served.slice(0, 3).toSorted()).toEqual(["one", "three", "two"]);
    expect(served).toEqual(Array.from({ length: 12 }, (_, at) => served[at % 3]!));
  });

  test("serves weights 3:1 as three to one in any four requests", async () => {
    const targets = [targetOf(one, { weight: 3 }), targetOf(two, { weight: 1 })];
    const route = await seedUpstream(gatehouse, targets, { algorithm });
    const served = await servedInTurn(route, 24);
    for (let from = 0; from + 4 <= served.length; from++) {
      expect(countOf(served.slice(from, from + 4), "one")).toBe(3);
    }
  });

  test("is smooth: weights 3:2 are mixed, not served in runs", async () => {
    const targets = [targetOf(one, { weight: 3 }), targetOf(two, { weight: 2 })];
    const route = await seedUpstream(gatehouse, targets, { algorithm });
    const served = await servedInTurn(route, 20);
    expect(countOf(served, "one")).toBe(12);
    expect(served.join(" ")).not.toContain("two two");
    expect(served.join(" ")).not.toContain("one one one");
  });
});

describe("the split over many requests (GATEHOUSE_BALANCE_REQUESTS)", () => {
  const requests = Number(process.env["GATEHOUSE_BALANCE_REQUESTS"] ?? 400);
  const AT_ONCE = 16;

  test.each([
    ["equal weights: half and half", 1, 1],
    ["weights 3:1: three quarters and one", 3, 1],
  ])(
    "%s, within one",
    async (_, firstWeight, secondWeight) => {
      const counted = await Promise.all([
        startFakeProvider({ name: "first", record: false }),
        startFakeProvider({ name: "second", record: false }),
      ]);
      const [first, second] = counted;
      const targets = [targetOf(first, { weight: firstWeight }), targetOf(second, { weight: secondWeight })];
      const route = await seedUpstream(gatehouse, targets);
      let remaining = requests;
      const worker = async () => {
        while (remaining-- > 0)
          expect((await sendChat(route).then((response) => response.text())).length).toBeGreaterThan(0);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      expect(first.requestCount + second.requestCount).toBe(requests);
      const share = (requests * firstWeight) / (firstWeight + secondWeight);
      expect(Math.abs(first.requestCount - share)).toBeLessThanOrEqual(1);
      if (requests > 10_000) {
        process.stdout.write(`${requests} requests: ${first.requestCount} to ${second.requestCount}\n`);
      }
      await Promise.all(counted.map((provider) => provider.stop()));
    },
    Math.max(60_000, requests * 3),
  );
});

test("random follows the weights, and is random", async () => {
  const targets = [targetOf(one, { weight: 3 }), targetOf(two, { weight: 1 })];
  const route = await seedUpstream(gatehouse, targets, { algorithm: "random" });
  const served = await servedInTurn(route, 400);
  // Seven standard deviations to either side.
  expect(countOf(served, "one")).toBeGreaterThan(240);
  expect(countOf(served, "one")).toBeLessThan(360);
  const fours = Array.from({ length: 100 }, (_, at) => countOf(served.slice(at * 4, at * 4 + 4), "one"));
  expect(new Set(fours).size).toBeGreaterThan(1);
});

describe("least-connections", () => {
  test("picks the target with fewer open requests", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], {
      algorithm: "least-connections",
    });
    const held = holdOpen(route, 1);
    await one.until(() => one.requestCount + two.requestCount === 1);
    const idle = one.requestCount === 0 ? "one" : "two";
    expect(await servedInTurn(route, 8)).toEqual(Array.from({ length: 8 }, () => idle));
    await held.release();
  });

  test("spreads open requests by weight", async () => {
    const targets = [targetOf(one, { weight: 2 }), targetOf(two, { weight: 1 })];
    const route = await seedUpstream(gatehouse, targets, { algorithm: "least-connections" });
    const held = holdOpen(route, 9);
    await one.until(() => one.requestCount + two.requestCount === 9);
    expect([one.requestCount, two.requestCount]).toEqual([6, 3]);
    await held.release();
  });

  test("does not count requests whose client disconnected, and streams that have ended", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], {
      algorithm: "least-connections",
    });
    const abandoned = holdOpen(route, 4);
    await one.until(() => one.requestCount + two.requestCount === 4);
    await abandoned.release();
    await one.until(() => [...one.requests, ...two.requests].every((request) => request.aborted));
    for (let streams = 0; streams < 3; streams++) await servedBy(route, { stream: true });
    one.reset();
    two.reset();
    const held = holdOpen(route, 6);
    await one.until(() => one.requestCount + two.requestCount === 6);
    expect([one.requestCount, two.requestCount]).toEqual([3, 3]);
    await held.release();
  });
});

describe("lowest-latency", () => {
  test("picks the target with the lower time to first byte", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], {
      algorithm: "lowest-latency",
    });
    one.behave({ delayMs: 150 });
    const served = await passTimeUntil(clock, servedInTurn(route, 22));
    // Each is measured once before they can be compared.
    expect(countOf(served.slice(0, 2), "one")).toBe(1);
    expect(countOf(served.slice(2), "two")).toBe(20);
  });

  test("compares the time to the first byte, not of the whole response", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], {
      algorithm: "lowest-latency",
    });
    one.behave({ delayMs: 150 });
    two.behave({ chunks: 4, chunkDelayMs: 60 });
    const served = await passTimeUntil(clock, servedInTurn(route, 5, { stream: true }));
    expect(countOf(served.slice(2), "two")).toBe(3);
  });

  test("follows changes: a target that becomes slow loses its traffic", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], {
      algorithm: "lowest-latency",
    });
    one.behave({ delayMs: 40 });
    await passTimeUntil(clock, servedInTurn(route, 3));
    two.behave({ delayMs: 400 });
    const served = await passTimeUntil(clock, servedInTurn(route, 9));
    expect(served[0]).toBe("two");
    expect(served.at(-1)).toBe("one");
  });
});

test("lowest-latency of a virtual model: the target with the shortest time to the first token serves", async () => {
  const route = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(one)] },
    rule: { path: `/${crypto.randomUUID()}` },
  });
  const at = `/gateways/${route.gateway}`;
  const second = await create(gatehouse, `${at}/upstreams`, { name: "two", targets: [targetAt(two)] });
  await gatehouse.api("PATCH", `${at}/services/${route.service}`, { virtual_models: "any" });
  await create(gatehouse, `${at}/models`, {
    name: "swift",
    strategy: "lowest-latency",
    targets: [
      { upstream: route.upstream, model: "slow" },
      { upstream: second.id, model: "swift" },
    ],
  });
  // Headers arrive at once in both cases; only the first token is late.
  one.behave({ chunkDelayMs: 1000 });
  two.behave({ chunkDelayMs: 1 });
  const chosen = async () => {
    const response = postChat(gatehouse, route, { body: { ...CHAT, model: "swift", stream: true } });
    const { headers } = await response;
    await passTimeUntil(
      clock,
      response.then((each) => each.text()),
    );
    return headers.get("x-gw-model");
  };
  expect(new Set([await chosen(), await chosen()])).toEqual(new Set(["slow", "swift"]));
  for (let count = 0; count < 5; count++) expect(await chosen()).toBe("swift");
});

describe("ip-hash", () => {
  const from = (address: string) => ({ headers: { "X-Forwarded-For": address } });

  test("always picks the same target for a client address", async () => {
    const route = await seedUpstream(
      gatehouse,
      [one, two, three].map((each) => targetOf(each)),
      {
        algorithm: "ip-hash",
      },
    );
    for (const address of ["203.0.113.7", "198.51.100.20", "2001:db8::5"]) {
      expect(new Set(await servedInTurn(route, 6, from(address))).size).toBe(1);
    }
    expect(new Set(await servedInTurn(route, 6)).size).toBe(1);
  });

  test("spreads different addresses over all targets, by weight", async () => {
    const targets = [targetOf(one, { weight: 3 }), targetOf(two, { weight: 1 })];
    const route = await seedUpstream(gatehouse, targets, { algorithm: "ip-hash" });
    const served: string[] = [];
    for (let host = 1; host <= 200; host++) served.push(await servedBy(route, from(`203.0.113.${host}`)));
    expect(countOf(served, "one")).toBeGreaterThan(110);
    expect(countOf(served, "two")).toBeGreaterThan(20);
  });

  test("uses the rightmost untrusted address of a forwarded chain", async () => {
    const route = await seedUpstream(
      gatehouse,
      [one, two, three].map((each) => targetOf(each)),
      {
        algorithm: "ip-hash",
      },
    );
    for (let host = 1; host <= 20; host++) {
      const direct = await servedBy(route, from(`203.0.113.${host}`));
      const forged = `198.51.100.${host * 7}, 203.0.113.${host}, 10.0.0.4`;
      expect(await servedBy(route, from(forged))).toBe(direct);
    }
  });
});

describe("weight 0 drains a target", () => {
  test.each(ALGORITHMS)("%s sends it no requests", async (algorithm) => {
    const targets = [targetOf(one, { weight: 0 }), targetOf(two)];
    const route = await seedUpstream(gatehouse, targets, { algorithm });
    const addresses = Array.from({ length: 12 }, (_, at) => `203.0.113.${at}`);
    for (const address of addresses) {
      expect(await servedBy(route, { headers: { "X-Forwarded-For": address } })).toBe("two");
    }
    expect(one.requestCount).toBe(0);
  });

  test("failover sends it no requests either", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one, { weight: 0 }), targetOf(two)]);
    two.behave({ status: 503 });
    expect((await sendChat(route)).status).toBe(503);
    expect(one.requestCount).toBe(0);
  });

  test("requests that are running when it is drained run to their end", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two, { priority: 2 })]);
    const response = await sendChat(route, { stream: true, fake: { chunks: 6, chunkDelayMs: 50 } });
    await patchUpstream(gatehouse, route, {
      targets: [targetOf(one, { weight: 0 }), targetOf(two, { priority: 2 })],
    });
    expect(await passTimeUntil(clock, response.text())).toEndWith("data: [DONE]\n\n");
    expect(response.headers.get("x-gw-provider")).toBe("one");
    expect(await servedBy(route)).toBe("two");
  });

  test("503 no_healthy_target with Retry-After if all are drained", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one, { weight: 0 })]);
    const response = await sendChat(route);
    expect(response.status).toBe(503);
    expect(((await response.json()) as { code: string }).code).toBe("no_healthy_target");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("tiers", () => {
  test("targets of the lowest priority serve in turn; the others get no requests", async () => {
    const targets = [
      targetOf(three, { priority: 5 }),
      targetOf(one, { priority: 2 }),
      targetOf(two, { priority: 2 }),
    ];
    const route = await seedUpstream(gatehouse, targets);
    const served = await servedInTurn(route, 10);
    expect([countOf(served, "one"), countOf(served, "two")]).toEqual([5, 5]);
    expect(three.requestCount).toBe(0);
  });

  test("the next tier serves while the lowest has no healthy target", async () => {
    const targets = [targetOf(one), targetOf(two), targetOf(three, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {
      health_checks: { passive: true, threshold: 1, interval: 1 },
    });
    one.behave({ status: 500 });
    two.behave({ status: 500 });
    expect(await servedBy(route)).toBe("three");
    one.behave({});
    two.behave({});
    expect(await servedInTurn(route, 4)).toEqual(["three", "three", "three", "three"]);
    clock.advance(1000);
    expect(new Set(await servedInTurn(route, 4))).toEqual(new Set(["one", "two"]));
  });

  test("the only healthy target of the lowest tier serves alone", async () => {
    const targets = [targetOf(one), targetOf(two), targetOf(three, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets, {
      health_checks: { passive: true, threshold: 1, interval: 30 },
    });
    one.behave({ status: 500 });
    await servedInTurn(route, 2);
    expect(await servedInTurn(route, 6)).toEqual(Array.from({ length: 6 }, () => "two"));
    expect(three.requestCount).toBe(0);
  });

  test("a lowest tier that does not serve the model is not eligible", async () => {
    const targets = [
      targetOf(one, { models: ["another-model"] }),
      targetOf(two, { priority: 2, models: ["gpt-fake"] }),
    ];
    const route = await seedUpstream(gatehouse, targets);
    expect(await servedInTurn(route, 3)).toEqual(["two", "two", "two"]);
  });

  test("a drained lowest tier is skipped", async () => {
    const targets = [targetOf(one, { weight: 0 }), targetOf(two, { priority: 2 })];
    const route = await seedUpstream(gatehouse, targets);
    expect(await servedInTurn(route, 3)).toEqual(["two", "two", "two"]);
  });
});

describe("balancing state survives configuration changes", () => {
  test("a change of another field of the upstream does not reset the rotation", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)]);
    const served: string[] = [];
    for (let turn = 0; turn < 10; turn++) {
      served.push(await servedBy(route));
      await patchUpstream(gatehouse, route, { max_attempts: 2 + (turn % 3) });
    }
    const [first, second] = served;
    expect(first).not.toBe(second);
    expect(served).toEqual(Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? first! : second!)));
  });

  test("a change of another record does not reset the rotation", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)]);
    const served: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      served.push(await servedBy(route));
      await gatehouse.api("POST", "/gateways", { name: `bystander ${turn}` });
    }
    expect(served.filter((name, at) => name === served[at % 2])).toHaveLength(6);
    expect(served[0]).not.toBe(served[1]);
  });

  test("open requests are still counted", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], {
      algorithm: "least-connections",
    });
    const held = holdOpen(route, 1);
    await one.until(() => one.requestCount + two.requestCount === 1);
    const idle = one.requestCount === 0 ? "one" : "two";
    await patchUpstream(gatehouse, route, { name: "renamed" });
    expect(await servedInTurn(route, 4)).toEqual([idle, idle, idle, idle]);
    await held.release();
  });

  test("the algorithm itself can be changed", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one), targetOf(two)], { algorithm: "ip-hash" });
    expect(new Set(await servedInTurn(route, 4)).size).toBe(1);
    await patchUpstream(gatehouse, route, { algorithm: "round-robin" });
    expect(new Set(await servedInTurn(route, 4)).size).toBe(2);
  });
});
