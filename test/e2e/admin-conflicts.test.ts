// 409: duplicate subdomains, and deletion of records that are in use or have child records.
import { describe, expect, test } from "bun:test";
import {
  create,
  createChain,
  expectError,
  expectProblemsAt,
  useAdminApi,
} from "../support/admin-fixtures.ts";

const admin = useAdminApi();

describe("a duplicate subdomain returns 409", () => {
  test("on create, PUT, PATCH, and POST, with the name of the other gateway", async () => {
    const owner = await create(admin.gatehouse, "/gateways", { name: "owner", subdomain: "taken" });
    const { id } = await create(admin.gatehouse, "/gateways", { name: "late" });
    for (const [method, path] of [
      ["POST", "/gateways"],
      ["PUT", `/gateways/${id}`],
      ["PATCH", `/gateways/${id}`],
      ["POST", `/gateways/${id}`],
    ] as const) {
      const response = await admin.api(method, path, { name: "late", subdomain: "TAKEN" });
      expectError(response, 409, "duplicate");
      expect(response.body.error).toContain(owner.id);
      expect(response.body.details).toEqual([
        { path: "subdomain", message: expect.stringContaining("owner") },
      ]);
    }
    expect((await admin.api("GET", `/gateways/${id}`)).body.subdomain).toBeNull();
  });

  test("a gateway can keep its own subdomain", async () => {
    const { id } = await create(admin.gatehouse, "/gateways", { name: "keeper", subdomain: "kept" });
    expect((await admin.api("PUT", `/gateways/${id}`, { name: "keeper", subdomain: "kept" })).status).toBe(
      200,
    );
  });

  test("of two concurrent requests, one succeeds", async () => {
    const both = await Promise.all(
      ["a", "b"].map((name) => admin.api("POST", "/gateways", { name, subdomain: "race" })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  });
});

describe("deleting a record in use returns 409 with the records that use it", () => {
  test("an upstream that a service uses", async () => {
    const mine = await createChain(admin.gatehouse, "used upstream");
    const response = await admin.api("DELETE", `/gateways/${mine.gateway}/upstreams/${mine.upstream}`);
    expectError(response, 409, "in_use");
    expect(response.body.error).toContain(mine.service);
    expect(response.body.error).toContain('"chat"');
  });

  test("a service that a rule uses", async () => {
    const mine = await createChain(admin.gatehouse, "used service");
    const response = await admin.api("DELETE", `/gateways/${mine.gateway}/services/${mine.service}`);
    expectError(response, 409, "in_use");
    expect(response.body.error).toContain(mine.rule);
  });

  test("a rule in the policies of a key, until it is removed from them", async () => {
    const mine = await createChain(admin.gatehouse, "used rule");
    const key = await create(admin.gatehouse, "/iam/api-keys", {
      name: "user of the rule",
      subject: mine.gateway,
      policies: [mine.rule],
    });
    const place = `/gateways/${mine.gateway}/rules/${mine.rule}`;
    const response = await admin.api("DELETE", place);
    expectError(response, 409, "in_use");
    expect(response.body.error).toContain(key.id);
    expect(response.body.error).toContain("user of the rule");
    expect((await admin.api("PATCH", `/iam/api-keys/${key.id}`, { policies: [] })).status).toBe(200);
    expect((await admin.api("DELETE", place)).status).toBe(204);
  });

  test("records can be deleted in the order rule, service, upstream, gateway", async () => {
    const mine = await createChain(admin.gatehouse, "in order");
    for (const place of [
      `/gateways/${mine.gateway}/rules/${mine.rule}`,
      `/gateways/${mine.gateway}/services/${mine.service}`,
      `/gateways/${mine.gateway}/upstreams/${mine.upstream}`,
      `/gateways/${mine.gateway}`,
    ]) {
      expect((await admin.api("DELETE", place)).status).toBe(204);
    }
  });
});

describe("a gateway with child records is deleted only with ?cascade=true", () => {
  test("without it the 409 lists the child records", async () => {
    const mine = await createChain(admin.gatehouse, "parts");
    for (const query of ["", "?cascade=false"]) {
      const response = await admin.api("DELETE", `/gateways/${mine.gateway}${query}`);
      expectError(response, 409, "in_use");
      for (const part of [mine.upstream, mine.service, mine.rule]) {
        expect(response.body.error).toContain(part);
      }
      expect(response.body.error).toContain("cascade=true");
    }
    expect((await admin.api("GET", `/gateways/${mine.gateway}/rules/${mine.rule}`)).status).toBe(200);
  });

  test("an API key counts as a child record", async () => {
    const gateway = await create(admin.gatehouse, "/gateways", { name: "with a key" });
    const key = await create(admin.gatehouse, "/iam/api-keys", { name: "k", subject: gateway.id });
    const response = await admin.api("DELETE", `/gateways/${gateway.id}`);
    expectError(response, 409, "in_use");
    expect(response.body.error).toContain(key.id);
  });

  test("with it all records of the gateway are deleted, including its keys, and no others", async () => {
    const mine = await createChain(admin.gatehouse, "cascade");
    const key = await create(admin.gatehouse, "/iam/api-keys", {
      name: "k",
      subject: mine.gateway,
      policies: [mine.rule],
    });
    expect((await admin.api("DELETE", `/gateways/${mine.gateway}?cascade=true`)).status).toBe(204);
    expectError(await admin.api("GET", `/gateways/${mine.gateway}`), 404, "not_found");
    expectError(await admin.api("GET", `/gateways/${mine.gateway}/rules/${mine.rule}`), 404, "not_found");
    expectError(await admin.api("GET", `/iam/api-keys/${key.id}`), 404, "not_found");
    expect(
      (await admin.api("GET", `/gateways/${admin.chain.gateway}/rules/${admin.chain.rule}`)).status,
    ).toBe(200);
  });

  test("any other value of cascade returns 400", async () => {
    expectProblemsAt(await admin.api("DELETE", `/gateways/${admin.chain.gateway}?cascade=yes`), "?cascade");
  });
});
