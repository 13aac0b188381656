// Target headers that carry a credential: sealed in the database, masked wherever they are shown, kept when the mask is sent back.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withSql } from "../contract/store-records.ts";
import { create, expectProblemsAt } from "../support/admin-fixtures.ts";
import { startGatehouseProcess, temporaryDirectory, type ApiResponse } from "../support/gatehouse-process.ts";
import { CHAT, onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);
const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

const KEY = "planted-key-0123456789";
const MASK = "pla***6789";
const headers = { "X-Api-Key": KEY, "anthropic-version": "2023-06-01" };

/** Creates a route whose target has a secret header. */
const seed = (name: string) =>
  seedRoute(gatehouse, { gateway: { name }, upstream: { targets: [targetAt(provider, { headers })] } });
const upstreamPath = (route: { gateway: string; upstream: string }) =>
  `/gateways/${route.gateway}/upstreams/${route.upstream}`;

/** Sends a request through the route and returns the headers that the provider receives. */
async function sentHeaders(path: string): Promise<Map<string, string>> {
  provider.reset();
  const body = JSON.stringify(CHAT);
  const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", body });
  expect(response.status).toBe(200);
  await response.text();
  return new Map(onlyRequest(provider).headers.map(([name, value]) => [name.toLowerCase(), value]));
}

function filesContain(directory: string, text: string): string[] {
  return readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(text));
}

describe("target headers that carry a credential", () => {
  test("are masked in every response, also in revisions, explain and export; other headers are not", async () => {
    const route = await seed("shown");
    const path = upstreamPath(route);
    await gatehouse.api("PATCH", path, { name: "renamed" });
    const { body: upstream } = await gatehouse.api("GET", path);
    expect(upstream.targets[0].headers).toEqual({ "X-Api-Key": MASK, "anthropic-version": "2023-06-01" });
    const { body: revisions } = await gatehouse.api("GET", `/revisions?gateway_id=${route.gateway}`);
    const texts: string[] = [JSON.stringify(upstream)];
    for (const { revision } of revisions.revisions)
      texts.push(JSON.stringify((await gatehouse.api("GET", `/revisions/${revision}`)).body));
    const request = { method: "POST", path: route.path, body: CHAT };
    const explained = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, request);
    expect(explained.body.upstream_request.headers).toMatchObject({
      "x-api-key": MASK,
      "anthropic-version": "2023-06-01",
    });
    const exported = await fetch(`${gatehouse.adminUrl}/api/v1/export`, {
      headers: { Authorization: `Bearer ${gatehouse.token}` },
    });
    const document = await exported.text();
    expect(document).toContain("${SHOWN_RENAMED_OPENAI_X_API_KEY:-pla***6789}");
    texts.push(JSON.stringify(explained.body), document, gatehouse.output());
    for (const text of texts) expect(text).not.toContain(KEY);
  });

  test("reach the provider, and are kept when the mask is sent back with PUT, PATCH and apply", async () => {
    const route = await seed("kept");
    const path = upstreamPath(route);
    expect((await sentHeaders(route.path)).get("x-api-key")).toBe(KEY);
    const { body: shown } = await gatehouse.api("GET", path);
    expect((await gatehouse.api("PUT", path, shown)).status).toBe(200);
    expect((await sentHeaders(route.path)).get("x-api-key")).toBe(KEY);
    const renamed = { ...shown.targets[0], headers: { "x-api-key": MASK } };
    expect((await gatehouse.api("PATCH", path, { targets: [renamed] })).status).toBe(200);
    const { id: removed, ...anonymous } = renamed;
    expect(removed).toBeString();
    expect((await gatehouse.api("PATCH", path, { targets: [anonymous] })).status).toBe(200);
    expect((await sentHeaders(route.path)).get("x-api-key")).toBe(KEY);
    const exported = await fetch(`${gatehouse.adminUrl}/api/v1/export`, {
      headers: { Authorization: `Bearer ${gatehouse.token}`, Accept: "application/json" },
    });
    const { body: applied } = await gatehouse.api("POST", "/apply", await exported.text());
    const changes: ApiResponse["body"][] = applied.changes;
    expect(changes.filter(({ action }) => action !== "none")).toEqual([]);
    expect((await sentHeaders(route.path)).get("x-api-key")).toBe(KEY);
  });

  test("a mask without a stored value is rejected", async () => {
    const route = await seed("rejected");
    const target = targetAt(provider, { headers: { "X-Secret": "abc***wxyz" } });
    const path = "targets[0].headers.X-Secret";
    expectProblemsAt(await gatehouse.api("PATCH", upstreamPath(route), { targets: [target] }), path);
    const upstreams = `/gateways/${route.gateway}/upstreams`;
    expectProblemsAt(await gatehouse.api("POST", upstreams, { name: "n", targets: [target] }), path);
  });

  test("a new value replaces the stored one", async () => {
    const route = await seed("replaced");
    const { body } = await gatehouse.api("GET", upstreamPath(route));
    const target = { ...body.targets[0], headers: { "X-Api-Key": "another-key-9876543210" } };
    const changed = await gatehouse.api("PATCH", upstreamPath(route), { targets: [target] });
    expect(changed.body.targets[0].headers).toEqual({ "X-Api-Key": "ano***3210" });
    expect((await sentHeaders(route.path)).get("x-api-key")).toBe("another-key-9876543210");
  });
});

test("no value that an older version stored in plain text is left in the database file after the start", async () => {
  const dataDir = temporaryDirectory();
  const url = `sqlite://${join(dataDir, "gatehouse.db")}`;
  const plain = "stored-in-plain-text-0123456789";
  const first = await startGatehouseProcess({ dataDir, keepData: true });
  const { id: gateway } = await create(first, "/gateways", { name: "g" });
  const collection = `/gateways/${gateway}/upstreams`;
  const target = { provider: "openai", headers: { "X-Api-Key": "placeholder-0123456789" } };
  const { id } = await create(first, collection, { name: "u", targets: [target] });
  await first.api("PATCH", `${collection}/${id}`, { name: "renamed" });
  first.signal("SIGTERM");
  await first.exited;
  // What an older version has written: plain text in the record and in the history of its changes.
  await withSql(url, async (sql) => {
    const [row] = (await sql.unsafe("SELECT body FROM upstreams")) as { body: string }[];
    const stored = JSON.parse(row?.body ?? "");
    stored.targets[0].headers["X-Api-Key"] = plain;
    const body = JSON.stringify(stored);
    await sql.unsafe("UPDATE upstreams SET body = $1", [body]);
    const revisions = (await sql.unsafe("SELECT number, records FROM revisions")) as ApiResponse["body"][];
    for (const { number, records } of revisions) {
      const changes = JSON.parse(records) as ApiResponse["body"][];
      for (const { kind, before, after } of changes)
        for (const each of kind === "upstreams" ? [before, after] : []) if (each !== null) each.body = body;
      await sql.unsafe("UPDATE revisions SET records = $1 WHERE number = $2", [
        JSON.stringify(changes),
        number,
      ]);
    }
    const tables = (await sql.unsafe("SELECT name FROM pragma_table_info('configuration')")) as {
      name: string;
    }[];
    if (tables.some(({ name }) => name === "sealed_headers"))
      await sql.unsafe("UPDATE configuration SET sealed_headers = 0");
  });
  expect(filesContain(dataDir, plain)).not.toEqual([]);
  const second = await startGatehouseProcess({ dataDir, keepData: true });
  expect(filesContain(dataDir, plain)).toEqual([]);
  const { body: upstream } = await second.api("GET", `${collection}/${id}`);
  expect(upstream.targets[0].headers).toEqual({ "X-Api-Key": "sto***6789" });
  const { body } = await second.api("GET", "/revisions");
  for (const { revision } of body.revisions)
    expect((await second.api("GET", `/revisions/${revision}`)).status).toBe(200);
  second.signal("SIGTERM");
  await second.exited;
  expect(filesContain(dataDir, plain)).toEqual([]);
  rmSync(dataDir, { recursive: true, force: true });
});
