// Provider credentials: masked in responses, kept when the mask is sent back, and encrypted in the database.
import { describe, expect, test } from "bun:test";
import { create, expectError, expectProblemsAt, useAdminApi, without } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";

const admin = useAdminApi();

describe("provider credentials", () => {
  const collection = () => `/gateways/${admin.chain.gateway}/upstreams`;
  const withSecrets = (...secrets: readonly string[]) =>
    create(admin.gatehouse, collection(), {
      name: "secrets",
      targets: secrets.map((header_value) => ({
        provider: "openai",
        credentials: { header_name: "Authorization", header_value },
      })),
    });
  const pathOf = (record: { id: string }) => `${collection()}/${record.id}`;
  const valuesOf = (record: ApiResponse["body"]): string[] =>
    record.targets.map((each: ApiResponse["body"]) => each.credentials?.header_value ?? null);

  test.each([
    ["Bearer sk-abcdefghijklmnop", "Bea***mnop"],
    ["twelve-chars", "twe***hars"],
    ["eleven-char", "***"],
    ["x", "***"],
  ])("%s is shown as %s in every response", async (secret, mask) => {
    const created = await withSecrets(secret);
    expect(valuesOf(created)).toEqual([mask]);
    expect(valuesOf((await admin.api("GET", pathOf(created))).body)).toEqual([mask]);
    const { upstreams } = (await admin.api("GET", `${collection()}?limit=1000`)).body;
    const listed = upstreams.find((each: { id: string }) => each.id === created.id);
    expect(valuesOf(listed)).toEqual([mask]);
    expect(valuesOf((await admin.api("PUT", pathOf(created), created)).body)).toEqual([mask]);
    expect(valuesOf((await admin.api("PATCH", pathOf(created), { name: "n" })).body)).toEqual([mask]);
  });

  // A mask that matches no stored credential is rejected, so these tests show which credential is stored.
  test("a masked value keeps the stored one: PUT and PATCH, with target ids", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa", "Bearer sk-second-bbbb");
    const [first, second] = created.targets;
    for (const method of ["PUT", "PATCH"] as const) {
      const swapped = { name: "swapped", targets: [second, first] };
      const response = await admin.api(method, pathOf(created), swapped);
      expect(response.status).toBe(200);
      expect(valuesOf(response.body)).toEqual(["Bea***bbbb", "Bea***aaaa"]);
      expect(response.body.targets.map((each: { id: string }) => each.id)).toEqual([second.id, first.id]);
    }
  });

  test("a masked value keeps the stored one: PUT and PATCH, without target ids", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa", "short");
    const anonymous = created.targets.map((each: ApiResponse["body"]) => without(each, "id"));
    for (const method of ["PUT", "PATCH"] as const) {
      const response = await admin.api(method, pathOf(created), { name: "n", targets: anonymous });
      expect(response.status).toBe(200);
      expect(valuesOf(response.body)).toEqual(["Bea***aaaa", "***"]);
    }
  });

  test("a masked value without a stored credential is rejected, on create and on change", async () => {
    const masked = (header_value: string) => ({
      provider: "openai",
      credentials: { header_name: "Authorization", header_value },
    });
    for (const mask of ["***", "Bea***zzzz"]) {
      const body = { name: "n", targets: [masked(mask)] };
      const path = "targets[0].credentials.header_value";
      expectProblemsAt(await admin.api("POST", collection(), body), path);
      const created = await withSecrets("Bearer sk-first-aaaa");
      expectProblemsAt(await admin.api("PUT", pathOf(created), body), path);
      expectProblemsAt(await admin.api("PATCH", pathOf(created), { targets: body.targets }), path);
      expect(valuesOf((await admin.api("GET", pathOf(created))).body)).toEqual(["Bea***aaaa"]);
    }
  });

  test("a new value replaces the stored one, and the target keeps its id", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa");
    const [before] = created.targets;
    const fresh = { ...before, credentials: { ...before.credentials, header_value: "Bearer sk-fresh-cccc" } };
    const response = await admin.api("PATCH", pathOf(created), { targets: [fresh] });
    expect(valuesOf(response.body)).toEqual(["Bea***cccc"]);
    expect(response.body.targets[0].id).toBe(before.id);
  });

  test("the header name can change case while the masked value is kept; another name needs the value", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa");
    const [before] = created.targets;
    const rename = (header_name: string, header_value = "Bea***aaaa") => {
      const targets = [{ ...before, credentials: { header_name, header_value } }];
      return admin.api("PUT", pathOf(created), { name: "n", targets });
    };
    expect((await rename("AUTHORIZATION")).body.targets[0].credentials).toEqual({
      header_name: "AUTHORIZATION",
      header_value: "Bea***aaaa",
    });
    expectError(await rename("api-key"), 400, "credential_required");
    expect((await rename("api-key", "sk-first-aaaa")).status).toBe(200);
  });

  test("a target that is sent without credentials loses its stored ones", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa");
    const { id, provider } = created.targets[0];
    const response = await admin.api("PUT", pathOf(created), { name: "n", targets: [{ id, provider }] });
    expect(response.body.targets[0].credentials).toBeNull();
    const mask = [{ ...created.targets[0], id }];
    expectProblemsAt(
      await admin.api("PATCH", pathOf(created), { targets: mask }),
      "targets[0].credentials.header_value",
    );
  });

  test("every target has an id, and a duplicate id is rejected", async () => {
    const created = await withSecrets("Bearer sk-first-aaaa", "Bearer sk-second-bbbb");
    const [first, second] = created.targets;
    expect(first.id).not.toBe(second.id);
    const twice = { targets: [first, { ...second, id: first.id }] };
    const response = await admin.api("PATCH", pathOf(created), twice);
    expectError(response, 400, "validation_failed");
    expect(response.body.details).toContainEqual({ path: "targets[1].id", message: "is given twice" });
  });

  test("the database contains no credential in plain text", async () => {
    await withSecrets("Bearer sk-find-me-in-the-file");
    for (const name of ["gatehouse.db", "gatehouse.db-wal"]) {
      const file = Bun.file(`${admin.gatehouse.dataDir}/${name}`);
      if (!(await file.exists())) continue;
      expect(Buffer.from(await file.arrayBuffer()).includes("sk-find-me-in-the-file")).toBe(false);
    }
  });
});
