// API keys: shown once, changed, rotated, and revoked.
import { describe, expect, test } from "bun:test";
import {
  allowedMethods,
  API_KEY,
  create,
  expectError,
  expectProblemsAt,
  MISSING_ID,
  onlyMessage,
  useAdminApi,
  without,
} from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";

const admin = useAdminApi();

describe("API keys", () => {
  const createKey = (fields: Record<string, unknown> = {}): Promise<ApiResponse["body"]> =>
    create(admin.gatehouse, "/iam/api-keys", { name: "key", subject: admin.chain.gateway, ...fields });

  test("the key is gw_ and 43 base64url characters, and shown once", async () => {
    const { key, ...record } = await createKey();
    expect(key).toMatch(API_KEY);
    expect((await admin.api("GET", `/iam/api-keys/${record.id}`)).body).toEqual(record);
    const list = await admin.api("GET", `/iam/api-keys?subject=${admin.chain.gateway}&limit=1000`);
    expect(list.body.api_keys).toContainEqual(record);
    expect(JSON.stringify(list.body)).not.toContain(key);
    expect(key).toStartWith(record.prefix);
    expect(record.prefix.length).toBeLessThan(16);
  });

  test("no response contains the hash", async () => {
    const { id, ...created } = await createKey();
    expect(created).not.toHaveProperty("hash");
    expect((await admin.api("GET", `/iam/api-keys/${id}`)).body).not.toHaveProperty("hash");
    expect((await admin.api("PATCH", `/iam/api-keys/${id}`, { name: "x" })).body).not.toHaveProperty("hash");
    expect((await admin.api("POST", `/iam/api-keys/${id}/rotate`)).body).not.toHaveProperty("hash");
  });

  test("every key is different", async () => {
    const keys = await Promise.all(Array.from({ length: 10 }, async () => (await createKey()).key));
    expect(new Set(keys).size).toBe(10);
  });

  test("the list filters by subject", async () => {
    const mine = await create(admin.gatehouse, "/gateways", { name: "subject" });
    const { id } = await createKey({ subject: mine.id });
    const list = await admin.api("GET", `/iam/api-keys?subject=${mine.id}`);
    expect(list.body).toMatchObject({ api_keys: [{ id, subject: mine.id }], count: 1 });
    expect((await admin.api("GET", `/iam/api-keys?subject=${MISSING_ID}`)).body).toMatchObject({ count: 0 });
  });

  test("PATCH changes name, policies, and expires_at", async () => {
    const { id } = await createKey({ expires_at: "2098-01-01T00:00:00Z" });
    const change = { name: "new", policies: [admin.chain.rule], expires_at: "2099-01-01T01:00:00+01:00" };
    const response = await admin.api("PATCH", `/iam/api-keys/${id}`, change);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ ...change, expires_at: "2099-01-01T00:00:00.000Z" });
    const back = await admin.api("PATCH", `/iam/api-keys/${id}`, { policies: null, expires_at: null });
    expect(back.body).toMatchObject({ name: "new", policies: [], expires_at: null });
  });

  test("PATCH merges labels by name and replaces models", async () => {
    const { id } = await createKey({ labels: { team: "search", app: "web" }, models: ["a", "b*"] });
    const patch = async (change: object) => (await admin.api("PATCH", `/iam/api-keys/${id}`, change)).body;
    expect(await patch({ labels: { team: null, env: "test" }, models: ["c"] })).toMatchObject({
      labels: { app: "web", env: "test" },
      models: ["c"],
    });
    expect(await patch({ name: "same" })).toMatchObject({
      labels: { app: "web", env: "test" },
      models: ["c"],
    });
    expect(await patch({ labels: null, models: null })).toMatchObject({ labels: {}, models: null });
    const rejected = await admin.api("PATCH", `/iam/api-keys/${id}`, '{"labels":{"__proto__":"x"}}');
    expect(rejected.status).toBe(400);
  });

  test.each([
    ["subject", (): string => admin.other.gateway],
    ["subject_type", (): string => "user"],
  ] as const)("PATCH of %s returns 400", async (field, value) => {
    const { id } = await createKey();
    expectProblemsAt(await admin.api("PATCH", `/iam/api-keys/${id}`, { [field]: value() }), field);
  });

  test("PATCH rejects a rule of another gateway", async () => {
    const { id } = await createKey();
    const response = await admin.api("PATCH", `/iam/api-keys/${id}`, {
      policies: [admin.chain.rule, admin.other.rule],
    });
    expectProblemsAt(response, "policies[1]");
    expect(onlyMessage(response)).toContain(admin.other.rule);
  });

  test("PATCH ignores active, prefix, key, and last_used_at", async () => {
    const { id, key, prefix } = await createKey();
    const response = await admin.api("PATCH", `/iam/api-keys/${id}`, {
      active: false,
      prefix: "gw_x",
      key: "gw_x",
      last_used_at: "2020-01-01T00:00:00Z",
    });
    expect(response.body).toMatchObject({ active: true, prefix, last_used_at: null });
    expect(key).toStartWith(response.body.prefix);
  });

  test("rotate returns 200 with a new key and the same record", async () => {
    const { key, ...before } = await createKey({ policies: [admin.chain.rule] });
    const response = await admin.api("POST", `/iam/api-keys/${before.id}/rotate`);
    expect(response.status).toBe(200);
    const { key: rotated, ...after } = response.body;
    expect(rotated).toMatch(API_KEY);
    expect(rotated).not.toBe(key);
    expect(after).toEqual({ ...before, prefix: rotated.slice(0, 9), updated_at: expect.any(String) });
    expect((await admin.api("GET", `/iam/api-keys/${before.id}`)).body).toEqual(after);
    expectError(await admin.api("POST", `/iam/api-keys/${MISSING_ID}/rotate`), 404, "not_found");
  });

  test("revoke returns 204, and the record remains with active false", async () => {
    const before = without(await createKey(), "key");
    expect(before.active).toBe(true);
    expect((await admin.api("DELETE", `/iam/api-keys/${before.id}`)).status).toBe(204);
    const after = { ...before, active: false, updated_at: expect.any(String) };
    expect((await admin.api("GET", `/iam/api-keys/${before.id}`)).body).toEqual(after);
    const list = await admin.api("GET", `/iam/api-keys?subject=${admin.chain.gateway}&limit=1000`);
    expect(list.body.api_keys).toContainEqual(after);
  });

  test("a revoked key cannot be changed or rotated", async () => {
    const { id } = await createKey();
    await admin.api("DELETE", `/iam/api-keys/${id}`);
    expectError(await admin.api("PATCH", `/iam/api-keys/${id}`, { name: "x" }), 409, "api_key_revoked");
    expectError(await admin.api("POST", `/iam/api-keys/${id}/rotate`), 409, "api_key_revoked");
  });

  test("expires_at in the past, or after the year 9999 in UTC, returns 400, on create and on PATCH", async () => {
    const past = { expires_at: "2020-01-01T00:00:00Z" };
    const body = { name: "late", subject: admin.chain.gateway, ...past };
    expectProblemsAt(await admin.api("POST", "/iam/api-keys", body), "expires_at");
    const { id } = await createKey();
    expectProblemsAt(await admin.api("PATCH", `/iam/api-keys/${id}`, past), "expires_at");
    const tenThousand = { expires_at: "9999-12-31T23:59:59-12:00" };
    expectProblemsAt(await admin.api("PATCH", `/iam/api-keys/${id}`, tenThousand), "expires_at");
    expect((await admin.api("GET", `/iam/api-keys/${id}`)).body.expires_at).toBeNull();
  });

  test("PUT returns 405", async () => {
    const { id } = await createKey();
    expectError(await admin.api("PUT", `/iam/api-keys/${id}`, {}), 405, "method_not_allowed");
  });

  test("rotate supports POST only", async () => {
    const { id } = await createKey();
    const response = await admin.api("GET", `/iam/api-keys/${id}/rotate`);
    expectError(response, 405, "method_not_allowed");
    expect(allowedMethods(response)).toEqual(["POST"]);
  });

  test("only the SHA-256 of an API key is stored", async () => {
    const { key } = await create(admin.gatehouse, "/iam/api-keys", {
      name: "hashed",
      subject: admin.chain.gateway,
    });
    const hash = new Bun.CryptoHasher("sha256").update(key).digest("base64url");
    let hashFound = false;
    for (const name of ["gatehouse.db", "gatehouse.db-wal"]) {
      const file = Bun.file(`${admin.gatehouse.dataDir}/${name}`);
      if (!(await file.exists())) continue;
      const bytes = Buffer.from(await file.arrayBuffer());
      expect(bytes.includes(key)).toBe(false);
      hashFound ||= bytes.includes(hash);
    }
    expect(hashFound).toBe(true);
  });
});
