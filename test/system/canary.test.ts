// Canaries of virtual models over three nodes that share a store: who gets the canary, when it is switched off, and what is reported.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create, expectError } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const folder = temporaryDirectory();
const [stable, tried] = await Promise.all([useFakeProvider(), useFakeProvider()]);
const nodes: GatehouseProcess[] = [];
beforeAll(async () => {
  const env = { WORKERS: "1", DATABASE_URL: `sqlite://${join(folder, "shared.db")}` };
  nodes.push(await startGatehouseProcess({ env }));
  nodes.push(...(await Promise.all([startGatehouseProcess({ env }), startGatehouseProcess({ env })])));
}, 60_000);
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  rmSync(folder, { recursive: true, force: true });
});

const node = (index: number) => nodes[index % nodes.length]!;
const admin = { api: (...call: Parameters<GatehouseProcess["api"]>) => node(0).api(...call) };

interface Seeded {
  readonly route: SeededRoute;
  /** Path of the virtual model. */
  readonly at: string;
}

/** A virtual model with a stable target and a canary at another upstream. */
async function seedCanary(canary: object, model: object = {}, gateway: object = {}): Promise<Seeded> {
  const health_checks = { passive: false };
  const route = await seedRoute(admin, {
    gateway: { ...gateway },
    upstream: { targets: [targetAt(stable)], health_checks },
  });
  const base = `/gateways/${route.gateway}`;
  const upstream = await create(admin, `${base}/upstreams`, {
    name: "tried",
    targets: [targetAt(tried)],
    health_checks,
  });
  await admin.api("PATCH", `${base}/services/${route.service}`, { virtual_models: "any" });
  const { id } = await create(admin, `${base}/models`, {
    name: "assistant",
    targets: [{ upstream: route.upstream, model: "old" }],
    canary: { target: { upstream: upstream.id, model: "new" }, ...canary },
    ...model,
  });
  const at = `${base}/models/${id}`;
  await onAllNodes(at);
  return { route, at };
}

/** Waits until all nodes serve the latest revision. */
async function onAllNodes(at: string): Promise<void> {
  const { updated_at } = (await admin.api("GET", at)).body;
  expect(updated_at).toBeString();
  const [{ revision }] = (await admin.api("GET", "/revisions?limit=1")).body.revisions;
  for (const { proxyUrl } of nodes)
    await waitFor(async () => {
      const { revision: active } = (await (await fetch(`${proxyUrl}/readyz`)).json()) as { revision: number };
      return active >= revision ? true : null;
    });
}

const send = (
  index: number,
  { route }: Seeded,
  headers: Record<string, string> = {},
  body: object = {},
): Promise<Response> =>
  fetch(node(index).proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ ...CHAT, model: "assistant", ...body }),
  });

/** Returns the users that the canary serves, each on its own node. */
async function served(seeded: Seeded, users: readonly string[], shift = 0): Promise<string[]> {
  const all = await Promise.all(
    users.map(async (user, index) => {
      const { status, headers } = await send(index + shift, seeded, { "X-User-ID": user });
      const isCanary = headers.get("x-gw-canary") === "canary";
      expect([status, headers.get("x-gw-model")]).toEqual([200, isCanary ? "new" : "old"]);
      return isCanary ? [user] : [];
    }),
  );
  return all.flat();
}

const revisions = async ({ route }: Seeded) =>
  (await admin.api("GET", `/revisions?gateway_id=${route.gateway}&actor=gatehouse`)).body.revisions as Record<
    string,
    unknown
  >[];

describe("assignment", () => {
  const users = Array.from({ length: 120 }, (_, index) => `user ${index}`);

  test("is the same on all nodes, and no user leaves the canary when its share grows", async () => {
    const seeded = await seedCanary({ share: 0.2, rollback_if: null });
    const few = await served(seeded, users);
    expect(few.length).toBeGreaterThan(5);
    expect(few.length).toBeLessThan(60);
    expect(await served(seeded, users, 1)).toEqual(few);
    expect((await admin.api("PATCH", seeded.at, { canary: { share: 0.4 } })).body.canary.share).toBe(0.4);
    await onAllNodes(seeded.at);
    const more = new Set(await served(seeded, users, 2));
    expect(few.filter((user) => !more.has(user))).toEqual([]);
    expect(more.size).toBeGreaterThan(few.length);
    await admin.api("PATCH", seeded.at, { canary: { share: 0 } });
    await onAllNodes(seeded.at);
    expect(await served(seeded, users.slice(0, 20))).toEqual([]);
  });

  test("explain names the canary or the stable target that then serves", async () => {
    const seeded = await seedCanary({ share: 0.5, rollback_if: null });
    const seen = new Set<string>();
    for (const [index, user] of users.slice(0, 12).entries()) {
      const headers = { "X-User-ID": user };
      const { body } = await node(index).api("POST", `/gateways/${seeded.route.gateway}/explain`, {
        path: seeded.route.path,
        headers,
        body: { ...CHAT, model: "assistant" },
      });
      const response = await send(index + 1, seeded, headers);
      expect(response.headers.get("x-gw-canary")).toBe(body.virtual_model.canary);
      const [next] = body.virtual_model.targets.filter((target: { next: boolean }) => target.next);
      expect(next).toMatchObject({
        canary: body.virtual_model.canary === "canary",
        model: response.headers.get("x-gw-model"),
      });
      seen.add(body.virtual_model.canary);
    }
    expect(seen).toEqual(new Set(["canary", "stable"]));
  });

  test("is by user, API key or conversation", async () => {
    const arms = async (seeded: Seeded, requests: [Record<string, string>, object?][]) => {
      const all = requests.map(async ([headers, body], index) =>
        (await send(index, seeded, headers, body)).headers.get("x-gw-canary"),
      );
      return new Set(await Promise.all(all)).size;
    };
    const byKey = await seedCanary({ share: 0.5, by: "api_key", rollback_if: null });
    const { key } = await seedKey(node(0), byKey.route.gateway);
    await onAllNodes(byKey.at);
    const withKey = { "X-GW-API-Key": key };
    const sessions = users.slice(0, 12).map((user) => ({ "X-User-ID": user, "X-Session-Id": user }));
    expect(
      await arms(
        byKey,
        sessions.map((headers) => [{ ...withKey, ...headers }]),
      ),
    ).toBe(1);
    const byConversation = await seedCanary({ share: 0.5, by: "conversation", rollback_if: null });
    expect(
      await arms(
        byConversation,
        sessions.map((headers) => [headers]),
      ),
    ).toBe(2);
    const oneSession = users
      .slice(0, 12)
      .map((user): [Record<string, string>] => [{ "X-User-ID": user, "X-Session-Id": "one" }]);
    expect(await arms(byConversation, oneSession)).toBe(1);
  });

  test("a canary that the API key may not use, and names with a provider, are left to the stable targets", async () => {
    const seeded = await seedCanary({ share: 1, rollback_if: null });
    const { key } = await seedKey(node(0), seeded.route.gateway, { models: ["assistant", "old"] });
    await onAllNodes(seeded.at);
    const response = await send(0, seeded, { "X-GW-API-Key": key });
    expect([response.status, response.headers.get("x-gw-model")]).toEqual([200, "old"]);
    expect((await send(0, seeded)).headers.get("x-gw-model")).toBe("new");
    // A client that names the provider and the model gets these.
    expect((await send(0, seeded, {}, { model: "openai/old" })).headers.get("x-gw-model")).toBe("old");
  });
});

describe("rollback", () => {
  const condition = { error_ratio: 2, min_requests: 12 };
  /** Responds with an error to every n-th request of each provider. */
  const failEvery = (ofStable: number, ofCanary: number) => {
    const counts = [0, 0];
    stable.behave(() => (++counts[0]! % ofStable === 0 ? { status: 500 } : {}));
    tried.behave(() => (++counts[1]! % ofCanary === 0 ? { status: 500 } : {}));
  };
  const isOff = async (index: number, seeded: Seeded) =>
    (await send(index, seeded)).headers.get("x-gw-canary") === null ? true : null;

  test("a canary with doubled errors is off on all nodes, and one revision says why", async () => {
    const seeded = await seedCanary({ share: 0.5, rollback_if: condition });
    failEvery(4, 2);
    // No node alone sees min_requests.
    for (let turn = 0; tried.requestCount < 14 || stable.requestCount < 14; turn++)
      await send(turn, seeded, { "X-User-ID": `user ${turn}` });
    await Promise.all(nodes.map((_, index) => waitFor(() => isOff(index, seeded))));
    const [revision, ...others] = await revisions(seeded);
    expect(others).toEqual([]);
    expect(revision).toMatchObject({
      action: "update",
      resource: "model",
      name: "assistant",
      subject: "gatehouse",
      actor: { type: "gatehouse", id: null, name: "gatehouse" },
    });
    expect(revision!["reason"]).toMatch(/^The canary failed \d+ of \d+ requests .*; error_ratio is 2\.$/);
    const { canary } = (await admin.api("GET", seeded.at)).body;
    expect(canary).toMatchObject({ share: 0, rolled_back: { share: 0.5, reason: revision!["reason"] } });
    const [entry] = (await admin.api("GET", "/audit?actor=gatehouse&limit=1")).body.audit_entries;
    expect(entry).toMatchObject({ action: "update", details: { reason: revision!["reason"] } });
  });

  test("is not made for a canary that fails as often as the others, and needs min_requests of both", async () => {
    const seeded = await seedCanary({ share: 0.5, rollback_if: { error_ratio: 4, min_requests: 12 } });
    failEvery(2, 2);
    for (let turn = 0; turn < 90; turn++) await send(turn, seeded, { "X-User-ID": `user ${turn}` });
    expect(await revisions(seeded)).toEqual([]);
    const alone = await seedCanary({ share: 1, rollback_if: condition });
    tried.behave({ status: 400 });
    for (let turn = 0; turn < 40; turn++) expect((await send(turn, alone)).status).toBe(400);
    expect(await revisions(alone)).toEqual([]);
  });

  test("requests that a game day affects do not count, and are not copied to a mirror", async () => {
    const seeded = await seedCanary({ share: 0.5, rollback_if: condition });
    const { canary, targets } = (await admin.api("GET", seeded.at)).body;
    const [{ upstream }] = targets;
    await admin.api("PATCH", seeded.at, { mirror: { target: { upstream, model: "mirrored" }, share: 1 } });
    const upstreamOfCanary = await admin.api(
      "GET",
      `/gateways/${seeded.route.gateway}/upstreams/${canary.target.upstream}`,
    );
    const { id } = await create(admin, `/gateways/${seeded.route.gateway}/game-days`, {
      name: "drill",
      ends_at: new Date(Date.now() + 3_600_000).toISOString(),
      faults: [{ type: "status", status: 500, target_ids: [upstreamOfCanary.body.targets[0].id] }],
    });
    await onAllNodes(seeded.at);
    let affected = 0;
    for (let turn = 0; turn < 60 || affected < 14; turn++) {
      const { headers } = await send(turn, seeded, { "X-User-ID": `user ${turn}` });
      if (headers.has("x-gw-fault")) affected++;
    }
    expect(affected).toBeGreaterThanOrEqual(14);
    expect((await admin.api("GET", seeded.at)).body.canary).toMatchObject({ share: 0.5, rolled_back: null });
    const models = stable.requests.map((each) => (each.json() as { model: string }).model);
    expect(models).not.toContain("mirrored");
    await admin.api("DELETE", `/gateways/${seeded.route.gateway}/game-days/${id}`);
    await onAllNodes(seeded.at);
    tried.behave({ status: 500 });
    let turn = 0;
    await waitFor(async () => {
      await send(turn, seeded, { "X-User-ID": `user ${++turn}` });
      return isOff(turn, seeded);
    });
    // An injected fault does not reach the provider.
    const [, counted] =
      /failed \d+ of (\d+) requests/.exec(String((await revisions(seeded))[0]!["reason"])) ?? [];
    expect(Number(counted)).toBeLessThanOrEqual(tried.requestCount);
  }, 60_000);

  test("a canary that is slower by first_byte_ratio is off", async () => {
    const seeded = await seedCanary({
      share: 0.5,
      rollback_if: { error_ratio: null, first_byte_ratio: 5, min_requests: 5 },
    });
    tried.behave({ delayMs: 300 });
    for (let turn = 0; turn < 60; turn += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          send(index, seeded, { "X-User-ID": `user ${turn + index}` }),
        ),
      );
    await waitFor(() => isOff(0, seeded));
    expect((await revisions(seeded))[0]!["reason"]).toMatch(/to the first byte.*first_byte_ratio is 5\.$/);
  });

  test("callers are served by the stable targets if the canary fails, and log and metrics name what served", async () => {
    const seeded = await seedCanary({ share: 1, rollback_if: null }, {}, { name: "counted canary" });
    tried.behave({ status: 503 });
    const response = await send(0, seeded);
    expect([response.status, response.headers.get("x-gw-canary")]).toEqual([200, "stable"]);
    const record = await waitFor(async () => {
      const { body } = await node(0).api("GET", `/gateways/${seeded.route.gateway}/requests`);
      return body.requests[0] ?? null;
    });
    expect(record).toMatchObject({ status: 200, model: "old", virtual_model: { canary: "stable" } });
    tried.behave({});
    expect((await send(0, seeded)).headers.get("x-gw-canary")).toBe("canary");
    const lines = await waitFor(async () => {
      const text = await (await fetch(`${node(0).adminUrl}/metrics`)).text();
      const own = text.split("\n").filter((line) => line.startsWith("gatehouse_canary_requests_total"));
      const found = own.filter((line) => line.includes('gateway="counted canary"'));
      return found.length === 2 ? found : null;
    });
    const labels = (by: string) =>
      `gatehouse_canary_requests_total{gateway="counted canary",virtual_model="assistant",served_by="${by}",outcome="complete"} 1`;
    expect(lines.sort()).toEqual([labels("canary"), labels("stable")]);
  });

  test("after a rollback of the configuration, canaries are counted from the start and switched off again", async () => {
    const seeded = await seedCanary({ share: 0.5, rollback_if: condition });
    const [{ revision }] = (await admin.api("GET", "/revisions?limit=1")).body.revisions;
    const path = `/revisions/${revision}/rollback?gateway_id=${seeded.route.gateway}`;
    const rollBack = async () => {
      expect((await admin.api("POST", path)).status).toBe(200);
      await onAllNodes(seeded.at);
    };
    let healthy = false;
    /** More than min_requests for either side. */
    const sendMany = async () => {
      for (const provider of [stable, tried]) provider.reset();
      failEvery(1000, healthy ? 1000 : 2);
      for (let turn = 0; turn < 40; turn++) await send(turn, seeded, { "X-User-ID": `user ${turn}` });
    };
    const untilOff = () => Promise.all(nodes.map((_, index) => waitFor(() => isOff(index, seeded))));
    await sendMany();
    await untilOff();
    healthy = true;
    await rollBack();
    // Old counts would switch it off again during these requests.
    for (let round = 0; round < 2; round++) await sendMany();
    expect(await revisions(seeded)).toHaveLength(1);
    // All nodes have counted for a later version than the one that is restored.
    await admin.api("PATCH", seeded.at, { visible: false });
    await onAllNodes(seeded.at);
    await sendMany();
    await rollBack();
    healthy = false;
    await sendMany();
    await untilOff();
    expect(await revisions(seeded)).toHaveLength(2);
    // A second rollback to the same content changes nothing.
    await rollBack();
    const { body } = await admin.api("GET", seeded.at);
    await rollBack();
    expect((await admin.api("GET", seeded.at)).body).toEqual(body);
  });

  test("the same document keeps a canary off that was switched off; another share switches it on", async () => {
    const seeded = await seedCanary({ share: 1, rollback_if: { error_ratio: 2, min_requests: 1 } });
    const exported = async () => {
      const { body } = await admin.api("GET", "/export", undefined, { Accept: "application/json" });
      const { name } = (await admin.api("GET", `/gateways/${seeded.route.gateway}`)).body;
      return { ...body, gateways: body.gateways.filter((each: { name: string }) => each.name === name) };
    };
    const document = await exported();
    expect(document.gateways[0].models[0].canary).toEqual({
      target: { upstream: "tried", model: "new" },
      share: 1,
      rollback_if: { min_requests: 1 },
    });
    tried.behave({ status: 500 });
    expect((await send(0, seeded)).status).toBe(200);
    await waitFor(() => isOff(0, seeded));
    const off = (await admin.api("GET", seeded.at)).body.canary;
    expect((await exported()).gateways[0].models[0].canary).toMatchObject({
      share: 0,
      rolled_back: off.rolled_back,
    });
    const applied = await admin.api("POST", "/apply", document);
    expect(applied.body.changes.filter(({ action }: { action: string }) => action !== "none")).toEqual([]);
    expect(applied.body.warnings).toContainEqual({
      path: "gateways[0].models[0].canary.share",
      message: `the gateway has switched the canary off: ${off.rolled_back.reason}`,
    });
    document.gateways[0].models[0].canary.share = 0.9;
    await admin.api("POST", "/apply", document);
    expect((await admin.api("GET", seeded.at)).body.canary).toMatchObject({ share: 0.9, rolled_back: null });
  });
});

test("a canary is validated: share, ratios, target and upstream", async () => {
  const { route, at } = await seedCanary({ share: 0.5 });
  const { canary } = (await admin.api("GET", at)).body;
  expect(canary).toMatchObject({
    by: "user",
    rollback_if: { error_ratio: 2, first_byte_ratio: null, min_requests: 100 },
    rolled_back: null,
  });
  const problems = async (change: object) => {
    const response = await admin.api("PATCH", at, { canary: change });
    expectError(response, 400, "validation_failed");
    return response.body.details.map(({ path }: { path: string }) => path);
  };
  expect(await problems({ share: 1.1 })).toEqual(["canary.share"]);
  expect(await problems({ by: "ip" })).toEqual(["canary.by"]);
  expect(await problems({ rollback_if: { error_ratio: 0.5 } })).toEqual(["canary.rollback_if.error_ratio"]);
  expect(await problems({ rollback_if: { min_requests: 0 } })).toEqual(["canary.rollback_if.min_requests"]);
  expect(await problems({ target: { upstream: route.upstream, model: "old" } })).toEqual(["canary.target"]);
  expect(await problems({ target: { upstream: "unknown" } })).toEqual(["canary.target.upstream"]);
  expect(await problems({ other: 1 })).toEqual(["canary.other"]);
  const used = await admin.api("DELETE", `/gateways/${route.gateway}/upstreams/${canary.target.upstream}`);
  expectError(used, 409, "in_use");
});
