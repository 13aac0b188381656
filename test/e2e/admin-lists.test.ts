// Search and sort of lists, the search over all records, and the overview of all gateways.
import { expect, test } from "bun:test";
import { mintToken } from "../../src/cli/mint-token.ts";
import { create, expectProblemsAt } from "../support/admin-fixtures.ts";
import { callApi, TEST_SECRET, type ApiResponse } from "../support/gatehouse-process.ts";
import { limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const [gatehouse, provider, failing] = await Promise.all([
  useGatehouse(),
  useFakeProvider({ name: "good" }),
  useFakeProvider({ name: "broken" }),
]);

async function get(path: string): Promise<ApiResponse["body"]> {
  const { status, body } = await gatehouse.api("GET", path);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

const namesIn = (records: readonly { name: string }[]) => records.map(({ name }) => name);

test("a list of records can be searched, sorted, and limited to ids", async () => {
  for (const name of ["List Beta", "list alpha", "list gamma"])
    await create(gatehouse, "/gateways", { name });
  const sorted = await get("/gateways?search=LIST&sort=-name&limit=2");
  expect(namesIn(sorted.gateways)).toEqual(["list gamma", "List Beta"]);
  expect(sorted.count).toBe(3);
  expect(namesIn((await get("/gateways?search=list&sort=name&offset=2")).gateways)).toEqual(["list gamma"]);
  const ids = sorted.gateways.map(({ id }: { id: string }) => id).join(",");
  expect(namesIn((await get(`/gateways?ids=${ids}`)).gateways)).toEqual(["List Beta", "list gamma"]);
  for (const query of ["sort=path", "sort=body", "search=%00", `ids=${"x,".repeat(101)}`])
    expectProblemsAt(await gatehouse.api("GET", `/gateways?${query}`), `?${query.split("=")[0]}`);
  const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  const { rules } = await get(`/gateways/${gateway}/rules?sort=path`);
  expect((await get(`/gateways/${gateway}/rules?sort=-priority`)).count).toBe(1);
  expect((await get(`/gateways/${gateway}/rules?search=${rules[0].path.toUpperCase()}`)).count).toBe(1);
  expect((await get(`/iam/api-keys?subject=${gateway}&sort=-last_used_at`)).count).toBe(0);
});

test("admin tokens are searched, sorted, and paged", async () => {
  for (const [name, role, day] of [
    ["Sorted Beta", "viewer", "03"],
    ["sorted alpha", "owner", "01"],
    ["sorted gamma", "operator", "02"],
  ] as const)
    await create(gatehouse, "/iam/admin-tokens", { name, role, expires_at: `2035-01-${day}T00:00:00Z` });
  const names = async (query: string) =>
    namesIn((await get(`/iam/admin-tokens?search=SORTED&${query}`)).admin_tokens);
  expect(await names("")).toEqual(["Sorted Beta", "sorted alpha", "sorted gamma"]);
  expect(await names("sort=-created_at")).toEqual(["sorted gamma", "sorted alpha", "Sorted Beta"]);
  expect(await names("sort=-name")).toEqual(["sorted gamma", "Sorted Beta", "sorted alpha"]);
  expect(await names("sort=expires_at")).toEqual(["sorted alpha", "sorted gamma", "Sorted Beta"]);
  expect(await names("sort=role&limit=1&offset=1")).toEqual(["sorted alpha"]);
  const page = await get("/iam/admin-tokens?search=sorted&sort=name&limit=2");
  expect([page.admin_tokens.length, page.count]).toEqual([2, 3]);
  const [{ id, prefix }] = page.admin_tokens;
  expect((await get(`/iam/admin-tokens?search=${id}`)).count).toBe(1);
  expect((await get(`/iam/admin-tokens?search=${prefix.toUpperCase()}`)).count).toBe(1);
  // An id is found by a longer part only: short ones occur in many ids by chance.
  expect((await get(`/iam/admin-tokens?search=${id.slice(-4)}`)).count).toBe(0);
  expectProblemsAt(await gatehouse.api("GET", "/iam/admin-tokens?sort=hash"), "?sort");
});

test("a search finds records of every kind and requests by id, only of gateways that the token may see", async () => {
  const route = await seedRoute(gatehouse, {
    upstream: { name: "needle upstream", targets: [targetAt(provider)] },
  });
  const other = await create(gatehouse, "/gateways", { name: "Needle gateway", subdomain: "sewing" });
  await create(gatehouse, `/gateways/${route.gateway}/budgets`, {
    name: "needle budget",
    unit: "usd",
    amount: "1.00",
  });
  await create(gatehouse, "/iam/api-keys", { name: "needle key", subject: route.gateway });
  const { results } = await get("/search?q=needle");
  expect(results.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)).toEqual([
    "gateway Needle gateway",
    "upstream needle upstream",
    "budget needle budget",
    "api_key needle key",
  ]);
  expect(results[0]).toMatchObject({ detail: "sewing", gateway: "Needle gateway", gateway_id: other.id });
  expect((await get("/search?q=e&limit=1")).results.length).toBeLessThanOrEqual(7);
  expectProblemsAt(await gatehouse.api("GET", "/search?q=%20"), "?q");

  const response = await postChat(gatehouse, route);
  await response.text();
  const requestId = response.headers.get("x-request-id") ?? "";
  await waitUntil(async () => (await get(`/search?q=${requestId}`)).results.length === 1);
  const [request] = (await get(`/search?q=${requestId}`)).results;
  expect(request).toMatchObject({ kind: "request", id: requestId, gateway_id: route.gateway });

  const limited = await mintToken(TEST_SECRET, 600, "limited", { role: "viewer", gateways: [other.id] });
  const limitedGet = async (path: string) => (await callApi(gatehouse.adminUrl, limited, "GET", path)).body;
  expect(namesIn((await limitedGet("/search?q=needle")).results)).toEqual(["Needle gateway"]);
  expect((await limitedGet(`/search?q=${requestId}`)).results).toEqual([]);

  // A request whose host belongs to no gateway is seen only by administrators of all gateways.
  const lost = await fetch(`${gatehouse.proxyUrl}/lost`, { headers: { Host: "nowhere.example.com" } });
  await lost.text();
  const lostId = lost.headers.get("x-request-id") ?? "";
  await waitUntil(async () => (await get(`/search?q=${lostId}`)).results.length === 1);
  const detail = `${lost.status} GET /lost`;
  expect((await get(`/search?q=${lostId}`)).results).toEqual([
    { kind: "request", id: lostId, name: null, detail, gateway_id: null, gateway: null },
  ]);
  expect((await limitedGet(`/search?q=${lostId}`)).results).toEqual([]);
});

test("the overview counts the targets of all gateways by state and lists what needs attention first", async () => {
  failing.behave({ status: 503 });
  const health_checks = { passive: true, threshold: 2, interval: 60 };
  const good = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  const bad = await seedRoute(gatehouse, { upstream: { targets: [targetAt(failing)], health_checks } });
  await (await postChat(gatehouse, good)).text();
  for (let call = 0; call < 3; call++) await (await postChat(gatehouse, bad)).text();
  await waitUntil(async () => (await get("/overview")).gateways[0]?.errors === 3);
  const overview = await get("/overview?limit=2");
  expect(overview.gateways[0]).toMatchObject({ gateway_id: bad.gateway, requests: 3, errors: 3 });
  expect(overview.targets[0]).toMatchObject({
    gateway_id: bad.gateway,
    state: "out",
    weight: 1,
  });
  expect(overview.target_states.out).toBe(1);
  expect([overview.targets.length, overview.gateways.length]).toEqual([2, 2]);
  expect(overview.gateway_count).toBe((await get("/gateways")).count);

  const one = await get(`/overview?gateway_id=${good.gateway}`);
  expect(one).toMatchObject({ gateway_count: 1, target_count: 1, gateways: [{ requests: 1, errors: 0 }] });
  const limited = await mintToken(TEST_SECRET, 600, "limited", { role: "viewer", gateways: [good.gateway] });
  const limitedGet = (path: string) => callApi(gatehouse.adminUrl, limited, "GET", path);
  expect((await limitedGet("/overview")).body).toEqual(one);
  expect((await limitedGet(`/overview?gateway_id=${bad.gateway}`)).status).toBe(403);
  const { points } = (await limitedGet("/traffic")).body;
  expect(points.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0)).toBe(1);
});

test("blocks are searched, sorted, and paged", async () => {
  const route = await seedPlugins(gatehouse, provider, [
    limiter({ per_user: [1, "1h"], per_ip: [4, "1h"] }, { actions: { type: "block" } }),
  ]);
  for (const user of ["zoe", "Ann", "bob"])
    for (let turn = 0; turn < 2; turn++)
      await (await postChat(gatehouse, route, { headers: { "X-User-ID": user } })).text();
  const path = `/gateways/${route.gateway}/blocks`;
  await waitUntil(async () => (await get(path)).count >= 3);
  const list = async (query: string): Promise<string[]> =>
    (await get(`${path}?${query}`)).blocks.map(({ subject }: { subject: string }) => subject.at(-1));
  const users = "search=per_user";
  expect(await list(users)).toEqual(["e", "n", "b"]);
  expect(await list(`${users}&sort=-created_at`)).toEqual(["b", "n", "e"]);
  expect(await list(`${users}&sort=subject`)).toEqual(["n", "b", "e"]);
  expect(await list(`${users}&sort=-subject&limit=1&offset=1`)).toEqual(["b"]);
  expect(await list("search=ANN")).toEqual(["n"]);
  expect((await get(`${path}?search=nothing`)).count).toBe(0);
  expectProblemsAt(await gatehouse.api("GET", `${path}?sort=counter_key`), "?sort");
});
