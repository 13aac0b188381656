// An administrator who does not know a stored secret cannot have it sent anywhere else: not with its mask, and not by a rollback.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { create, expectError } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);
const gatehouse = await useGatehouse();

type Body = ApiResponse["body"];

const HOME = "https://models.example.com";
const EVIL = "https://evil.example.com";
const SECRET = "Bearer sk-stored-secret-1234";
const credentials = { header_name: "Authorization", header_value: SECRET };
const home = { provider: "openai", base_url: HOME, credentials };
let serial = 0;

/** Creates an upstream and returns it as the API shows it, with its path. */
async function seed(...targets: readonly Body[]): Promise<{ gateway: string; path: string; shown: Body }> {
  const { id: gateway } = await create(gatehouse, "/gateways", { name: `gateway ${++serial}` });
  const shown = await create(gatehouse, `/gateways/${gateway}/upstreams`, { name: "models", targets });
  return { gateway, path: `/gateways/${gateway}/upstreams/${shown.id}`, shown };
}

function expectRequired(response: ApiResponse, path: string, field: string): void {
  expectError(response, 400, "credential_required");
  expect(response.body.details).toEqual([{ path, message: expect.stringContaining(field) }]);
  expect(response.body.error).toContain("target 1 (");
  expect(JSON.stringify(response.body)).not.toContain("stored-secret");
}

async function latestRevision(): Promise<number> {
  return (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision as number;
}

const CHANGES: readonly (readonly [field: string, change: Body])[] = [
  ["base_url", { base_url: EVIL }],
  ["base_url", { base_url: null }],
  ["base_url", { base_url: `${HOME}.evil.example.com` }],
  ["base_url", { base_url: "http://models.example.com" }],
  ["base_url", { base_url: `${HOME}/another-tenant` }],
  ["provider", { provider: "mistral" }],
  ["headers.host", { headers: { Host: "evil.example.com" } }],
  // A provider may return these to the client.
  ["credentials.header_name", { credentials: { header_name: "X-Request-Id", header_value: "Bea***1234" } }],
];

describe("a masked credential", () => {
  test.each(CHANGES)("is not sent to another place: %s, %j", async (field, change) => {
    const { path, shown } = await seed(home);
    const target = { ...shown.targets[0], ...change };
    const { id: removed, ...anonymous } = target;
    expect(removed).toBeString();
    for (const targets of [[target], [anonymous]]) {
      const where = "targets[0].credentials.header_value";
      expectRequired(await gatehouse.api("PUT", path, { ...shown, targets }), where, field);
      expectRequired(await gatehouse.api("PATCH", path, { targets }), where, field);
    }
    expect((await gatehouse.api("GET", path)).body.targets).toEqual(shown.targets);
    const changed = { ...target.credentials, header_value: SECRET };
    const again = [{ ...target, credentials: changed }];
    expect((await gatehouse.api("PATCH", path, { targets: again })).status).toBe(200);
  });

  test("is kept with any other change, and with the base URL of the provider written out", async () => {
    const { path, shown } = await seed({ ...home, base_url: null });
    const target = {
      ...shown.targets[0],
      base_url: "https://api.openai.com",
      path: "",
      weight: 7,
      models: ["m"],
      headers: { "X-Team": "blue" },
    };
    expect((await gatehouse.api("PUT", path, { ...shown, targets: [target] })).status).toBe(200);
  });

  test("does not move to another target of the upstream, in any order and with any id", async () => {
    const evil = {
      provider: "openai",
      base_url: EVIL,
      credentials: { ...credentials, header_value: "short" },
    };
    const { path, shown } = await seed(
      { ...home, credentials: { ...credentials, header_value: "tiny" } },
      evil,
    );
    const [first, second] = shown.targets;
    const { id: firstId, ...anonymous } = first;
    const attempts: Body[][] = [
      [{ ...second, id: firstId }, first],
      [{ ...second, id: firstId }],
      [{ ...second, id: undefined }, anonymous],
      [first, second, { ...anonymous, base_url: EVIL }],
      [{ ...anonymous, base_url: EVIL }, second],
    ];
    for (const targets of attempts) {
      const { status } = await gatehouse.api("PATCH", path, { targets });
      expect([targets, status]).toEqual([targets, 400]);
    }
    expect((await gatehouse.api("GET", path)).body.targets).toEqual(shown.targets);
  });

  test("does not move to another upstream or gateway", async () => {
    const { gateway, shown } = await seed(home);
    const { gateway: other } = await seed({ provider: "openai" });
    for (const id of [gateway, other]) {
      const body = { name: "copy", targets: [shown.targets[0]] };
      expectError(await gatehouse.api("POST", `/gateways/${id}/upstreams`, body), 400, "validation_failed");
    }
  });

  test("a secret header is treated alike, and does not become another header", async () => {
    const stored = {
      provider: "openai",
      base_url: HOME,
      headers: { "X-Api-Key": "stored-secret-0123456789" },
    };
    const { path, shown } = await seed(stored);
    const mask = "sto***6789";
    const [target] = shown.targets;
    const change = (fields: object) => gatehouse.api("PATCH", path, { targets: [{ ...target, ...fields }] });
    expectRequired(await change({ base_url: EVIL }), "targets[0].headers.X-Api-Key", "base_url");
    expectRequired(await change({ provider: "vllm" }), "targets[0].headers.X-Api-Key", "provider");
    const renamed = await change({ headers: { "X-Echo-Token": mask } });
    expectRequired(renamed, "targets[0].headers.X-Echo-Token", "headers");
    const asCredential = { header_name: "X-Api-Key", header_value: mask };
    const moved = await change({ headers: {}, credentials: asCredential });
    expectRequired(moved, "targets[0].credentials.header_value", "secret");
  });
});

describe("apply", () => {
  test("with a mask does not send a stored secret to another place", async () => {
    const { shown, gateway } = await seed(home);
    const { body: named } = await gatehouse.api("GET", `/gateways/${gateway}`);
    const document = (change: object, header_value = "Bea***1234") => {
      const target = { provider: "openai", base_url: HOME, credentials: { ...credentials, header_value } };
      const upstreams = [{ name: shown.name, targets: [{ ...target, ...change }] }];
      return { version: 1, gateways: [{ name: named.name, upstreams }] };
    };
    const where = "gateways[0].upstreams[0].targets[0].credentials.header_value";
    for (const query of ["", "?dry_run=true"]) {
      const api = (body: object) => gatehouse.api("POST", `/apply${query}`, body);
      expectRequired(await api(document({ base_url: EVIL })), where, "base_url");
      expectRequired(await api(document({ provider: "vllm" })), where, "provider");
      expect((await api(document({ base_url: EVIL }, "***"))).status).toBe(400);
    }
    expect((await gatehouse.api("POST", "/apply", document({ weight: 3 }))).status).toBe(200);
    expect((await gatehouse.api("POST", "/apply", document({ base_url: EVIL }, SECRET))).status).toBe(200);
  });
});

describe("a rollback", () => {
  /** An upstream whose target was at EVIL with the secret, until an operator moved it. Returns the revision at EVIL. */
  async function movedAway(again = SECRET) {
    const { gateway, path, shown } = await seed({ ...home, base_url: EVIL });
    const revision = await latestRevision();
    const [target] = shown.targets;
    const moved = { ...target, base_url: HOME, credentials: { ...credentials, header_value: again } };
    expect((await gatehouse.api("PATCH", path, { targets: [moved] })).status).toBe(200);
    return { gateway, path, shown, revision, moved };
  }
  const rollBack = (revision: number) => gatehouse.api("POST", `/revisions/${revision}/rollback`);

  test("that would send a stored secret to another place is rejected, and changes nothing", async () => {
    const { path, shown, revision } = await movedAway();
    const { body: before } = await gatehouse.api("GET", path);
    const response = await rollBack(revision);
    expectRequired(response, `upstreams/${shown.id}.targets[0].base_url`, "base_url");
    expect((await gatehouse.api("GET", path)).body).toEqual(before);
  });

  test("is rejected also after the secret was replaced, or the target, upstream or gateway deleted", async () => {
    const replaced = await movedAway("Bearer sk-another-secret-5678");
    expectError(await rollBack(replaced.revision), 400, "credential_required");
    const removed = await movedAway();
    const other = { targets: [{ provider: "openai" }] };
    expect((await gatehouse.api("PATCH", removed.path, other)).status).toBe(200);
    expectError(await rollBack(removed.revision), 400, "credential_required");
    const deleted = await movedAway();
    expect((await gatehouse.api("DELETE", deleted.path)).status).toBe(204);
    expectError(await rollBack(deleted.revision), 400, "credential_required");
    const cascaded = await movedAway();
    await gatehouse.api("DELETE", `/gateways/${cascaded.gateway}?cascade=true`);
    expectError(await rollBack(cascaded.revision), 400, "credential_required");
    // A made-up credential at the old place does not help either.
    const faked = await movedAway();
    const bogus = {
      ...faked.shown.targets[0],
      credentials: { ...credentials, header_value: "bogus-bogus-bogus" },
    };
    expect((await gatehouse.api("PATCH", faked.path, { targets: [bogus] })).status).toBe(200);
    expectError(await rollBack(faked.revision), 400, "credential_required");
  });

  test("is possible after the target was moved back with its secret", async () => {
    const { path, shown, revision } = await movedAway();
    const [target] = shown.targets;
    const back = { ...target, weight: 5, credentials };
    expect((await gatehouse.api("PATCH", path, { targets: [back] })).status).toBe(200);
    expect((await rollBack(revision)).status).toBe(200);
    expect((await gatehouse.api("GET", path)).body.targets).toEqual([target]);
  });

  test("restores a secret that always was sent to the same place, also of a deleted upstream", async () => {
    const { path, shown } = await seed(home);
    const revision = await latestRevision();
    const [target] = shown.targets;
    const fresh = {
      ...target,
      weight: 9,
      credentials: { ...credentials, header_value: "Bearer sk-fresh-key-9999" },
    };
    await gatehouse.api("PATCH", path, { targets: [fresh] });
    expect((await rollBack(revision)).status).toBe(200);
    expect((await gatehouse.api("GET", path)).body.targets).toEqual([target]);
    await gatehouse.api("DELETE", path);
    expect((await rollBack(revision)).status).toBe(200);
    expect((await gatehouse.api("GET", path)).body.targets).toEqual([target]);
  });
});

test("the path of a target does not leave its base_url", async () => {
  const { path, shown } = await seed({ ...home, base_url: `${HOME}/tenants/mine` });
  for (const escaping of ["/../other", "/%2e%2E/other", "/a/..%2fother", "/..;/other", "/a\\..\\other"]) {
    const response = await gatehouse.api("PATCH", path, {
      targets: [{ ...shown.targets[0], path: escaping }],
    });
    expectError(response, 400, "validation_failed");
  }
});
