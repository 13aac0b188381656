// Game days as a resource: fields, times, references, one at a time, and that rollbacks and documents leave them alone.
import { beforeEach, describe, expect, test } from "bun:test";
import { create, createChain, expectError, type Chain } from "../support/admin-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
let chain: Chain;
let gameDays = "";
beforeEach(async () => {
  chain = await createChain(gatehouse, "game days");
  gameDays = `/gateways/${chain.gateway}/game-days`;
});

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const body = (fields: object = {}) => ({
  name: "drill",
  ends_at: inMinutes(10),
  faults: [{ type: "refuse" }],
  ...fields,
});
const problemsOf = async (fields: object) => {
  const response = await gatehouse.api("POST", gameDays, body(fields));
  expectError(response, 400, "validation_failed");
  return (response.body.details as { path: string }[]).map(({ path }) => path);
};
const revisionNow = async () =>
  (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision as number;

test("a game day has defaults and starts when it is created", async () => {
  const created = await create(gatehouse, gameDays, body());
  expect(created).toMatchObject({
    enabled: true,
    match: { rules: [], keys: [], labels: {}, models: [], headers: {}, share: 1 },
    max_requests: null,
    faults: [{ type: "refuse", after_events: 0, target_ids: [], attempts: null, share: 1 }],
    abort_if: null,
    expect: { success_ratio: null, failover_ratio: null, p99_ms: null, min_requests: 1 },
    isolated: true,
  });
  expect(created.starts_at).toBe(created.created_at);
  const at = `${gameDays}/${created.id}`;
  expect((await gatehouse.api("GET", at)).body).toEqual(created);
  expect((await gatehouse.api("GET", gameDays)).body).toMatchObject({
    game_days: [{ id: created.id }],
    count: 1,
  });
  expect((await gatehouse.api("PATCH", at, { max_requests: 5 })).body).toMatchObject({ max_requests: 5 });
  expect((await gatehouse.api("DELETE", at)).status).toBe(204);
  expectError(await gatehouse.api("GET", at), 404, "not_found");
});

test("a game day ends in the future, after it starts, and at most 24 hours ahead", async () => {
  expect(await problemsOf({ ends_at: inMinutes(-1) })).toEqual(["ends_at"]);
  expect(await problemsOf({ ends_at: inMinutes(24 * 60 + 1) })).toEqual(["ends_at"]);
  expect(await problemsOf({ starts_at: inMinutes(20) })).toEqual(["ends_at"]);
  const { id } = await create(gatehouse, gameDays, body({ ends_at: inMinutes(24 * 60 - 1) }));
  const later = await gatehouse.api("PATCH", `${gameDays}/${id}`, { ends_at: inMinutes(24 * 60 + 1) });
  expectError(later, 400, "validation_failed");
});

test("faults have the fields of their types only", async () => {
  const cases: [object, string][] = [
    [{ type: "delay" }, "ms"],
    [{ type: "refuse", ms: 5 }, "ms"],
    [{ type: "status" }, "status"],
    [{ type: "status", status: 200 }, "status"],
    [{ type: "cut", status: 500 }, "status"],
    [{ type: "cut", retry_after: 1 }, "retry_after"],
    [{ type: "empty", after_events: 1 }, "after_events"],
    [{ type: "redis_away", attempts: 1 }, "type"],
    [{ type: "other" }, "type"],
  ];
  for (const [fault, path] of cases)
    expect(await problemsOf({ faults: [fault] })).toEqual([`faults[0].${path}`]);
  expect(await problemsOf({ faults: [] })).toEqual(["faults"]);
});

test("rules, API keys and targets are those of the gateway", async () => {
  const other = await createChain(gatehouse, "another gateway");
  const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: other.gateway });
  expect(await problemsOf({ match: { rules: [other.rule] } })).toEqual(["match.rules[0]"]);
  expect(await problemsOf({ match: { keys: [key.id] } })).toEqual(["match.keys[0]"]);
  const upstream = await gatehouse.api("GET", `/gateways/${other.gateway}/upstreams/${other.upstream}`);
  for (const target of [upstream.body.targets[0].id as string, "%", '","'])
    expect(await problemsOf({ faults: [{ type: "refuse", target_ids: [target] }] })).toEqual([
      "faults[0].target_ids[0]",
    ]);
  const own = await gatehouse.api("GET", `/gateways/${chain.gateway}/upstreams/${chain.upstream}`);
  const target_ids = [own.body.targets[0].id as string];
  await create(
    gatehouse,
    gameDays,
    body({ faults: [{ type: "refuse", target_ids }], match: { rules: [chain.rule] } }),
  );
});

describe("one at a time", () => {
  test("a second game day is rejected until the first is stopped, deleted, or over", async () => {
    const first = await create(gatehouse, gameDays, body());
    expectError(await gatehouse.api("POST", gameDays, body()), 409, "game_day_active");
    const stopped = await gatehouse.api("POST", `${gameDays}/${first.id}/stop`, {});
    expect(stopped.body).toMatchObject({ id: first.id, enabled: false });
    const second = await create(gatehouse, gameDays, body());
    const resumed = await gatehouse.api("PATCH", `${gameDays}/${first.id}`, { enabled: true });
    expectError(resumed, 409, "game_day_active");
    expect((await gatehouse.api("DELETE", `${gameDays}/${second.id}`)).status).toBe(204);
    expect((await gatehouse.api("PATCH", `${gameDays}/${first.id}`, { enabled: true })).status).toBe(200);
  });

  test("of several that are created at once, one is accepted", async () => {
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => gatehouse.api("POST", gameDays, body())),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });
});

test("stopping is recorded in revisions and in the audit log", async () => {
  const { id } = await create(gatehouse, gameDays, body());
  await gatehouse.api("POST", `${gameDays}/${id}/stop`, {});
  const { revisions } = (await gatehouse.api("GET", "/revisions?resource=game_day&limit=2")).body;
  expect(revisions).toMatchObject([
    { action: "update", resource: "game_day", resource_id: id },
    { action: "create", resource: "game_day", resource_id: id },
  ]);
  const { audit_entries } = (await gatehouse.api("GET", "/audit?limit=1")).body;
  expect(audit_entries).toMatchObject([{ action: "update", resource: "game_day", resource_id: id }]);
});

test("a rollback neither starts a game day again nor removes one", async () => {
  const { id } = await create(gatehouse, gameDays, body());
  const running = await revisionNow();
  await gatehouse.api("DELETE", `${gameDays}/${id}`);
  await gatehouse.api("PATCH", `/gateways/${chain.gateway}`, { name: "renamed" });
  const next = await create(gatehouse, gameDays, body());
  expect((await gatehouse.api("POST", `/revisions/${running}/rollback`, {})).status).toBe(200);
  expect((await gatehouse.api("GET", `/gateways/${chain.gateway}`)).body.name).toBe("game days");
  const { game_days } = (await gatehouse.api("GET", gameDays)).body;
  expect(game_days).toMatchObject([{ id: next.id }]);
});

test("documents do not contain game days, and applying one keeps them", async () => {
  const { id } = await create(gatehouse, gameDays, body());
  const json = { Accept: "application/json" };
  const path = `/export?gateway_id=${chain.gateway}`;
  const { body: document } = await gatehouse.api("GET", path, undefined, json);
  expect(JSON.stringify(document)).not.toContain("drill");
  const [exported] = document.gateways as {
    api_keys: unknown;
    upstreams: unknown;
    services: unknown;
    rules: unknown;
  }[];
  // Only the gateway itself: the secrets of its targets are references to variables that are not set here.
  const applied = { ...exported, name: "applied", upstreams: [], services: [], rules: [], api_keys: [] };
  await gatehouse.api("PATCH", `/gateways/${chain.gateway}`, { name: "applied" });
  const response = await gatehouse.api("POST", "/apply?prune=true", { ...document, gateways: [applied] });
  expect(response.status).toBe(200);
  expect((await gatehouse.api("GET", `${gameDays}/${id}`)).status).toBe(200);
});

test("a gateway with a game day is deleted only with its records", async () => {
  const { gateway } = chain;
  await create(gatehouse, gameDays, body());
  expectError(await gatehouse.api("DELETE", `/gateways/${gateway}`), 409, "in_use");
  expect((await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`)).status).toBe(204);
});

test("the state of a game day without requests has no verdict until it is stopped", async () => {
  const { id } = await create(gatehouse, gameDays, body());
  const state = async () => (await gatehouse.api("GET", `${gameDays}/${id}/state`)).body;
  expect(await state()).toMatchObject({
    phase: "running",
    affected: { requests: 0, p99_ms: null },
    by_fault: {},
    aborted: null,
    verdict: "pending",
  });
  await gatehouse.api("POST", `${gameDays}/${id}/stop`, {});
  expect(await state()).toMatchObject({
    phase: "stopped",
    verdict: "failed",
    checks: [
      { check: "not_aborted", passed: true },
      { check: "min_requests", expected: 1, actual: 0, passed: false },
    ],
  });
});
