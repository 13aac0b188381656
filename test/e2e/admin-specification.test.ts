// The endpoints of the specification's section 4, in its order, over both stores.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  API_KEY,
  CODE_SANITATION,
  create,
  expectError,
  RATE_LIMITER,
  RESOURCES,
  STORES,
} from "../support/admin-fixtures.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";

/** Creates a gateway, its records, and an API key with the payloads of the specification. */
describe.each(STORES)("the specification's table of endpoints over %s", (_, environment) => {
  let gatehouse: RunningGatehouse;
  const ids = { gateway: "", upstream: "", service: "", rule: "" };

  beforeAll(async () => {
    gatehouse = await startGatehouseOnSystemClock({ env: await environment() });
  }, 60_000);
  afterAll(() => gatehouse.stop());

  test("POST /api/v1/gateways creates a gateway", async () => {
    const payload = { name: "acme", subdomain: "acme", required_plugins: [RATE_LIMITER] };
    const response = await gatehouse.api("POST", "/gateways", payload);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject(payload);
    ids.gateway = response.body.id;
  });

  test("GET /api/v1/gateways lists gateways", async () => {
    const response = await gatehouse.api("GET", "/gateways");
    expect(response.status).toBe(200);
    expect(response.body.gateways.map((each: { id: string }) => each.id)).toEqual([ids.gateway]);
  });

  test("GET /api/v1/gateways/{gateway_id} gets one gateway", async () => {
    const response = await gatehouse.api("GET", `/gateways/${ids.gateway}`);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: ids.gateway, name: "acme", subdomain: "acme" });
  });

  test("POST /api/v1/gateways/{gateway_id} changes the plugins of a gateway", async () => {
    const payload = { name: "acme two", required_plugins: [RATE_LIMITER, CODE_SANITATION] };
    const response = await gatehouse.api("POST", `/gateways/${ids.gateway}`, payload);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ ...payload, id: ids.gateway, subdomain: "acme" });
    expect((await gatehouse.api("GET", `/gateways/${ids.gateway}`)).body).toEqual(response.body);
  });

  test("POST /api/v1/gateways/{gateway_id}/upstreams creates an upstream", async () => {
    const payload = {
      name: "models",
      algorithm: "round-robin",
      targets: [
        {
          path: "/v1/chat/completions",
          provider: "openai",
          weight: 50,
          priority: 1,
          default_model: "gpt-4o-mini",
          models: ["gpt-4o", "gpt-4o-mini"],
          credentials: { header_name: "Authorization", header_value: "Bearer <PROVIDER_API_KEY>" },
        },
        {
          path: "/v1/messages",
          provider: "anthropic",
          weight: 50,
          priority: 1,
          default_model: "claude-sonnet-5",
          models: ["claude-sonnet-5"],
          headers: { "anthropic-version": "2023-06-01" },
          credentials: { header_name: "x-api-key", header_value: "<PROVIDER_API_KEY>" },
        },
      ],
      health_checks: { passive: true, threshold: 3, interval: 60 },
    };
    const response = await gatehouse.api("POST", `/gateways/${ids.gateway}/upstreams`, payload);
    expect(response.status).toBe(201);
    const shownTargets = payload.targets.map(({ credentials, ...target }) => ({
      ...target,
      credentials: { header_name: credentials.header_name, header_value: expect.stringContaining("***") },
    }));
    expect(response.body).toMatchObject({ ...payload, targets: shownTargets, gateway_id: ids.gateway });
    ids.upstream = response.body.id;
  });

  test("GET /api/v1/gateways/{gateway_id}/upstreams/{upstream_id} gets one upstream", async () => {
    const response = await gatehouse.api("GET", `/gateways/${ids.gateway}/upstreams/${ids.upstream}`);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: ids.upstream, name: "models", gateway_id: ids.gateway });
  });

  test("POST /api/v1/gateways/{gateway_id}/services creates a service", async () => {
    const payload = {
      name: "chat",
      upstream_id: ids.upstream,
      type: "upstream",
      description: "Chat completions",
    };
    const response = await gatehouse.api("POST", `/gateways/${ids.gateway}/services`, payload);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({ ...payload, gateway_id: ids.gateway });
    ids.service = response.body.id;
  });

  test("GET /api/v1/gateways/{gateway_id}/services/{service_id} gets one service", async () => {
    const response = await gatehouse.api("GET", `/gateways/${ids.gateway}/services/${ids.service}`);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: ids.service, name: "chat", upstream_id: ids.upstream });
  });

  test("POST /api/v1/gateways/{gateway_id}/rules creates a rule", async () => {
    const payload = {
      service_id: ids.service,
      path: "/v1/chat/completions",
      methods: ["POST"],
      strip_path: true,
      preserve_host: true,
    };
    const response = await gatehouse.api("POST", `/gateways/${ids.gateway}/rules`, payload);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({ ...payload, gateway_id: ids.gateway });
    ids.rule = response.body.id;
  });

  test("GET /api/v1/gateways/{gateway_id}/rules lists rules of a gateway", async () => {
    const response = await gatehouse.api("GET", `/gateways/${ids.gateway}/rules`);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ rules: [{ id: ids.rule }], count: 1 });
  });

  test("POST /api/v1/iam/api-keys creates an API key", async () => {
    const payload = {
      name: "mobile app",
      expires_at: "2099-12-31T23:59:59Z",
      subject_type: "gateway",
      subject: ids.gateway,
      policies: [ids.rule],
    };
    const response = await gatehouse.api("POST", "/iam/api-keys", payload);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({ ...payload, expires_at: "2099-12-31T23:59:59.000Z" });
    expect(response.body.key).toMatch(API_KEY);
  });

  test("lists of every resource have pages, a name filter, and a count", async () => {
    for (const resource of RESOURCES) {
      const collection = resource.collection(ids);
      // Of all resources, only budgets have unique names.
      const count = resource.plural === "budgets" ? 1 : 2;
      for (const name of ["one", ...Array<string>(count).fill("two")])
        await create(gatehouse, collection, { ...resource.minimal(ids), name });
      const offset = count - 1;
      const named = await gatehouse.api("GET", `${collection}?name=two&limit=1&offset=${offset}`);
      expect(named.status).toBe(200);
      expect(named.body).toEqual({
        [resource.plural]: [expect.objectContaining({ name: "two" })],
        count,
        limit: 1,
        offset,
      });
    }
  });

  test("deleting a record in use is 409, and a gateway with child records requires ?cascade=true", async () => {
    expectError(
      await gatehouse.api("DELETE", `/gateways/${ids.gateway}/upstreams/${ids.upstream}`),
      409,
      "in_use",
    );
    expectError(await gatehouse.api("DELETE", `/gateways/${ids.gateway}/rules/${ids.rule}`), 409, "in_use");
    expectError(await gatehouse.api("DELETE", `/gateways/${ids.gateway}`), 409, "in_use");
    expect((await gatehouse.api("DELETE", `/gateways/${ids.gateway}?cascade=true`)).status).toBe(204);
    expectError(await gatehouse.api("GET", `/gateways/${ids.gateway}`), 404, "not_found");
  });
});
