// ETags and preconditions: a change is applied only to the version that the client has seen.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  create,
  createChain,
  expectError,
  RESOURCES,
  STORES,
  without,
  type Chain,
  type ResourceExample,
} from "../support/admin-fixtures.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { ApiResponse, RunningGatehouse } from "../support/gatehouse-process.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(60_000);

const etagOf = ({ headers }: ApiResponse) => headers.get("etag") ?? "";

describe.each(STORES)("ETag over %s", (_, environment) => {
  let gatehouse: RunningGatehouse;
  let chain: Chain;
  beforeAll(async () => {
    gatehouse = await startGatehouseOnSystemClock({ env: await environment() });
    chain = await createChain(gatehouse);
  });
  afterAll(() => gatehouse.stop());

  const createOne = async ({ collection, minimal }: ResourceExample) => {
    const created = await gatehouse.api("POST", collection(chain), minimal(chain));
    expect(created.status).toBe(201);
    return { created, path: `${collection(chain)}/${created.body.id as string}` };
  };

  test.each(RESOURCES)("$singular: every response with the record has the same ETag", async (resource) => {
    const { created, path } = await createOne(resource);
    const read = await gatehouse.api("GET", path);
    expect(etagOf(read)).toMatch(/^"[!#-~]+"$/);
    expect(etagOf(created)).toBe(etagOf(read));
    const changed = await gatehouse.api("PATCH", path, { name: "changed" });
    expect(etagOf(changed)).not.toBe(etagOf(read));
    expect(etagOf(await gatehouse.api("GET", path))).toBe(etagOf(changed));
    // Only the time of the change differs, which makes it another version.
    const same = await gatehouse.api("PATCH", path, { name: "changed" });
    expect(etagOf(same)).not.toBe(etagOf(changed));
    expect(same.body.updated_at > changed.body.updated_at).toBe(true);
    const head = await fetch(`${gatehouse.adminUrl}/api/v1${path}`, {
      method: "HEAD",
      headers: { Authorization: `Bearer ${gatehouse.token}` },
    });
    expect(head.headers.get("etag")).toBe(etagOf(same));
  });

  test.each(RESOURCES)(
    "$singular: If-None-Match returns 304 to a client that has this version",
    async (resource) => {
      const { created, path } = await createOne(resource);
      const tag = etagOf(created);
      const status = async (field: string) =>
        (await gatehouse.api("GET", path, undefined, { "If-None-Match": field })).status;
      for (const field of [tag, "*", `W/${tag}`, `"other", ${tag}`, `"a,b",W/${tag} , "c"`])
        expect({ field, status: await status(field) }).toEqual({ field, status: 304 });
      for (const field of ['"other"', tag.slice(1, -1), "", `"${tag.slice(1, -1).toUpperCase()}x"`])
        expect({ field, status: await status(field) }).toEqual({ field, status: 200 });
      const unchanged = await gatehouse.api("GET", path, undefined, { "If-None-Match": tag });
      expect(unchanged.body).toBeNull();
      expect(etagOf(unchanged)).toBe(tag);
    },
  );

  test.each(RESOURCES)("$singular: If-Match allows a change of that version only", async (resource) => {
    const { created, path } = await createOne(resource);
    const stale = etagOf(created);
    const { body, ...first } = await gatehouse.api("PATCH", path, { name: "1" }, { "If-Match": stale });
    expect(first.status).toBe(200);
    const tag = etagOf({ body, ...first });
    const writes: [string, string, unknown][] = [["PATCH", path, { name: "2" }]];
    if (resource.singular === "API key") writes.push(["POST", `${path}/rotate`, undefined]);
    else writes.push(["PUT", path, body]);
    if (resource.singular === "gateway") writes.push(["POST", path, { name: "3" }]);
    writes.push(["DELETE", path, undefined]);
    for (const [method, place, sent] of writes) {
      for (const field of [stale, `W/${tag}`, '"other"', "rubbish", ""]) {
        const rejected = await gatehouse.api(method, place, sent, { "If-Match": field });
        expectError(rejected, 412, "precondition_failed");
        expect(etagOf(rejected)).toBe(tag);
      }
      expectError(
        await gatehouse.api(method, place, sent, { "If-None-Match": "*" }),
        412,
        "precondition_failed",
      );
    }
    expect((await gatehouse.api("GET", path)).body).toEqual(without(body, "warnings"));
    let current = tag;
    for (const [method, place, sent] of writes) {
      const done = await gatehouse.api(method, place, sent, { "If-Match": `"other", ${current}` });
      expect(done.status).toBe(method === "DELETE" ? 204 : 200);
      current = etagOf(done);
    }
  });

  test("If-Match: * allows a change of any version; a missing record is 404", async () => {
    const { path } = await createOne(RESOURCES[0]!);
    expect((await gatehouse.api("PATCH", path, { name: "any" }, { "If-Match": "*" })).status).toBe(200);
    expect((await gatehouse.api("DELETE", path, undefined, { "If-Match": " * " })).status).toBe(204);
    expectError(await gatehouse.api("PATCH", path, { name: "gone" }, { "If-Match": "*" }), 404, "not_found");
  });

  test("of many concurrent changes of one version, exactly one is applied", async () => {
    const { created, path } = await createOne(RESOURCES[0]!);
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        gatehouse.api("PATCH", path, { name: `writer ${index}` }, { "If-Match": etagOf(created) }),
      ),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(11).fill(412)]);
    const winner = responses.find(({ status }) => status === 200);
    expect((await gatehouse.api("GET", path)).body.name).toBe(winner?.body.name);
  });

  test("the use of a key changes its ETag, but a change based on the earlier ETag is still applied", async () => {
    const key = await create(gatehouse, "/iam/api-keys", { name: "used", subject: chain.gateway });
    const path = `/iam/api-keys/${key.id}`;
    const before = etagOf(await gatehouse.api("GET", path));
    await fetch(`${gatehouse.proxyUrl}/v1/chat/completions`, { headers: { "X-GW-API-Key": key.key } });
    const used = await waitFor(async () => {
      const found = await gatehouse.api("GET", path);
      return found.body.last_used_at === null ? null : found;
    });
    expect(etagOf(used)).not.toBe(before);
    expect((await gatehouse.api("GET", path, undefined, { "If-None-Match": before })).status).toBe(200);
    expect((await gatehouse.api("PATCH", path, { name: "n" }, { "If-Match": before })).status).toBe(200);
    const stale = await gatehouse.api("PATCH", path, { name: "m" }, { "If-Match": etagOf(used) });
    expectError(stale, 412, "precondition_failed");
  });

  test("the OpenAPI document lists the preconditions and their responses", async () => {
    const document = (await (
      await fetch(`${gatehouse.adminUrl}/api/openapi.json`)
    ).json()) as ApiResponse["body"];
    const { get, put, delete: remove } = document.paths["/api/v1/gateways/{gateway_id}/rules/{rule_id}"];
    const headersOf = (operation: ApiResponse["body"]) =>
      operation.parameters
        .filter((each: { in: string }) => each.in === "header")
        .map((each: { name: string }) => each.name);
    expect(headersOf(get)).toEqual(["If-None-Match"]);
    expect(headersOf(put)).toEqual(["If-Match"]);
    expect(headersOf(remove)).toEqual(["If-Match"]);
    expect(get.responses["200"].headers.ETag).toBeDefined();
    expect(get.responses["304"]).toBeDefined();
    expect(put.responses["412"]).toBeDefined();
    expect(document.paths["/api/v1/revisions/{revision}/rollback"].post).toBeDefined();
  });

  test("prices: ETag, If-None-Match and If-Match", async () => {
    const prices = (input: number) => ({
      prices: [{ model: "m", input_per_million: input, output_per_million: 1 }],
    });
    const builtin = await gatehouse.api("GET", "/prices");
    expect(etagOf(builtin)).toMatch(/^"[!#-~]+"$/);
    const first = await gatehouse.api("PUT", "/prices", prices(1), { "If-Match": etagOf(builtin) });
    expect(first.status).toBe(200);
    expect(etagOf(first)).not.toBe(etagOf(builtin));
    const read = await gatehouse.api("GET", "/prices", undefined, { "If-None-Match": etagOf(first) });
    expect([read.status, etagOf(read)]).toEqual([304, etagOf(first)]);
    const same = await gatehouse.api("PUT", "/prices", prices(1));
    expect(etagOf(same)).not.toBe(etagOf(first));

    for (const [method, body] of [["PUT", prices(2)], ["DELETE"]] as const) {
      const rejected = await gatehouse.api(method, "/prices", body, { "If-Match": etagOf(first) });
      expectError(rejected, 412, "precondition_failed");
      expect(etagOf(rejected)).toBe(etagOf(same));
    }
    expect((await gatehouse.api("GET", "/prices")).body).toEqual(same.body);
    const writes = Array.from({ length: 5 }, (_, index) =>
      gatehouse.api("PUT", "/prices", prices(index + 3), { "If-Match": etagOf(same) }),
    );
    const statuses = (await Promise.all(writes)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 412, 412, 412, 412]);
    expect((await gatehouse.api("DELETE", "/prices", undefined, { "If-Match": "*" })).status).toBe(204);
    expect(etagOf(await gatehouse.api("GET", "/prices"))).toBe(etagOf(builtin));
  });

  test("apply and rollback: If-Match is the ETag of an export, or of the newest revision", async () => {
    const document = (name: string) => ({ gateways: [{ name }] });
    const exported = await gatehouse.api("GET", "/export", undefined, { Accept: "application/json" });
    const { revision } = (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];
    const newest = await gatehouse.api("GET", `/revisions/${revision}`);
    const applied = await gatehouse.api("POST", "/apply", document("one"), { "If-Match": etagOf(exported) });
    expect(applied.status).toBe(200);
    const rollback = `/revisions/${revision}/rollback`;
    for (const stale of [etagOf(exported), etagOf(newest)]) {
      for (const path of ["/apply", "/apply?dry_run=true", rollback]) {
        const body = path === rollback ? undefined : document("two");
        const rejected = await gatehouse.api("POST", path, body, { "If-Match": stale });
        expectError(rejected, 412, "precondition_failed");
        expect(etagOf(rejected)).toBe(etagOf(applied));
      }
    }
    expect((await gatehouse.api("GET", "/gateways?name=two")).body.count).toBe(0);
    const back = await gatehouse.api("POST", rollback, undefined, { "If-Match": etagOf(applied) });
    expect(back.status).toBe(200);
    expect(etagOf(await gatehouse.api("GET", `/revisions/${back.body.revision}`))).toBe(etagOf(back));
    const same = await gatehouse.api("POST", "/apply", { gateways: [] }, { "If-Match": etagOf(back) });
    expect([same.status, etagOf(same)]).toEqual([200, etagOf(back)]);
    const stale = { "If-None-Match": etagOf(exported), Accept: "application/json" };
    expect((await gatehouse.api("GET", "/export", undefined, stale)).status).toBe(200);
  });
});
