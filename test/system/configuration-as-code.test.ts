// Configuration as code: export and apply in the Admin API.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  callRaw,
  create,
  createChain,
  expectError,
  expectProblemsAt,
  onlyMessage,
  STORES,
} from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";

setDefaultTimeout(60_000);

const upstream = (fields: object = {}) => ({
  name: "models",
  targets: [
    {
      provider: "openai",
      credentials: { header_name: "Authorization", header_value: "Bearer sk-abcdefghijklmnop" },
    },
  ],
  ...fields,
});
const WHOLE = {
  upstreams: [upstream()],
  services: [{ name: "chat", upstream: "models" }],
  rules: [{ service: "chat", path: "/v1/chat", methods: ["POST"] }],
};

async function exported(gatehouse: GatehouseProcess): Promise<ApiResponse["body"]> {
  return (await gatehouse.api("GET", "/export", undefined, { Accept: "application/json" })).body;
}

const changesIn = ({ body }: ApiResponse) =>
  (body.changes as { action: string; resource: string; name: string }[])
    .filter(({ action }) => action !== "none")
    .map(({ action, resource, name }) => `${action} ${resource} ${name}`);

describe.each(STORES)("documents over %s", (_, environment) => {
  let gatehouse: GatehouseProcess;
  let names = 0;
  beforeAll(async () => {
    gatehouse = await startGatehouseProcess({ env: await environment() });
  });
  afterAll(() => gatehouse.stop());

  const apply = (document: unknown, query = "") => gatehouse.api("POST", `/apply${query}`, document);
  const gatewayOf = async (name: string) =>
    (await gatehouse.api("GET", `/gateways?name=${encodeURIComponent(name)}`)).body.gateways[0];
  const partsOf = async (name: string, kind: string) =>
    (await gatehouse.api("GET", `/gateways/${(await gatewayOf(name)).id}/${kind}`)).body[kind];
  const revision = async () => (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];

  test("an export is YAML, or JSON if requested, with an ETag", async () => {
    await createChain(gatehouse, `exported ${++names}`);
    const get = (headers: Record<string, string>) =>
      fetch(`${gatehouse.adminUrl}/api/v1/export`, {
        headers: { Authorization: `Bearer ${gatehouse.token}`, ...headers },
      });
    const yaml = await get({});
    expect(yaml.headers.get("content-type")).toStartWith("application/yaml");
    const text = await yaml.text();
    expect(text).toStartWith("# ");
    expect(text).toContain("_MODELS_OPENAI_KEY  gateway exported");
    expect(text).not.toContain("sk-abcdefgh");
    const json = await get({ Accept: "application/json" });
    expect(json.headers.get("content-type")).toStartWith("application/json");
    expect(Bun.YAML.parse(text)).toEqual(await json.json());
    expect(json.headers.get("vary")).toBe("Accept");
    expect((await get({ "If-None-Match": yaml.headers.get("etag") ?? "" })).status).toBe(304);
    expect((await get({ "If-None-Match": json.headers.get("etag") ?? "" })).status).toBe(200);
    expect((await fetch(`${gatehouse.adminUrl}/api/v1/export`)).status).toBe(401);
  });

  test("one gateway is exported without the others and without prices", async () => {
    const { gateway } = await createChain(gatehouse, `alone ${++names}`);
    const { status, body } = await gatehouse.api("GET", `/export?gateway_id=${gateway}`, undefined, {
      Accept: "application/json",
    });
    expect([status, body.prices]).toEqual([200, undefined]);
    expect(body.gateways.map(({ name }: { name: string }) => name)).toEqual([`alone ${names}`]);
    expectError(await gatehouse.api("GET", "/export?gateway_id=nothing"), 404, "not_found");
  });

  test("prices are exported, applied and restored; a document without them leaves them unchanged", async () => {
    const price = (input: number) => ({ model: "gpt-*", input_per_million: input, output_per_million: 2 });
    const prices = async () => (await gatehouse.api("GET", "/prices")).body;
    const builtin = await prices();
    expect(await exported(gatehouse)).not.toHaveProperty("prices");
    const created = await apply({ gateways: [], prices: [price(1)] });
    expect(changesIn(created)).toEqual(["create prices prices"]);
    expect(await prices()).toMatchObject({ builtin: false, prices: [price(1)] });
    const document = await exported(gatehouse);
    expect(document.prices).toEqual([price(1)]);
    expect(changesIn(await apply(document))).toEqual([]);
    expect(changesIn(await apply({ gateways: [] }, "?prune=true"))).toEqual([]);

    const tried = await apply({ gateways: [], prices: [price(3)] }, "?dry_run=true");
    expect(tried.body.changes).toEqual([
      {
        ...{ action: "update", resource: "prices", gateway: "", name: "prices" },
        diff: [{ path: "prices[0].input_per_million", before: 1, after: 3 }],
      },
    ]);
    expect((await prices()).prices).toEqual([price(1)]);
    await apply({ gateways: [], prices: [price(3)] });
    const latest = await revision();
    expect(latest).toMatchObject({ action: "apply", resource: "prices" });
    await gatehouse.api("POST", `/revisions/${latest.revision - 1}/rollback`);
    expect((await prices()).prices).toEqual([price(1)]);
    expectProblemsAt(await apply({ gateways: [], prices: [price(-1)] }), "prices[0].input_per_million");
    expect(changesIn(await apply({ gateways: [], prices: null }))).toEqual(["delete prices prices"]);
    expect(await prices()).toEqual(builtin);
  });

  test("API keys of the same name are exported and applied, distinguished by their hashes", async () => {
    const name = `same key names ${++names}`;
    await apply({ gateways: [{ name, ...WHOLE }] });
    const { id: subject } = await gatewayOf(name);
    const keys: string[] = [];
    for (let count = 0; count < 2; count++)
      keys.push((await gatehouse.api("POST", "/iam/api-keys", { name: "ci", subject })).body.id);
    const read = async (id: string) => (await gatehouse.api("GET", `/iam/api-keys/${id}`)).body;
    const document = await exported(gatehouse);
    const gateway = document.gateways.find((each: { name: string }) => each.name === name);
    expect(gateway.api_keys).toMatchObject([{ name: "ci" }, { name: "ci" }]);
    expect(changesIn(await apply({ gateways: [gateway] }, "?prune=true"))).toEqual([]);

    const [first, second] = gateway.api_keys;
    const expires_at = "2999-01-01T00:00:00.000Z";
    const changed = { ...gateway, api_keys: [{ ...second, expires_at }, first] };
    expect(changesIn(await apply({ gateways: [changed] }))).toEqual(["update api_key ci"]);
    expect([(await read(keys[0]!)).expires_at, (await read(keys[1]!)).expires_at]).toEqual([
      null,
      expires_at,
    ]);
    await apply({ gateways: [{ ...gateway, api_keys: [second] }] }, "?prune=true");
    expect([(await read(keys[0]!)).active, (await read(keys[1]!)).active]).toEqual([false, true]);

    const both = [{ name: "ci", key_sha256: second.key_sha256 }, { name: "ci" }];
    const rejected = await apply({ gateways: [{ ...gateway, api_keys: both }] });
    expectProblemsAt(rejected, "gateways[0].api_keys[1].name");
    expect(onlyMessage(rejected)).toContain("key_sha256");
  });

  test("labels and models of API keys are exported, applied, compared by field, and validated", async () => {
    const name = `labels ${++names}`;
    const labels = { cost_center: "42", team: "search" };
    const key = { name: "ci", labels, models: ["gpt-*", "o3"] };
    const withKey = (fields: object) => ({
      gateways: [{ name, ...WHOLE, api_keys: [{ ...key, ...fields }] }],
    });
    await apply(withKey({}));
    const { id: subject } = await gatewayOf(name);
    const read = async () =>
      (await gatehouse.api("GET", `/iam/api-keys?subject=${subject}`)).body.api_keys[0];
    expect(await read()).toMatchObject(key);
    const exportedKey = async () => {
      const { gateways } = await exported(gatehouse);
      return gateways.find((each: { name: string }) => each.name === name).api_keys[0];
    };
    expect(await exportedKey()).toMatchObject(key);
    // The order of labels has no meaning.
    expect(changesIn(await apply(withKey({ labels: { team: "search", cost_center: "42" } })))).toEqual([]);
    const changed = await apply(withKey({ labels: { team: "ads" }, models: null }));
    expect(changed.body.changes.at(-1).diff).toEqual(
      expect.arrayContaining([
        { path: "labels.team", before: "search", after: "ads" },
        { path: "labels.cost_center", before: "42", after: null },
      ]),
    );
    expect(await read()).toMatchObject({ labels: { team: "ads" }, models: null });
    await apply(withKey({ labels: undefined, models: undefined }));
    expect(Object.keys(await exportedKey())).toEqual(["name", "key_sha256", "prefix"]);
    expectProblemsAt(await apply(withKey({ labels: { Team: "x" } })), "gateways[0].api_keys[0].labels.Team");
    expectProblemsAt(await apply(withKey({ models: [] })), "gateways[0].api_keys[0].models");
    await gatehouse.api("POST", `/revisions/${changed.body.revision - 1}/rollback`);
    expect(await read()).toMatchObject(key);
  });

  test("a document is applied in one revision and active at once; applying it again changes nothing", async () => {
    const name = `new ${++names}`;
    const document = {
      gateways: [{ name, ...WHOLE, api_keys: [{ name: "mobile", policies: ["/v1/chat"] }] }],
    };
    const before = (await revision()).revision as number;
    const dryRun = await apply(document, "?dry_run=true");
    expect(dryRun.status).toBe(200);
    expect(dryRun.body.revision).toBe(before);
    expect(JSON.stringify(dryRun.body)).not.toContain("gw_");
    expect(await gatewayOf(name)).toBeUndefined();
    const applied = await apply(document);
    expect(applied.body.revision).toBe(before + 1);
    expect(changesIn(applied)).toEqual([
      `create gateway ${name}`,
      "create upstream models",
      "create service chat",
      "create rule POST /v1/chat",
      "create api_key mobile",
    ]);
    expect(changesIn(dryRun)).toEqual(changesIn(applied));
    expect(await revision()).toMatchObject({
      action: "apply",
      subject: "admin",
      gateway_id: (await gatewayOf(name)).id,
    });
    const [{ key }] = applied.body.changes.filter((change: { key?: string }) => change.key !== undefined);
    const call = (path: string) => fetch(gatehouse.proxyUrl + path, { headers: { "X-GW-API-Key": key } });
    expect((await call("/v1/models")).status).toBe(200);
    expect((await call("/v1/chat")).status).toBe(405);
    const again = await apply(document);
    expect(changesIn(again)).toEqual([]);
    expect(again.body.changes).toHaveLength(5);
    expect(again.body.revision).toBe(before + 1);
    // A rollback undoes all of it, including the key.
    await gatehouse.api("POST", `/revisions/${before}/rollback`);
    expect(await gatewayOf(name)).toBeUndefined();
    expect((await call("/v1/models")).status).toBe(401);
  });

  test("changes are reported by field; ids, counters and stored credentials stay", async () => {
    const name = `changed ${++names}`;
    await apply({ gateways: [{ name, ...WHOLE }] });
    const [[stored], [rule]] = [await partsOf(name, "upstreams"), await partsOf(name, "rules")];
    const document = (await exported(gatehouse)).gateways.find(
      (each: { name: string }) => each.name === name,
    );
    expect(document.upstreams[0].targets[0].credentials.header_value).toMatch(/^\$\{\w+:-Bea\*\*\*mnop\}$/);
    document.require_api_key = true;
    document.upstreams[0].targets[0].weight = 5;
    document.upstreams[0].targets.unshift({ provider: "mistral" });
    document.rules[0].name = "now with a name";
    const applied = await apply({ gateways: [document] });
    expect(changesIn(applied)).toEqual([
      `update gateway ${name}`,
      "update upstream models",
      "update rule now with a name",
    ]);
    const diffOf = (resource: string) =>
      applied.body.changes.find((change: { resource: string }) => change.resource === resource).diff;
    expect(diffOf("gateway")).toEqual([{ path: "require_api_key", before: false, after: true }]);
    expect(diffOf("rule")).toEqual([{ path: "name", before: null, after: "now with a name" }]);
    const [changed] = await partsOf(name, "upstreams");
    expect(changed.targets[1]).toEqual({ ...stored.targets[0], weight: 5 });
    expect((await partsOf(name, "rules"))[0].id).toBe(rule.id);
    // A new credential with the same mask is a change. The report shows neither credential.
    document.upstreams[0].targets[1].credentials.header_value = "Bearer sk-zzzzzzzzzzzzmnop";
    const rekeyed = await apply({ gateways: [document] });
    expect(changesIn(rekeyed)).toEqual(["update upstream models"]);
    expect(JSON.stringify(rekeyed.body)).not.toContain("zzzz");
  });

  test("records that are not in the document stay; prune deletes them, only in gateways of the document", async () => {
    const [name, other] = [`pruned ${++names}`, `other ${names}`];
    await apply({ gateways: [{ name: other, ...WHOLE }] });
    const api_keys = [{ name: "kept" }, { name: "dropped", policies: ["/v1/chat"] }];
    await apply({ gateways: [{ name, ...WHOLE, api_keys }] });
    const smaller = { name, upstreams: [upstream({ name: "other" })] };
    expect(changesIn(await apply({ gateways: [smaller] }))).toEqual(["create upstream other"]);
    expect(await partsOf(name, "upstreams")).toHaveLength(2);
    // API keys that are not in the document keep their rules in use.
    const held = await apply({ gateways: [smaller] }, "?prune=true");
    expectError(held, 409, "in_use");
    expect(held.body.error).toContain("dropped");
    expect(await partsOf(name, "rules")).toHaveLength(1);
    const pruned = await apply({ gateways: [{ ...smaller, api_keys: [{ name: "kept" }] }] }, "?prune=true");
    expect(changesIn(pruned)).toEqual([
      "delete api_key dropped",
      "delete rule POST /v1/chat",
      "delete service chat",
      "delete upstream models",
    ]);
    const keys = (await gatehouse.api("GET", `/iam/api-keys?subject=${(await gatewayOf(name)).id}`)).body
      .api_keys;
    expect(keys.map((key: { name: string; active: boolean }) => [key.name, key.active])).toEqual([
      ["kept", true],
      ["dropped", false],
    ]);
    expect(await partsOf(other, "rules")).toHaveLength(1);
  });

  test("prune_gateways deletes the gateways that the document does not name, with all their records", async () => {
    const own = await startGatehouseProcess({ env: await environment() });
    try {
      const applyTo = (document: unknown, query = "") => own.api("POST", `/apply${query}`, document);
      const gatewayNames = async () =>
        (await own.api("GET", "/gateways")).body.gateways.map(({ name }: { name: string }) => name);
      const key_sha256 = "ab".repeat(32);
      const api_keys = [{ name: "moved", key_sha256 }];
      await applyTo({
        gateways: [
          { name: "kept", ...WHOLE },
          { name: "dropped", subdomain: "shop", ...WHOLE, api_keys },
        ],
      });
      // The new gateway takes over the subdomain and the key of the one that is deleted.
      const document = { gateways: [{ name: "kept" }, { name: "new", subdomain: "shop", api_keys }] };
      const expected = ["delete gateway dropped", "create gateway new", "create api_key moved"];
      expectError(await applyTo(document, "?prune=true"), 409, "duplicate");
      const dry = await applyTo(document, "?prune_gateways=true&dry_run=true");
      expect(changesIn(dry)).toEqual(expected);
      expect(await gatewayNames()).toEqual(["kept", "dropped"]);
      expect(changesIn(await applyTo(document, "?prune_gateways=true"))).toEqual(expected);
      expect(await gatewayNames()).toEqual(["kept", "new"]);
      // Records inside the gateways of the document are deleted with prune only.
      const { id } = (await own.api("GET", "/gateways?name=kept")).body.gateways[0];
      expect((await own.api("GET", `/gateways/${id}/rules`)).body.count).toBe(1);
      expect(changesIn(await applyTo(document, "?prune_gateways=true"))).toEqual([]);
    } finally {
      await own.stop();
    }
  });

  test("gateways of one document can swap their subdomains", async () => {
    const [one, two] = [`one ${++names}`, `two ${names}`];
    const [left, right] = [`left-${names}`, `right-${names}`];
    await apply({
      gateways: [
        { name: one, subdomain: left },
        { name: two, subdomain: right },
      ],
    });
    const swapped = await apply({
      gateways: [
        { name: one, subdomain: right },
        { name: two, subdomain: left },
      ],
    });
    expect(changesIn(swapped)).toEqual([`update gateway ${one}`, `update gateway ${two}`]);
    expect([(await gatewayOf(one)).subdomain, (await gatewayOf(two)).subdomain]).toEqual([right, left]);
    const taken = await apply({ gateways: [{ name: `three ${names}`, subdomain: left }] });
    expectError(taken, 409, "duplicate");
    expect(taken.body.details[0].path).toBe("gateways[0].subdomain");
  });

  test("a key that is given twice is rejected with its lines", async () => {
    const rejected = await callRaw(gatehouse, "POST", "/api/v1/apply", {
      headers: { "Content-Type": "application/yaml" },
      body: "gateways:\n  - name: a\n    name: b\n",
    });
    expectProblemsAt(rejected, "gateways[0].name");
    expect(rejected.body.details[0]).toMatchObject({ line: 3, column: 5 });
  });

  test("a document is rejected as a whole, with the path of each problem", async () => {
    const before = await exported(gatehouse);
    const valid = { name: `valid ${++names}` };
    const expectRejected = async (gateway: object, ...paths: string[]) =>
      expectProblemsAt(
        await apply({ gateways: [valid, { name: "bad", ...gateway }] }),
        ...paths.map((path) => `gateways[1].${path}`),
      );
    await expectRejected(
      { upstreams: [{ name: "u", targets: [] }], subdomain: "!" },
      "subdomain",
      "upstreams[0].targets",
    );
    await expectRejected({ services: [{ name: "s", upstream: "nowhere" }] }, "services[0].upstream");
    await expectRejected(
      { subdomain: "!", services: [{ name: "s", upstream: "nowhere" }] },
      "subdomain",
      "services[0].upstream",
    );
    await expectRejected(
      { upstreams: [{ name: "u", targets: [{ provider: "of-my-own" }] }] },
      "upstreams[0].targets[0].base_url",
    );
    await expectRejected(
      { required_plugins: [{ name: "no_such", stage: "pre_request" }] },
      "required_plugins[0].name",
    );
    const credentials = (header_value: string) => ({
      upstreams: [
        { name: "u", targets: [{ provider: "openai", credentials: { header_name: "A", header_value } }] },
      ],
    });
    const place = "upstreams[0].targets[0].credentials.header_value";
    await expectRejected(credentials("Bea***mnop"), place);
    await expectRejected(credentials("${NOT_RESOLVED}"), place);
    await expectRejected(credentials("${NO_REFERENCE"), place);
    await expectRejected(
      { api_keys: [{ name: "k", expires_at: "2001-01-01T00:00:00Z" }] },
      "api_keys[0].expires_at",
    );
    await expectRejected({ upstreams: [upstream({ id: "x" })] }, "upstreams[0].id");
    expectProblemsAt(await apply({ gateways: [valid, valid] }), "gateways[1].name");
    expectProblemsAt(await apply({ gateway: [] }), "gateways", "gateway");
    expectProblemsAt(await apply({ version: 2, gateways: [] }), "version");
    expect(await exported(gatehouse)).toEqual(before);
  });

  test("bodies must be YAML or JSON, and one object", async () => {
    const send = (type: string, body: string) =>
      callRaw(gatehouse, "POST", "/api/v1/apply?dry_run=true", { headers: { "Content-Type": type }, body });
    for (const type of [
      "application/yaml",
      "text/yaml; charset=utf-8",
      "application/x-yaml",
      "application/json",
    ])
      expect((await send(type, '{"gateways": [{"name": "x"}]}')).status).toBe(200);
    expect((await send("application/yaml", "gateways:\n  - name: x # a comment\n")).status).toBe(200);
    expectError(await send("application/yaml", "gateways:\n  - name: [x\n"), 400, "invalid_yaml");
    expectError(await send("application/yaml", "a\n---\nb"), 400, "invalid_yaml");
    expectError(await send("application/json", "gateways: []"), 400, "invalid_json");
    expectError(await send("text/plain", "gateways: []"), 415, "unsupported_media_type");
    expectError(
      await gatehouse.api("POST", "/apply?dry_run=yes", { gateways: [] }),
      400,
      "validation_failed",
    );
    const elsewhere = await callRaw(gatehouse, "POST", "/api/v1/gateways", {
      headers: { "Content-Type": "application/yaml" },
      body: "name: x",
    });
    expectError(elsewhere, 415, "unsupported_media_type");
  });

  test("large bodies are parsed in a worker thread, with the same results", async () => {
    const done = async () => {
      const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
      return Number(/gatehouse_off_loop_tasks_total\{result="completed"\} (\d+)/.exec(metrics)?.[1] ?? 0);
    };
    const send = (type: string, body: string) =>
      callRaw(gatehouse, "POST", "/api/v1/apply?dry_run=true", { headers: { "Content-Type": type }, body });
    const before = await done();
    const comment = `# ${"x".repeat(40_000)}\n`;
    const changed = await send("application/yaml", `gateways:\n  - name: x\n${comment}`);
    expect(changed.body.changes).toHaveLength(1);
    const space = " ".repeat(300_000);
    expect((await send("application/json", `{"gateways": [${space}{"name": "x"}]}`)).status).toBe(200);
    expect(await done()).toBe(before + 2);
    const twice = await send("application/yaml", `gateways:\n  - name: x\n${comment}    name: y\n`);
    expect(onlyMessage(twice)).toContain("is given twice, in line 2 and in line 4");
    expectError(await send("application/yaml", `${comment}gateways:\n  - name: [x\n`), 400, "invalid_yaml");
    expectError(await send("application/json", `{"gateways": [${space}`), 400, "invalid_json");
  });

  test("50 problems of a document with very many are reported", async () => {
    const many = (count: number, entry: object) => Array.from({ length: count }, () => entry);
    const rejected = async (document: object) => {
      const response = await apply(document, "?dry_run=true");
      expectError(response, 400, "validation_failed");
      return response.body.details as { path: string; message: string }[];
    };
    const invalid = await rejected({ gateways: [{ name: "x", rules: many(2000, {}), services: [{}] }] });
    expect(invalid).toHaveLength(50);
    const unset = await rejected({ gateways: many(200, { name: "${NAME}" }) });
    expect(unset).toHaveLength(50);
    const missing = { service: "absent", path: "/a", methods: ["POST"] };
    const unlinked = await rejected({ gateways: [{ name: "x", rules: many(2000, missing) }] });
    expect(unlinked).toHaveLength(50);
    const tooLong = await rejected({ gateways: many(10_001, {}) });
    expect(tooLong).toEqual([{ path: "gateways", message: "must not contain more than 10000 gateways" }]);
    const fields = Object.fromEntries(many(100_001, {}).map((_, index) => [index, 0]));
    const tooMany = { path: "gateways[0].x", message: "must not have more than 100000 entries" };
    expect(await rejected({ gateways: [{ name: "x", x: fields }] })).toEqual([tooMany]);
  });
});

describe("names that are not unique", () => {
  test("make a document ambiguous: export and apply report them", async () => {
    const gatehouse = await startGatehouseProcess();
    try {
      const chain = await createChain(gatehouse, "twin");
      const rule = { service_id: chain.service, path: "/v1/x", methods: ["POST"] };
      await create(gatehouse, `/gateways/${chain.gateway}/rules`, rule);
      expect((await gatehouse.api("GET", "/export", undefined, { Accept: "application/json" })).status).toBe(
        200,
      );
      await create(gatehouse, `/gateways/${chain.gateway}/rules`, { ...rule, priority: 3 });
      await create(gatehouse, "/gateways", { name: "twin" });
      const rejected = await gatehouse.api("GET", "/export");
      expectError(rejected, 409, "duplicate");
      expect(rejected.body.details.map((detail: { path: string }) => detail.path)).toEqual([
        "gateways",
        "rules",
      ]);
      expect(rejected.body.details[1].message).toContain("POST /v1/x");
      const applied = await gatehouse.api("POST", "/apply", { gateways: [{ name: "twin" }] });
      expectProblemsAt(applied, "gateways[0].name");
      expect(onlyMessage(applied)).toContain('2 gateways named "twin"');
    } finally {
      await gatehouse.stop();
    }
  });
});
