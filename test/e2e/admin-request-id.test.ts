// X-Request-Id in responses and in the access log, and no secrets in the log.
import { describe, expect, test } from "bun:test";
import { create, expectError, useAdminApi, UUID_V7 } from "../support/admin-fixtures.ts";
import { untilPrinted } from "../support/gatehouse-process.ts";

const admin = useAdminApi();

describe("X-Request-Id", () => {
  test("the id of the client is returned, on success and on errors", async () => {
    const headers = { "X-Request-Id": "trace-42/a:b=c@d+e.f_g" };
    expect((await admin.api("GET", "/gateways", undefined, headers)).headers.get("x-request-id")).toBe(
      headers["X-Request-Id"],
    );
    const missing = await admin.api("GET", "/nothing", undefined, headers);
    expectError(missing, 404, "not_found");
    expect(missing.body.request_id).toBe(headers["X-Request-Id"]);
  });

  test.each(["", "has blanks in it", 'quote"d', "x".repeat(129), "<script>", "é"])(
    "an invalid id is replaced: %p",
    async (given) => {
      const response = await admin.api("GET", "/nothing", undefined, { "X-Request-Id": given });
      expect(response.body.request_id).toMatch(UUID_V7);
      expect(response.headers.get("x-request-id")).toBe(response.body.request_id);
    },
  );

  test("a request without an id gets a new one", async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () =>
        (await admin.api("GET", "/gateways")).headers.get("x-request-id"),
      ),
    );
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(UUID_V7);
  });

  test("the access log has one line per request with its id", async () => {
    await admin.api("GET", "/gateways", undefined, { "X-Request-Id": "find-me-in-the-log" });
    await untilPrinted(admin.gatehouse, "find-me-in-the-log");
    const lines = admin.gatehouse.output().split("\n");
    const mine = lines.filter((line) => line.includes("find-me-in-the-log"));
    expect(mine).toHaveLength(1);
    expect(JSON.parse(mine[0]!)).toMatchObject({ method: "GET", path: "/api/v1/gateways", status: 200 });
  });
});

test("the log contains no tokens, keys, or credentials", async () => {
  const { key } = await create(admin.gatehouse, "/iam/api-keys", {
    name: "quiet",
    subject: admin.chain.gateway,
  });
  expect(admin.gatehouse.output()).not.toContain(key);
  expect(admin.gatehouse.output()).not.toContain(admin.gatehouse.token);
  expect(admin.gatehouse.output()).not.toContain("sk-abcdefghijklmnop");
});
