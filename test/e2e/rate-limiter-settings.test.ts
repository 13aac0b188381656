// The settings of rate_limiter, and counts that outlive changes of the plugin list.
import { describe, expect, test } from "bun:test";
import { expectProblemsAt } from "../support/admin-fixtures.ts";
import { limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { startRateLimiterHarness } from "../support/rate-limiter-fixtures.ts";

const { gatehouse, provider, statusOf } = await startRateLimiterHarness();

describe("settings", () => {
  const createWith = (settings: unknown) =>
    gatehouse.api("POST", "/gateways", {
      name: "rejected",
      required_plugins: [{ name: "rate_limiter", stage: "pre_request", settings }],
    });
  const at = (field: string) => `required_plugins[0].settings.${field}`;
  const global = { limit: 1, window: "1s" };

  test.each(["30", "s", "5 m", "-1s", "0s", "1.5h", "1w", "1S", "367d", ""])(
    "rejects a window of %p",
    async (window) => {
      expectProblemsAt(
        await createWith({ limits: { global: { limit: 1, window } } }),
        at("limits.global.window"),
      );
    },
  );

  test("accepts a limit of 1,000,000,000, and limits by it", async () => {
    const route = await seedPlugins(gatehouse, provider, [limiter({ global: [1_000_000_000, "1d"] })]);
    const response = await postChat(gatehouse, route);
    expect(response.headers.get("X-RateLimit-global-Limit")).toBe("1000000000");
    expect(response.headers.get("X-RateLimit-global-Remaining")).toBe("999999999");
  });

  test.each([0, -1, 1.5, 1_000_000_001, "5", null])("rejects a limit of %p", async (limit) => {
    expectProblemsAt(
      await createWith({ limits: { per_ip: { limit, window: "1s" } } }),
      at("limits.per_ip.limit"),
    );
  });

  test.each(["per_label:", "per_label:Team", "per_label:a b", `per_label:${"x".repeat(33)}`, "per_label"])(
    "rejects the type %p",
    async (type) => {
      expectProblemsAt(await createWith({ limits: { global, [type]: global } }), at(`limits.${type}`));
    },
  );

  test("rejects more than eight labels", async () => {
    const labels = Array.from({ length: 9 }, (_, index) => [`per_label:l${index}`, global]);
    expectProblemsAt(await createWith({ limits: Object.fromEntries(labels) }), at("limits"));
  });

  test("rejects unknown fields, missing limits and unknown values by field name", async () => {
    expectProblemsAt(await createWith({ limits: {} }), at("limits"));
    expectProblemsAt(await createWith({}), at("limits"));
    expectProblemsAt(await createWith({ limits: { global, per_country: global } }), at("limits.per_country"));
    expectProblemsAt(
      await createWith({ limits: { global: { ...global, burst: 2 } } }),
      at("limits.global.burst"),
    );
    expectProblemsAt(await createWith({ limits: { global }, actions: { type: "ban" } }), at("actions.type"));
    expectProblemsAt(
      await createWith({ limits: { global }, actions: { retry_after: "soon" } }),
      at("actions.retry_after"),
    );
    expectProblemsAt(
      await createWith({ limits: { global }, on_store_failure: "panic" }),
      at("on_store_failure"),
    );
  });
});

describe("a change of the plugin list", () => {
  const perUser = limiter({ per_user: [50, "1h"] });
  const perIp = limiter({ per_ip: [1, "1h"] });

  test("keeps the counts of every entry, whatever its position", async () => {
    const route = await seedPlugins(gatehouse, provider, [perUser, perIp]);
    expect([await statusOf(route), await statusOf(route)]).toEqual([200, 429]);
    for (const required_plugins of [[perIp, perUser], [perIp], [limiter({ global: [9, "1m"] }), perIp]]) {
      expect((await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { required_plugins })).status).toBe(
        200,
      );
      expect(await statusOf(route)).toBe(429);
    }
  });

  test("keeps internal ids that the API does not show", async () => {
    const { gateway } = await seedPlugins(gatehouse, provider, [perIp]);
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}`);
    expect(Object.keys(body.required_plugins[0]).sort()).toEqual([
      "enabled",
      "isolation",
      "mode",
      "name",
      "on_error",
      "priority",
      "sample",
      "settings",
      "stage",
    ]);
  });
});
