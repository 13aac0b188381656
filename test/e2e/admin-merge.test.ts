// Partial changes: POST /gateways/{gateway_id}, and PATCH as JSON merge patch (RFC 7396).
import { describe, expect, test } from "bun:test";
import {
  CODE_SANITATION,
  create,
  expectProblemsAt,
  RATE_LIMITER,
  useAdminApi,
} from "../support/admin-fixtures.ts";

const admin = useAdminApi();

describe("POST /gateways/{id} merges", () => {
  test("changes the given fields only", async () => {
    const before = await create(admin.gatehouse, "/gateways", {
      name: "merge",
      subdomain: "merge-me",
      required_plugins: [RATE_LIMITER],
      require_api_key: true,
    });
    const renamed = await admin.api("POST", `/gateways/${before.id}`, { name: "merged" });
    expect(renamed.status).toBe(200);
    expect(renamed.body).toEqual({ ...before, name: "merged", updated_at: expect.any(String) });
  });

  test("required_plugins is replaced as a whole", async () => {
    const { id } = await create(admin.gatehouse, "/gateways", {
      name: "plugins",
      required_plugins: [RATE_LIMITER, CODE_SANITATION],
    });
    const replaced = await admin.api("POST", `/gateways/${id}`, { required_plugins: [CODE_SANITATION] });
    expect(replaced.status).toBe(200);
    expect(replaced.body.required_plugins).toEqual([
      { ...CODE_SANITATION, on_error: "fail", mode: "enforce", sample: 1, isolation: "inline" },
    ]);
    const emptied = await admin.api("POST", `/gateways/${id}`, { required_plugins: [] });
    expect(emptied.body.required_plugins).toEqual([]);
  });

  test("an invalid field leaves the gateway unchanged", async () => {
    const before = await create(admin.gatehouse, "/gateways", { name: "whole" });
    const broken = { name: "half", required_plugins: [{ ...RATE_LIMITER, stage: "sometime" }] };
    expectProblemsAt(await admin.api("POST", `/gateways/${before.id}`, broken), "required_plugins[0].stage");
    expect((await admin.api("GET", `/gateways/${before.id}`)).body).toEqual(before);
  });
});

describe("PATCH is JSON merge patch (RFC 7396)", () => {
  test("objects merge", async () => {
    const upstream = await create(admin.gatehouse, `/gateways/${admin.chain.gateway}/upstreams`, {
      name: "merge",
      targets: [{ provider: "openai" }],
      health_checks: { passive: true, threshold: 7, interval: 11 },
      timeouts: { connect: 10, total: 5000 },
    });
    const place = `/gateways/${admin.chain.gateway}/upstreams/${upstream.id}`;
    const response = await admin.api("PATCH", place, {
      health_checks: { threshold: 9 },
      timeouts: { idle: 77 },
    });
    expect(response.status).toBe(200);
    expect(response.body.health_checks).toEqual({ passive: true, threshold: 9, interval: 11 });
    expect(response.body.timeouts).toEqual({
      connect: 10,
      first_byte: 120_000,
      first_content: null,
      idle: 77,
      total: 5000,
    });
  });

  test("objects with arbitrary keys merge: headers of a rule", async () => {
    const rule = await create(admin.gatehouse, `/gateways/${admin.chain.gateway}/rules`, {
      ...{ service_id: admin.chain.service, path: "/merge", methods: ["POST"] },
      headers: { "X-One": "1", "X-Two": "2" },
    });
    const place = `/gateways/${admin.chain.gateway}/rules/${rule.id}`;
    const response = await admin.api("PATCH", place, { headers: { "X-Two": null, "X-Three": "3" } });
    expect(response.body.headers).toEqual({ "X-One": "1", "X-Three": "3" });
  });

  test("arrays are replaced", async () => {
    const rule = await create(admin.gatehouse, `/gateways/${admin.chain.gateway}/rules`, {
      ...{ service_id: admin.chain.service, path: "/arrays", methods: ["POST", "GET"] },
    });
    const response = await admin.api("PATCH", `/gateways/${admin.chain.gateway}/rules/${rule.id}`, {
      methods: ["PUT"],
    });
    expect(response.body.methods).toEqual(["PUT"]);
  });

  test("null resets a field to its default, at any depth", async () => {
    const upstream = await create(admin.gatehouse, `/gateways/${admin.chain.gateway}/upstreams`, {
      name: "null",
      algorithm: "random",
      targets: [{ provider: "openai" }],
      health_checks: { passive: true, threshold: 7, interval: 11 },
      max_attempts: 9,
      timeouts: { connect: 1 },
    });
    const place = `/gateways/${admin.chain.gateway}/upstreams/${upstream.id}`;
    const patch = {
      algorithm: null,
      health_checks: { threshold: null },
      max_attempts: null,
      timeouts: null,
    };
    const response = await admin.api("PATCH", place, patch);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      algorithm: "round-robin",
      health_checks: { passive: true, threshold: 3, interval: 11 },
      max_attempts: 3,
      timeouts: { connect: 5000, first_byte: 120_000, first_content: null, idle: 120_000, total: null },
    });
  });

  test("null removes the subdomain of a gateway", async () => {
    const gateway = await create(admin.gatehouse, "/gateways", { name: "sub", subdomain: "released" });
    const response = await admin.api("PATCH", `/gateways/${gateway.id}`, { subdomain: null });
    expect(response.body.subdomain).toBeNull();
    await create(admin.gatehouse, "/gateways", { name: "next", subdomain: "released" });
  });

  test("null for a required field returns 400, because it has no default", async () => {
    expectProblemsAt(await admin.api("PATCH", `/gateways/${admin.chain.gateway}`, { name: null }), "name");
    const upstream = `/gateways/${admin.chain.gateway}/upstreams/${admin.chain.upstream}`;
    expectProblemsAt(await admin.api("PATCH", upstream, { targets: null }), "targets");
  });

  test("an empty patch returns 200 and changes only updated_at", async () => {
    const place = `/gateways/${admin.chain.gateway}/services/${admin.chain.service}`;
    const before = (await admin.api("GET", place)).body;
    const response = await admin.api("PATCH", place, {});
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ ...before, updated_at: expect.any(String) });
  });
});
