// Explanations with an API key by id or name, and of recorded requests.
import { expect, setDefaultTimeout, test } from "bun:test";
import { expectProblemsAt } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(60_000);
const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);

const seed = (gateway = {}, rule = {}) =>
  seedRoute(gatehouse, {
    gateway: { require_api_key: true, ...gateway },
    upstream: { targets: [targetAt(provider)] },
    rule,
  });

const explain = (route: SeededRoute, request: object) =>
  gatehouse.api("POST", `/gateways/${route.gateway}/explain`, { path: route.path, body: CHAT, ...request });

/** Sends a request, and explains its record. */
async function explainSent(
  route: SeededRoute,
  init: { headers?: Record<string, string>; body?: object } = {},
): Promise<{ readonly status: number; readonly replayed: ApiResponse["body"]; readonly id: string }> {
  const sent = await fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...init.headers },
    body: JSON.stringify(init.body ?? CHAT),
  });
  await sent.text();
  const id = sent.headers.get("x-request-id") ?? "";
  const requests = `/gateways/${route.gateway}/requests`;
  await waitFor(
    async () => (await gatehouse.api("GET", `${requests}?request_id=${id}`)).body.requests[0] ?? null,
  );
  const response = await gatehouse.api("POST", `${requests}/${id}/explain`);
  expect(response.status).toBe(200);
  return { status: sent.status, replayed: response.body, id };
}

test("an API key is given by its id or its name, and is checked as if it had been sent", async () => {
  const route = await seed();
  const { id, key } = await seedKey(gatehouse, route.gateway, { name: "web", models: ["gpt-*"] });
  for (const api_key of [id, "web"]) {
    const { body } = await explain(route, { api_key });
    expect(body).toMatchObject({ authentication: { verdict: "allowed", api_key: { id, name: "web" } } });
    expect(body.answer).toBeNull();
    expect(JSON.stringify(body)).not.toContain(key);
  }
  const denied = await explain(route, { api_key: "web", body: { ...CHAT, model: "o3" } });
  expect(denied.body.answer).toMatchObject({ status: 403, code: "model_not_allowed" });
  const other = await explain(route, { api_key: "web", headers: { "X-GW-API-Key": `gw_${"x".repeat(43)}` } });
  expect(other.body.answer).toMatchObject({ status: 401, code: "invalid_api_key" });
  const same = await explain(route, { api_key: "web", headers: { "X-GW-API-Key": key } });
  expect(same.body.answer).toBeNull();
  await gatehouse.api("DELETE", `/iam/api-keys/${id}`);
  for (const api_key of [id, "web"])
    expect((await explain(route, { api_key })).body.answer).toMatchObject({
      status: 401,
      code: "invalid_api_key",
    });
});

test("an API key that is not one of this gateway is rejected, as is a name that two keys have", async () => {
  const [route, foreign] = [await seed(), await seed()];
  const { id } = await seedKey(gatehouse, foreign.gateway, { name: "foreign" });
  for (const api_key of [id, "foreign", "unknown"])
    expectProblemsAt(await explain(route, { api_key }), "api_key");
  await seedKey(gatehouse, route.gateway, { name: "twin" });
  const { id: second } = await seedKey(gatehouse, route.gateway, { name: "twin" });
  expectProblemsAt(await explain(route, { api_key: "twin" }), "api_key");
  // A revoked key does not make a name ambiguous.
  await gatehouse.api("DELETE", `/iam/api-keys/${second}`);
  expect((await explain(route, { api_key: "twin" })).body.answer).toBeNull();
});

test("a recorded request is explained with its API key and its model: a recorded 200 would be forwarded", async () => {
  const route = await seed({}, { headers: { "X-Team": "search" } });
  const { id, key } = await seedKey(gatehouse, route.gateway, { name: "app", models: ["gpt-*"] });
  const headers = { "X-GW-API-Key": key, "X-Team": "search" };
  const allowed = await explainSent(route, { headers });
  expect(allowed.status).toBe(200);
  expect(allowed.replayed).toMatchObject({
    request: { method: "POST", path: route.path, api_key: id, headers: { "X-Team": "search" } },
    recorded: { request_id: allowed.id, status: 200, error_code: null, rule: { id: route.rule } },
    explanation: { answer: null, rule: { id: route.rule }, authentication: { api_key: { id } } },
  });
  expect(JSON.parse(allowed.replayed.request.body)).toMatchObject({ model: CHAT.model });
  const missing = allowed.replayed.not_recorded.join("\n");
  for (const part of ["headers", "address", "body"]) expect(missing).toContain(part);
  expect(missing).toContain("log_bodies");

  const denied = await explainSent(route, { headers, body: { ...CHAT, model: "o3" } });
  expect(denied.status).toBe(403);
  expect(denied.replayed.explanation.answer).toMatchObject({ status: 403, code: "model_not_allowed" });
  const keyless = await explainSent(route, { headers: { "X-Team": "search" } });
  expect(keyless.status).toBe(401);
  expect(keyless.replayed.explanation.answer).toMatchObject({ status: 401, code: "api_key_required" });
});

test("a recorded body is replayed as it was sent; one that was truncated is replaced, and the result says so", async () => {
  const route = await seed({ log_bodies: true, require_api_key: false });
  const { replayed } = await explainSent(route, { body: { ...CHAT, temperature: 0.25 } });
  expect(JSON.parse(replayed.explanation.upstream_request.body)).toMatchObject({ temperature: 0.25 });
  expect(replayed.not_recorded.join("\n")).not.toContain("body");
  const content = "long ".repeat(5000);
  const long = await explainSent(route, { body: { ...CHAT, messages: [{ role: "user", content }] } });
  expect(long.replayed.explanation.answer).toBeNull();
  expect(long.replayed.not_recorded.join("\n")).toContain("truncated");
});

test("a change of the configuration since then is reported, and an unknown request is 404", async () => {
  const route = await seed({ require_api_key: false });
  const { id, replayed } = await explainSent(route);
  expect(replayed.not_recorded.join("\n")).not.toContain("revision");
  await gatehouse.api("PATCH", `/gateways/${route.gateway}/rules/${route.rule}`, { active: false });
  const path = `/gateways/${route.gateway}/requests`;
  const later = (await gatehouse.api("POST", `${path}/${id}/explain`)).body;
  expect(later.explanation.answer).toMatchObject({ status: 404 });
  expect(later.not_recorded.join("\n")).toContain("revision");
  expect((await gatehouse.api("POST", `${path}/unknown/explain`)).status).toBe(404);
});

test("the command line takes a key by name, and explains a recorded request", async () => {
  const route = await seed();
  const { key } = await seedKey(gatehouse, route.gateway, { name: "cli" });
  const command = (...args: string[]) =>
    runCommand(["explain", "--gateway", route.gateway, ...args], settingsOf(gatehouse));
  const named = await command("--path", route.path, "--key", "cli");
  expect(named.stdout).toContain("✓ cli: the API key is valid for this rule");
  const { id } = await explainSent(route, { headers: { "X-GW-API-Key": key } });
  const { stdout } = await command("--request", id);
  expect(stdout).toContain(`POST ${route.path}`);
  expect(stdout).toContain("✓ cli: the API key is valid for this rule");
  expect(stdout).toContain("recorded");
  expect(stdout).toContain("log_bodies");
  expect((await command("--request", id, "--path", "/x")).code).toBe(2);
});
