// List, get, create, PUT, PATCH, and DELETE behave the same for every resource (contract, section 3).
import { describe, expect, test } from "bun:test";
import {
  allowedMethods,
  callRaw,
  chunked,
  create,
  expectError,
  expectProblemsAt,
  MISSING_ID,
  onlyMessage,
  RESOURCES,
  useAdminApi,
  UUID_V7,
  without,
  type Chain,
} from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";

const admin = useAdminApi({ MAX_BODY_BYTES: "4000" });

const RFC_3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

describe.each(RESOURCES)("operations on $plural", (resource) => {
  const isKey = resource.plural === "api_keys";
  const isGateway = resource.plural === "gateways";
  const one = (id: string) => `${resource.collection(admin.chain)}/${id}`;
  let created = 0;
  const createOne = async (fields: Record<string, unknown> = {}): Promise<ApiResponse["body"]> =>
    create(admin.gatehouse, resource.collection(admin.chain), {
      ...resource.minimal(admin.chain),
      // Rules with the same path would have warnings in their responses.
      ...(resource.plural === "rules" && { path: `/minimal/${++created}` }),
      ...fields,
    });

  // Names of budgets are unique in their gateway, so those of a list only begin alike.
  const createAlike = async (name: string) =>
    createOne({ name: resource.plural === "budgets" ? `${name} ${++created}` : name });
  const alike = (name: string) =>
    `${resource.plural === "budgets" ? "search" : "name"}=${encodeURIComponent(name)}`;

  test("create returns 201 with the record and Location", async () => {
    const sent = resource.minimal(admin.chain);
    const response = await admin.api("POST", resource.collection(admin.chain), sent);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject(sent);
    expect(response.headers.get("location")).toBe(`/api/v1${one(response.body.id)}`);
    const located = await callRaw(admin.gatehouse, "GET", response.headers.get("location") ?? "");
    expect(located.status).toBe(200);
    expect(located.body.id).toBe(response.body.id);
  });

  test("id is a UUIDv7, times are RFC 3339 UTC, and child records have gateway_id", async () => {
    const record = await createOne();
    expect(record.id).toMatch(UUID_V7);
    expect(record.created_at).toMatch(RFC_3339_UTC);
    expect(record.updated_at).toBe(record.created_at);
    expect(record.gateway_id).toBe(isGateway ? undefined : admin.chain.gateway);
  });

  test("field names are snake_case", async () => {
    for (const name of Object.keys(await createOne())) expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  test("get returns 200 with the record that create returned", async () => {
    const record = without(await createOne(), "key");
    const response = await admin.api("GET", one(record.id));
    expect(response.status).toBe(200);
    expect(response.body).toEqual(record);
  });

  test("get of an unknown id returns 404", async () => {
    expectError(await admin.api("GET", one(MISSING_ID)), 404, "not_found");
    expectError(await admin.api("GET", one("not-an-id")), 404, "not_found");
  });

  test("a change of an unknown id returns 404", async () => {
    const body = resource.minimal(admin.chain);
    if (!isKey) expectError(await admin.api("PUT", one(MISSING_ID), body), 404, "not_found");
    expectError(await admin.api("PATCH", one(MISSING_ID), { name: "x" }), 404, "not_found");
    expectError(await admin.api("DELETE", one(MISSING_ID)), 404, "not_found");
  });

  test("PATCH changes the given fields and updated_at, and nothing else", async () => {
    const before = without(await createOne({ name: "before" }), "key");
    const response = await admin.api("PATCH", one(before.id), { name: "after" });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ ...before, name: "after", updated_at: expect.any(String) });
    expect(Date.parse(response.body.updated_at)).toBeGreaterThan(Date.parse(before.created_at));
    expect((await admin.api("GET", one(before.id))).body).toEqual(response.body);
  });

  test("PATCH accepts application/merge-patch+json", async () => {
    const { id } = await createOne();
    const headers = { "Content-Type": "application/merge-patch+json" };
    const response = await admin.api("PATCH", one(id), { name: "merge patch" }, headers);
    expect(response.status).toBe(200);
    expect(response.body.name).toBe("merge patch");
  });

  test("PATCH ignores read-only fields", async () => {
    const record = without(await createOne(), "key");
    const sent = {
      ...record,
      id: MISSING_ID,
      created_at: "1999-01-01T00:00:00Z",
      updated_at: "x",
      name: "n",
    };
    const response = await admin.api("PATCH", one(record.id), sent);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: record.id, created_at: record.created_at, name: "n" });
  });

  test("create rejects fields that the server sets", async () => {
    const sent = { ...resource.minimal(admin.chain), id: MISSING_ID, created_at: "2020-01-01T00:00:00Z" };
    expectProblemsAt(await admin.api("POST", resource.collection(admin.chain), sent), "id", "created_at");
  });

  test("unknown fields are rejected with the nearest known name", async () => {
    const { id } = await createOne();
    const misspelled = { ...resource.minimal(admin.chain), nmae: "x" };
    const created = await admin.api("POST", resource.collection(admin.chain), misspelled);
    expectProblemsAt(created, "nmae");
    expect(onlyMessage(created)).toContain('"name"');
    const patched = await admin.api("PATCH", one(id), { nmae: "x" });
    expectProblemsAt(patched, "nmae");
    expect(onlyMessage(patched)).toContain('"name"');
    if (isKey) return;
    expectProblemsAt(await admin.api("PUT", one(id), misspelled), "nmae");
  });

  test("lists have the records, oldest first, and count, limit, and offset", async () => {
    const name = `list of ${resource.plural}`;
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await createAlike(name)).id);
    const all = await admin.api("GET", `${resource.collection(admin.chain)}?${alike(name)}`);
    expect(all.status).toBe(200);
    expect(Object.keys(all.body)).toEqual([resource.plural, "count", "limit", "offset"]);
    expect(all.body).toMatchObject({ count: 3, limit: 100, offset: 0 });
    expect(all.body[resource.plural].map((each: { id: string }) => each.id)).toEqual(ids);
  });

  test("limit and offset select a page, and count includes all matching records", async () => {
    const name = `pages of ${resource.plural}`;
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await createAlike(name)).id);
    const query = `${resource.collection(admin.chain)}?${alike(name)}`;
    const page = await admin.api("GET", `${query}&limit=2&offset=1`);
    expect(page.body).toMatchObject({ count: 3, limit: 2, offset: 1 });
    expect(page.body[resource.plural].map((each: { id: string }) => each.id)).toEqual(ids.slice(1));
    const beyond = await admin.api("GET", `${query}&offset=3`);
    expect(beyond.body).toEqual({ [resource.plural]: [], count: 3, limit: 100, offset: 3 });
  });

  test("the name filter matches exactly", async () => {
    await createOne({ name: "Exactly This" });
    for (const near of ["exactly this", "Exactly", "Exactly This ", "%"]) {
      const found = await admin.api(
        "GET",
        `${resource.collection(admin.chain)}?name=${encodeURIComponent(near)}`,
      );
      expect(found.body.count).toBe(0);
    }
  });

  test.each([
    ["limit=1", 200],
    ["limit=1000", 200],
    ["offset=999999999", 200],
    ["limit=0", 400],
    ["limit=1001", 400],
    ["limit=-1", 400],
    ["limit=ten", 400],
    ["limit=1.5", 400],
    ["limit=", 400],
    ["limit=1e2", 400],
    ["offset=-1", 400],
    ["offset=x", 400],
  ] as const)("list with ?%s is %d", async (query, status) => {
    const response = await admin.api("GET", `${resource.collection(admin.chain)}?${query}`);
    if (status === 200) expect(response.status).toBe(200);
    else expectProblemsAt(response, `?${query.split("=")[0] ?? ""}`);
  });

  test("unknown query parameters are rejected with the nearest known name", async () => {
    const list = await admin.api("GET", `${resource.collection(admin.chain)}?limt=5`);
    expectProblemsAt(list, "?limt");
    expect(onlyMessage(list)).toContain('"limit"');
    const { id } = await createOne();
    expectProblemsAt(await admin.api("GET", `${one(id)}?verbose=1`), "?verbose");
    expectProblemsAt(await admin.api("PATCH", `${one(id)}?force=1`, { name: "x" }), "?force");
  });

  test("an unsupported method returns 405 with Allow", async () => {
    const collection = await admin.api("DELETE", resource.collection(admin.chain));
    expectError(collection, 405, "method_not_allowed");
    expect(allowedMethods(collection)).toEqual(["GET", "HEAD", "POST"]);
    const { id } = await createOne();
    const single = await admin.api(isGateway ? "OPTIONS" : "POST", one(id), isGateway ? undefined : {});
    expectError(single, 405, "method_not_allowed");
    const writes = isKey ? ["PATCH"] : isGateway ? ["PATCH", "POST", "PUT"] : ["PATCH", "PUT"];
    expect(allowedMethods(single)).toEqual(["DELETE", "GET", "HEAD", ...writes]);
  });

  test("an unsupported content type returns 415", async () => {
    const { id } = await createOne();
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/jsonp",
      "text/json",
    ]) {
      const headers = { "Content-Type": type };
      const body = resource.minimal(admin.chain);
      expectError(
        await admin.api("POST", resource.collection(admin.chain), body, headers),
        415,
        "unsupported_media_type",
      );
      expectError(await admin.api("PATCH", one(id), { name: "x" }, headers), 415, "unsupported_media_type");
    }
    const untyped = await callRaw(admin.gatehouse, "POST", `/api/v1${resource.collection(admin.chain)}`, {
      body: new TextEncoder().encode("{}"),
    });
    expectError(untyped, 415, "unsupported_media_type");
  });

  test("a content type with a charset is accepted", async () => {
    const headers = { "Content-Type": "Application/JSON; charset=utf-8" };
    const response = await admin.api(
      "POST",
      resource.collection(admin.chain),
      resource.minimal(admin.chain),
      headers,
    );
    expect(response.status).toBe(201);
  });

  test("invalid JSON returns 400", async () => {
    const { id } = await createOne();
    for (const body of [
      "",
      "{",
      '{"name":}',
      "{'name':1}",
      "nul",
      '{"name":"x"} trailing',
      "[]",
      '"x"',
      "3",
    ]) {
      expectError(await admin.api("POST", resource.collection(admin.chain), body), 400, "invalid_json");
      expectError(await admin.api("PATCH", one(id), body), 400, "invalid_json");
      if (!isKey) expectError(await admin.api("PUT", one(id), body), 400, "invalid_json");
    }
  });

  test("a body that is too large returns 413, with Content-Length and chunked", async () => {
    const tooLong = JSON.stringify({ ...resource.minimal(admin.chain), name: "x".repeat(4000) });
    expectError(await admin.api("POST", resource.collection(admin.chain), tooLong), 413, "body_too_large");
    const undeclared = await callRaw(admin.gatehouse, "POST", `/api/v1${resource.collection(admin.chain)}`, {
      headers: { "Content-Type": "application/json" },
      body: chunked(new Uint8Array(1000).fill(32), 5),
    });
    expectError(undeclared, 413, "body_too_large");
  });

  test("a body of exactly MAX_BODY_BYTES is accepted", async () => {
    const body = JSON.stringify(resource.minimal(admin.chain)).padEnd(4000, " ");
    expect((await admin.api("POST", resource.collection(admin.chain), body)).status).toBe(201);
    expectError(await admin.api("POST", resource.collection(admin.chain), `${body} `), 413, "body_too_large");
  });

  test("HEAD responds like GET without a body", async () => {
    const { id } = await createOne();
    const response = await admin.api("HEAD", one(id));
    expect(response.status).toBe(200);
    expect(response.body).toBeNull();
    expect((await admin.api("HEAD", one(MISSING_ID))).status).toBe(404);
  });

  // API keys have no PUT, and DELETE revokes them: see admin-api-keys.test.ts.
  if (isKey) return;

  test("PUT replaces the record: fields that are not given get their default", async () => {
    const before = await createOne({ name: "before" });
    const changed = { ...resource.minimal(admin.chain), name: "after the replacement" };
    const response = await admin.api("PUT", one(before.id), changed);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ ...changed, id: before.id, created_at: before.created_at });
  });

  test("PUT of the record as it was read changes only updated_at", async () => {
    const before = await createOne();
    const response = await admin.api("PUT", one(before.id), before);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ ...before, updated_at: expect.any(String) });
  });

  test("PUT ignores read-only fields", async () => {
    const before = await createOne();
    const sent = {
      ...before,
      id: MISSING_ID,
      gateway_id: admin.other.gateway,
      created_at: "x",
      updated_at: 5,
    };
    const response = await admin.api("PUT", one(before.id), sent);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ ...before, updated_at: expect.any(String) });
  });

  test("PUT without a required field returns 400", async () => {
    const { id } = await createOne();
    expectProblemsAt(await admin.api("PUT", one(id), {}), ...requiredOf(resource.plural));
  });

  test("DELETE returns 204 without a body and removes the record", async () => {
    const { id } = await createOne();
    const response = await admin.api("DELETE", one(id));
    expect(response.status).toBe(204);
    expect(response.body).toBeNull();
    expectError(await admin.api("GET", one(id)), 404, "not_found");
    expectError(await admin.api("DELETE", one(id)), 404, "not_found");
  });
});

describe("records of an unknown or another gateway return 404", () => {
  const children = RESOURCES.filter(({ plural }) => ["upstreams", "services", "rules"].includes(plural));

  test.each(children)("$plural of another gateway", async (resource) => {
    const foreign = admin.other[resource.singular as keyof Chain];
    const path = `${resource.collection(admin.chain)}/${foreign}`;
    expectError(await admin.api("GET", path), 404, "not_found");
    expectError(await admin.api("PUT", path, resource.minimal(admin.other)), 404, "not_found");
    expectError(await admin.api("PATCH", path, { name: "x" }), 404, "not_found");
    expectError(await admin.api("DELETE", path), 404, "not_found");
    expect((await admin.api("GET", `${resource.collection(admin.other)}/${foreign}`)).status).toBe(200);
  });

  test.each(children)("$plural of an unknown gateway", async (resource) => {
    const collection = resource.collection({ ...admin.chain, gateway: MISSING_ID });
    expectError(await admin.api("GET", collection), 404, "not_found");
    expectError(await admin.api("POST", collection, resource.minimal(admin.chain)), 404, "not_found");
    expectError(await admin.api("GET", `${collection}/${MISSING_ID}`), 404, "not_found");
  });

  test.each(children)("the list of $plural contains only those of its gateway", async (resource) => {
    const ids = (await admin.api("GET", `${resource.collection(admin.other)}?limit=1000`)).body[
      resource.plural
    ].map((each: { id: string }) => each.id);
    expect(ids).toEqual([admin.other[resource.singular as keyof Chain]]);
  });

  test("an unknown path", async () => {
    for (const path of [
      "",
      "/",
      "/nothing",
      "/gateways/",
      `/gateways/${admin.chain.gateway}/nothing`,
      "/iam",
    ]) {
      expectError(await admin.api("GET", path), 404, "not_found");
    }
  });
});

function requiredOf(plural: string): string[] {
  if (plural === "gateways") return ["name"];
  if (plural === "upstreams") return ["name", "targets"];
  if (plural === "budgets") return ["name", "unit", "amount"];
  return plural === "services" ? ["name"] : ["service_id", "path", "methods"];
}
