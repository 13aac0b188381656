// The Admin API over real HTTP: the specification's eleven endpoints (section 4), and the contract's section 3
// for every resource.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  callRaw,
  chunked,
  create,
  createChain,
  expectError,
  expectProblemsAt,
  onlyMessage,
  RESOURCES,
  STORES,
  without,
  type Chain,
  type RawBody,
} from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  untilPrinted,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const RFC_3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const API_KEY = /^gw_[A-Za-z0-9_-]{43}$/;
const MISSING_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

const RATE_LIMITER = {
  name: "rate_limiter",
  enabled: true,
  stage: "pre_request",
  priority: 1,
  settings: {
    limits: { global: { limit: 100, window: "1m" }, per_ip: { limit: 20, window: "30s" } },
    actions: { type: "reject", retry_after: "60" },
  },
};
const CODE_SANITATION = {
  name: "code_sanitation",
  enabled: true,
  stage: "pre_request",
  priority: 2,
  settings: {
    languages: [{ language: "javascript", enabled: true }],
    content_to_check: ["body"],
    action: "block",
    status_code: 400,
    error_message: "no code, please",
    sanitize_char: "X",
  },
};

/** The specification's walk from a gateway to an API key, with the payloads as its tables have them. */
describe.each(STORES)("the specification's table of endpoints over %s", (_, environment) => {
  let gatehouse: GatehouseProcess;
  const ids = { gateway: "", upstream: "", service: "", rule: "" };

  beforeAll(async () => {
    gatehouse = await startGatehouseProcess({ env: await environment() });
  }, 30_000);
  afterAll(() => gatehouse.stop());

  test("POST /api/v1/gateways creates a gateway", async () => {
    const payload = { name: "acme", subdomain: "acme", required_plugins: [RATE_LIMITER] };
    const answer = await gatehouse.api("POST", "/gateways", payload);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject(payload);
    ids.gateway = answer.body.id;
  });

  test("GET /api/v1/gateways lists gateways", async () => {
    const answer = await gatehouse.api("GET", "/gateways");
    expect(answer.status).toBe(200);
    expect(answer.body.gateways.map((each: { id: string }) => each.id)).toEqual([ids.gateway]);
  });

  test("GET /api/v1/gateways/{gateway_id} gets one gateway", async () => {
    const answer = await gatehouse.api("GET", `/gateways/${ids.gateway}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id: ids.gateway, name: "acme", subdomain: "acme" });
  });

  test("POST /api/v1/gateways/{gateway_id} changes a gateway's plugin configuration", async () => {
    const payload = { name: "acme two", required_plugins: [RATE_LIMITER, CODE_SANITATION] };
    const answer = await gatehouse.api("POST", `/gateways/${ids.gateway}`, payload);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ ...payload, id: ids.gateway, subdomain: "acme" });
    expect((await gatehouse.api("GET", `/gateways/${ids.gateway}`)).body).toEqual(answer.body);
  });

  test("POST /api/v1/gateways/{gateway_id}/upstreams creates an upstream", async () => {
    const payload = {
      name: "models",
      algorithm: "round-robin",
      targets: [
        {
          path: "/v1/chat/completions",
          provider: "openai",
          weight: 50,
          priority: 1,
          default_model: "gpt-4o-mini",
          models: ["gpt-4o", "gpt-4o-mini"],
          credentials: { header_name: "Authorization", header_value: "Bearer <PROVIDER_API_KEY>" },
        },
        {
          path: "/v1/messages",
          provider: "anthropic",
          weight: 50,
          priority: 1,
          default_model: "claude-sonnet-4-5",
          models: ["claude-sonnet-4-5"],
          headers: { "anthropic-version": "2023-06-01" },
          credentials: { header_name: "x-api-key", header_value: "<PROVIDER_API_KEY>" },
        },
      ],
      health_checks: { passive: true, threshold: 3, interval: 60 },
    };
    const answer = await gatehouse.api("POST", `/gateways/${ids.gateway}/upstreams`, payload);
    expect(answer.status).toBe(201);
    const shownTargets = payload.targets.map(({ credentials, ...target }) => ({
      ...target,
      credentials: { header_name: credentials.header_name, header_value: expect.stringContaining("***") },
    }));
    expect(answer.body).toMatchObject({ ...payload, targets: shownTargets, gateway_id: ids.gateway });
    ids.upstream = answer.body.id;
  });

  test("GET /api/v1/gateways/{gateway_id}/upstreams/{upstream_id} gets one upstream", async () => {
    const answer = await gatehouse.api("GET", `/gateways/${ids.gateway}/upstreams/${ids.upstream}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id: ids.upstream, name: "models", gateway_id: ids.gateway });
  });

  test("POST /api/v1/gateways/{gateway_id}/services creates a service", async () => {
    const payload = {
      name: "chat",
      upstream_id: ids.upstream,
      type: "upstream",
      description: "Chat completions",
    };
    const answer = await gatehouse.api("POST", `/gateways/${ids.gateway}/services`, payload);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ ...payload, gateway_id: ids.gateway });
    ids.service = answer.body.id;
  });

  test("GET /api/v1/gateways/{gateway_id}/services/{service_id} gets one service", async () => {
    const answer = await gatehouse.api("GET", `/gateways/${ids.gateway}/services/${ids.service}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id: ids.service, name: "chat", upstream_id: ids.upstream });
  });

  test("POST /api/v1/gateways/{gateway_id}/rules creates a rule", async () => {
    const payload = {
      service_id: ids.service,
      path: "/v1/chat/completions",
      methods: ["POST"],
      strip_path: true,
      preserve_host: true,
    };
    const answer = await gatehouse.api("POST", `/gateways/${ids.gateway}/rules`, payload);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ ...payload, gateway_id: ids.gateway });
    ids.rule = answer.body.id;
  });

  test("GET /api/v1/gateways/{gateway_id}/rules lists rules of a gateway", async () => {
    const answer = await gatehouse.api("GET", `/gateways/${ids.gateway}/rules`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ rules: [{ id: ids.rule }], count: 1 });
  });

  test("POST /api/v1/iam/api-keys creates an API key", async () => {
    const payload = {
      name: "mobile app",
      expires_at: "2099-12-31T23:59:59Z",
      subject_type: "gateway",
      subject: ids.gateway,
      policies: [ids.rule],
    };
    const answer = await gatehouse.api("POST", "/iam/api-keys", payload);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ ...payload, expires_at: "2099-12-31T23:59:59.000Z" });
    expect(answer.body.key).toMatch(API_KEY);
  });

  test("lists page, filter by name and count alike on every resource", async () => {
    for (const resource of RESOURCES) {
      const collection = resource.collection(ids);
      for (const name of ["one", "two", "two"]) {
        await create(gatehouse, collection, { ...resource.minimal(ids), name });
      }
      const named = await gatehouse.api("GET", `${collection}?name=two&limit=1&offset=1`);
      expect(named.status).toBe(200);
      expect(named.body).toEqual({
        [resource.plural]: [expect.objectContaining({ name: "two" })],
        count: 2,
        limit: 1,
        offset: 1,
      });
    }
  });

  test("deleting what others use is 409, and a gateway with parts goes by ?cascade=true", async () => {
    expectError(
      await gatehouse.api("DELETE", `/gateways/${ids.gateway}/upstreams/${ids.upstream}`),
      409,
      "in_use",
    );
    expectError(await gatehouse.api("DELETE", `/gateways/${ids.gateway}/rules/${ids.rule}`), 409, "in_use");
    expectError(await gatehouse.api("DELETE", `/gateways/${ids.gateway}`), 409, "in_use");
    expect((await gatehouse.api("DELETE", `/gateways/${ids.gateway}?cascade=true`)).status).toBe(204);
    expectError(await gatehouse.api("GET", `/gateways/${ids.gateway}`), 404, "not_found");
  });
});

describe("the Admin API", () => {
  let gatehouse: GatehouseProcess;
  let chain: Chain;
  let other: Chain;
  const api: GatehouseProcess["api"] = (...call) => gatehouse.api(...call);

  beforeAll(async () => {
    gatehouse = await startGatehouseProcess({ env: { MAX_BODY_BYTES: "4000" } });
    chain = await createChain(gatehouse, "one");
    other = await createChain(gatehouse, "other");
  });
  afterAll(() => gatehouse.stop());

  describe.each(RESOURCES)("every resource has the whole set: $plural", (resource) => {
    const isKey = resource.plural === "api_keys";
    const isGateway = resource.plural === "gateways";
    const one = (id: string) => `${resource.collection(chain)}/${id}`;
    const made = async (fields: Record<string, unknown> = {}): Promise<ApiResponse["body"]> =>
      create(gatehouse, resource.collection(chain), { ...resource.minimal(chain), ...fields });

    test("create is 201 with the record and Location", async () => {
      const answer = await api("POST", resource.collection(chain), resource.minimal(chain));
      expect(answer.status).toBe(201);
      expect(answer.body).toMatchObject(resource.minimal(chain));
      expect(answer.headers.get("location")).toBe(`/api/v1${one(answer.body.id)}`);
      const located = await callRaw(gatehouse, "GET", answer.headers.get("location") ?? "");
      expect(located.status).toBe(200);
      expect(located.body.id).toBe(answer.body.id);
    });

    test("id is a UUIDv7, times are RFC 3339 UTC, children carry gateway_id", async () => {
      const record = await made();
      expect(record.id).toMatch(UUID_V7);
      expect(record.created_at).toMatch(RFC_3339_UTC);
      expect(record.updated_at).toBe(record.created_at);
      expect(record.gateway_id).toBe(isGateway ? undefined : chain.gateway);
    });

    test("field names are snake_case", async () => {
      for (const name of Object.keys(await made())) expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    });

    test("get is 200 with what creation returned", async () => {
      const record = without(await made(), "key");
      const answer = await api("GET", one(record.id));
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(record);
    });

    test("get of an unknown id is 404", async () => {
      expectError(await api("GET", one(MISSING_ID)), 404, "not_found");
      expectError(await api("GET", one("not-an-id")), 404, "not_found");
    });

    test("every change of an unknown id is 404", async () => {
      const body = resource.minimal(chain);
      if (!isKey) expectError(await api("PUT", one(MISSING_ID), body), 404, "not_found");
      expectError(await api("PATCH", one(MISSING_ID), { name: "x" }), 404, "not_found");
      expectError(await api("DELETE", one(MISSING_ID)), 404, "not_found");
    });

    test("PATCH merges: what is not named stays, updated_at moves, created_at does not", async () => {
      const before = without(await made({ name: "before" }), "key");
      await Bun.sleep(2);
      const answer = await api("PATCH", one(before.id), { name: "after" });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...before, name: "after", updated_at: expect.any(String) });
      expect(Date.parse(answer.body.updated_at)).toBeGreaterThan(Date.parse(before.created_at));
      expect((await api("GET", one(before.id))).body).toEqual(answer.body);
    });

    test("PATCH takes application/merge-patch+json too", async () => {
      const { id } = await made();
      const headers = { "Content-Type": "application/merge-patch+json" };
      const answer = await api("PATCH", one(id), { name: "by its own type" }, headers);
      expect(answer.status).toBe(200);
      expect(answer.body.name).toBe("by its own type");
    });

    test("PATCH ignores the read-only fields of a record that is sent back", async () => {
      const record = without(await made(), "key");
      const sent = {
        ...record,
        id: MISSING_ID,
        created_at: "1999-01-01T00:00:00Z",
        updated_at: "x",
        name: "n",
      };
      const answer = await api("PATCH", one(record.id), sent);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ id: record.id, created_at: record.created_at, name: "n" });
    });

    test("a record may not choose what the server sets", async () => {
      const sent = { ...resource.minimal(chain), id: MISSING_ID, created_at: "2020-01-01T00:00:00Z" };
      expectProblemsAt(await api("POST", resource.collection(chain), sent), "id", "created_at");
    });

    test("unknown fields are refused, naming the field and the nearest known one", async () => {
      const { id } = await made();
      const misspelled = { ...resource.minimal(chain), nmae: "x" };
      const created = await api("POST", resource.collection(chain), misspelled);
      expectProblemsAt(created, "nmae");
      expect(onlyMessage(created)).toContain('"name"');
      const patched = await api("PATCH", one(id), { nmae: "x" });
      expectProblemsAt(patched, "nmae");
      expect(onlyMessage(patched)).toContain('"name"');
      if (isKey) return;
      expectProblemsAt(await api("PUT", one(id), misspelled), "nmae");
    });

    test("lists have the plural, count, limit and offset, oldest first", async () => {
      const name = `list of ${resource.plural}`;
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.push((await made({ name })).id);
      const all = await api("GET", `${resource.collection(chain)}?name=${encodeURIComponent(name)}`);
      expect(all.status).toBe(200);
      expect(Object.keys(all.body)).toEqual([resource.plural, "count", "limit", "offset"]);
      expect(all.body).toMatchObject({ count: 3, limit: 100, offset: 0 });
      expect(all.body[resource.plural].map((each: { id: string }) => each.id)).toEqual(ids);
    });

    test("lists page: limit, offset, and count of all that match", async () => {
      const name = `pages of ${resource.plural}`;
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.push((await made({ name })).id);
      const query = `${resource.collection(chain)}?name=${encodeURIComponent(name)}`;
      const page = await api("GET", `${query}&limit=2&offset=1`);
      expect(page.body).toMatchObject({ count: 3, limit: 2, offset: 1 });
      expect(page.body[resource.plural].map((each: { id: string }) => each.id)).toEqual(ids.slice(1));
      const beyond = await api("GET", `${query}&offset=3`);
      expect(beyond.body).toEqual({ [resource.plural]: [], count: 3, limit: 100, offset: 3 });
    });

    test("the name filter is exact", async () => {
      await made({ name: "Exactly This" });
      for (const near of ["exactly this", "Exactly", "Exactly This ", "%"]) {
        const found = await api("GET", `${resource.collection(chain)}?name=${encodeURIComponent(near)}`);
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
      const answer = await api("GET", `${resource.collection(chain)}?${query}`);
      if (status === 200) expect(answer.status).toBe(200);
      else expectProblemsAt(answer, `?${query.split("=")[0] ?? ""}`);
    });

    test("unknown query parameters are refused, naming the nearest", async () => {
      const list = await api("GET", `${resource.collection(chain)}?limt=5`);
      expectProblemsAt(list, "?limt");
      expect(onlyMessage(list)).toContain('"limit"');
      const { id } = await made();
      expectProblemsAt(await api("GET", `${one(id)}?verbose=1`), "?verbose");
      expectProblemsAt(await api("PATCH", `${one(id)}?force=1`, { name: "x" }), "?force");
    });

    test("a wrong method is 405 with Allow", async () => {
      const collection = await api("DELETE", resource.collection(chain));
      expectError(collection, 405, "method_not_allowed");
      expect(allowed(collection)).toEqual(["GET", "HEAD", "POST"]);
      const { id } = await made();
      const single = await api(isGateway ? "OPTIONS" : "POST", one(id), isGateway ? undefined : {});
      expectError(single, 405, "method_not_allowed");
      const writes = isKey ? ["PATCH"] : isGateway ? ["PATCH", "POST", "PUT"] : ["PATCH", "PUT"];
      expect(allowed(single)).toEqual(["DELETE", "GET", "HEAD", ...writes]);
    });

    test("a wrong content type is 415", async () => {
      const { id } = await made();
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "text/json",
      ]) {
        const headers = { "Content-Type": type };
        const body = resource.minimal(chain);
        expectError(
          await api("POST", resource.collection(chain), body, headers),
          415,
          "unsupported_media_type",
        );
        expectError(await api("PATCH", one(id), { name: "x" }, headers), 415, "unsupported_media_type");
      }
      const untyped = await callRaw(gatehouse, "POST", `/api/v1${resource.collection(chain)}`, {
        body: new TextEncoder().encode("{}"),
      });
      expectError(untyped, 415, "unsupported_media_type");
    });

    test("a charset beside the content type is fine", async () => {
      const headers = { "Content-Type": "Application/JSON; charset=utf-8" };
      const answer = await api("POST", resource.collection(chain), resource.minimal(chain), headers);
      expect(answer.status).toBe(201);
    });

    test("bad JSON is 400", async () => {
      const { id } = await made();
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
        expectError(await api("POST", resource.collection(chain), body), 400, "invalid_json");
        expectError(await api("PATCH", one(id), body), 400, "invalid_json");
        if (!isKey) expectError(await api("PUT", one(id), body), 400, "invalid_json");
      }
    });

    test("too large is 413, with a declared length and chunked", async () => {
      const tooLong = JSON.stringify({ ...resource.minimal(chain), name: "x".repeat(4000) });
      expectError(await api("POST", resource.collection(chain), tooLong), 413, "body_too_large");
      const undeclared = await callRaw(gatehouse, "POST", `/api/v1${resource.collection(chain)}`, {
        headers: { "Content-Type": "application/json" },
        body: chunked(new Uint8Array(1000).fill(32), 5),
      });
      expectError(undeclared, 413, "body_too_large");
    });

    test("a body of exactly MAX_BODY_BYTES is read", async () => {
      const body = JSON.stringify(resource.minimal(chain)).padEnd(4000, " ");
      expect((await api("POST", resource.collection(chain), body)).status).toBe(201);
      expectError(await api("POST", resource.collection(chain), `${body} `), 413, "body_too_large");
    });

    test("HEAD answers like GET without a body", async () => {
      const { id } = await made();
      const answer = await api("HEAD", one(id));
      expect(answer.status).toBe(200);
      expect(answer.body).toBeNull();
      expect((await api("HEAD", one(MISSING_ID))).status).toBe(404);
    });

    // A key is changed by PATCH and rotate alone, and DELETE revokes it: see "API keys".
    if (isKey) return;

    test("PUT replaces: what is not named returns to its default", async () => {
      const before = await made({ name: "before" });
      const changed = { ...resource.minimal(chain), name: "after" };
      const answer = await api("PUT", one(before.id), changed);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ ...changed, id: before.id, created_at: before.created_at });
    });

    test("PUT of the record as it was returned changes nothing but updated_at", async () => {
      const before = await made();
      const answer = await api("PUT", one(before.id), before);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...before, updated_at: expect.any(String) });
    });

    test("PUT ignores the read-only fields", async () => {
      const before = await made();
      const sent = { ...before, id: MISSING_ID, gateway_id: other.gateway, created_at: "x", updated_at: 5 };
      const answer = await api("PUT", one(before.id), sent);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...before, updated_at: expect.any(String) });
    });

    test("PUT without a required field is 400", async () => {
      const { id } = await made();
      expectProblemsAt(await api("PUT", one(id), {}), ...requiredOf(resource.plural));
    });

    test("DELETE is 204 without a body, and the record is gone", async () => {
      const { id } = await made();
      const answer = await api("DELETE", one(id));
      expect(answer.status).toBe(204);
      expect(answer.body).toBeNull();
      expectError(await api("GET", one(id)), 404, "not_found");
      expectError(await api("DELETE", one(id)), 404, "not_found");
    });
  });

  describe("unknown id or foreign gateway is 404", () => {
    const children = RESOURCES.filter(({ plural }) => ["upstreams", "services", "rules"].includes(plural));

    test.each(children)("$plural of another gateway", async (resource) => {
      const foreign = other[resource.singular as keyof Chain];
      const place = `${resource.collection(chain)}/${foreign}`;
      expectError(await api("GET", place), 404, "not_found");
      expectError(await api("PUT", place, resource.minimal(other)), 404, "not_found");
      expectError(await api("PATCH", place, { name: "x" }), 404, "not_found");
      expectError(await api("DELETE", place), 404, "not_found");
      expect((await api("GET", `${resource.collection(other)}/${foreign}`)).status).toBe(200);
    });

    test.each(children)("$plural of a gateway that does not exist", async (resource) => {
      const collection = resource.collection({ ...chain, gateway: MISSING_ID });
      expectError(await api("GET", collection), 404, "not_found");
      expectError(await api("POST", collection, resource.minimal(chain)), 404, "not_found");
      expectError(await api("GET", `${collection}/${MISSING_ID}`), 404, "not_found");
    });

    test.each(children)("the list of $plural holds those of its own gateway only", async (resource) => {
      const ids = (await api("GET", `${resource.collection(other)}?limit=1000`)).body[resource.plural].map(
        (each: { id: string }) => each.id,
      );
      expect(ids).toEqual([other[resource.singular as keyof Chain]]);
    });

    test("a path that is nothing", async () => {
      for (const path of ["", "/", "/nothing", "/gateways/", `/gateways/${chain.gateway}/nothing`, "/iam"]) {
        expectError(await api("GET", path), 404, "not_found");
      }
    });
  });

  describe("POST /gateways/{id} merges", () => {
    test("fields present change, the others stay", async () => {
      const before = await create(gatehouse, "/gateways", {
        name: "merge",
        subdomain: "merge-me",
        required_plugins: [RATE_LIMITER],
        require_api_key: true,
      });
      const renamed = await api("POST", `/gateways/${before.id}`, { name: "merged" });
      expect(renamed.status).toBe(200);
      expect(renamed.body).toEqual({ ...before, name: "merged", updated_at: expect.any(String) });
    });

    test("required_plugins is replaced as a whole", async () => {
      const { id } = await create(gatehouse, "/gateways", {
        name: "plugins",
        required_plugins: [RATE_LIMITER, CODE_SANITATION],
      });
      const replaced = await api("POST", `/gateways/${id}`, { required_plugins: [CODE_SANITATION] });
      expect(replaced.status).toBe(200);
      expect(replaced.body.required_plugins).toEqual([{ ...CODE_SANITATION, on_error: "fail" }]);
      const emptied = await api("POST", `/gateways/${id}`, { required_plugins: [] });
      expect(emptied.body.required_plugins).toEqual([]);
    });

    test("a fault leaves the gateway as it was", async () => {
      const before = await create(gatehouse, "/gateways", { name: "whole" });
      const broken = { name: "half", required_plugins: [{ ...RATE_LIMITER, stage: "sometime" }] };
      expectProblemsAt(await api("POST", `/gateways/${before.id}`, broken), "required_plugins[0].stage");
      expect((await api("GET", `/gateways/${before.id}`)).body).toEqual(before);
    });
  });

  describe("PATCH is JSON merge patch (RFC 7396)", () => {
    test("objects merge", async () => {
      const upstream = await create(gatehouse, `/gateways/${chain.gateway}/upstreams`, {
        name: "merge",
        targets: [{ provider: "openai" }],
        health_checks: { passive: true, threshold: 7, interval: 11 },
        timeouts: { connect: 10, total: 5000 },
      });
      const place = `/gateways/${chain.gateway}/upstreams/${upstream.id}`;
      const answer = await api("PATCH", place, { health_checks: { threshold: 9 }, timeouts: { idle: 77 } });
      expect(answer.status).toBe(200);
      expect(answer.body.health_checks).toEqual({ passive: true, threshold: 9, interval: 11 });
      expect(answer.body.timeouts).toEqual({ connect: 10, first_byte: 120_000, idle: 77, total: 5000 });
    });

    test("objects merge where the keys are free: a rule's headers", async () => {
      const rule = await create(gatehouse, `/gateways/${chain.gateway}/rules`, {
        ...{ service_id: chain.service, path: "/merge", methods: ["POST"] },
        headers: { "X-One": "1", "X-Two": "2" },
      });
      const place = `/gateways/${chain.gateway}/rules/${rule.id}`;
      const answer = await api("PATCH", place, { headers: { "X-Two": null, "X-Three": "3" } });
      expect(answer.body.headers).toEqual({ "X-One": "1", "X-Three": "3" });
    });

    test("arrays are replaced", async () => {
      const rule = await create(gatehouse, `/gateways/${chain.gateway}/rules`, {
        ...{ service_id: chain.service, path: "/arrays", methods: ["POST", "GET"] },
      });
      const answer = await api("PATCH", `/gateways/${chain.gateway}/rules/${rule.id}`, { methods: ["PUT"] });
      expect(answer.body.methods).toEqual(["PUT"]);
    });

    test("null returns a field to its default, at any depth", async () => {
      const upstream = await create(gatehouse, `/gateways/${chain.gateway}/upstreams`, {
        name: "null",
        algorithm: "random",
        targets: [{ provider: "openai" }],
        health_checks: { passive: true, threshold: 7, interval: 11 },
        max_attempts: 9,
        timeouts: { connect: 1 },
      });
      const place = `/gateways/${chain.gateway}/upstreams/${upstream.id}`;
      const patch = {
        algorithm: null,
        health_checks: { threshold: null },
        max_attempts: null,
        timeouts: null,
      };
      const answer = await api("PATCH", place, patch);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({
        algorithm: "round-robin",
        health_checks: { passive: true, threshold: 3, interval: 11 },
        max_attempts: 3,
        timeouts: { connect: 5000, first_byte: 120_000, idle: 120_000, total: null },
      });
    });

    test("null takes a gateway's subdomain away", async () => {
      const gateway = await create(gatehouse, "/gateways", { name: "sub", subdomain: "take-away" });
      const answer = await api("PATCH", `/gateways/${gateway.id}`, { subdomain: null });
      expect(answer.body.subdomain).toBeNull();
      await create(gatehouse, "/gateways", { name: "next", subdomain: "take-away" });
    });

    test("null for a required field is 400: it has no default", async () => {
      expectProblemsAt(await api("PATCH", `/gateways/${chain.gateway}`, { name: null }), "name");
      const upstream = `/gateways/${chain.gateway}/upstreams/${chain.upstream}`;
      expectProblemsAt(await api("PATCH", upstream, { targets: null }), "targets");
    });

    test("an empty patch is 200 and changes nothing", async () => {
      const place = `/gateways/${chain.gateway}/services/${chain.service}`;
      const before = (await api("GET", place)).body;
      const answer = await api("PATCH", place, {});
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...before, updated_at: expect.any(String) });
    });
  });

  describe("a duplicate subdomain is 409", () => {
    test("at creation, PUT, PATCH and POST, naming the gateway that has it", async () => {
      const owner = await create(gatehouse, "/gateways", { name: "owner", subdomain: "taken" });
      const { id } = await create(gatehouse, "/gateways", { name: "late" });
      for (const [method, path] of [
        ["POST", "/gateways"],
        ["PUT", `/gateways/${id}`],
        ["PATCH", `/gateways/${id}`],
        ["POST", `/gateways/${id}`],
      ] as const) {
        const answer = await api(method, path, { name: "late", subdomain: "TAKEN" });
        expectError(answer, 409, "duplicate");
        expect(answer.body.error).toContain(owner.id);
        expect(answer.body.details).toEqual([
          { path: "subdomain", message: expect.stringContaining("owner") },
        ]);
      }
      expect((await api("GET", `/gateways/${id}`)).body.subdomain).toBeNull();
    });

    test("a gateway may keep its own subdomain", async () => {
      const { id } = await create(gatehouse, "/gateways", { name: "keeper", subdomain: "kept" });
      expect((await api("PUT", `/gateways/${id}`, { name: "keeper", subdomain: "kept" })).status).toBe(200);
    });

    test("of two creations at once one wins", async () => {
      const both = await Promise.all(
        ["a", "b"].map((name) => api("POST", "/gateways", { name, subdomain: "race" })),
      );
      expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    });
  });

  describe("deleting what others use is 409 naming the users", () => {
    test("an upstream that a service uses", async () => {
      const mine = await createChain(gatehouse, "used upstream");
      const answer = await api("DELETE", `/gateways/${mine.gateway}/upstreams/${mine.upstream}`);
      expectError(answer, 409, "in_use");
      expect(answer.body.error).toContain(mine.service);
      expect(answer.body.error).toContain('"chat"');
    });

    test("a service that a rule uses", async () => {
      const mine = await createChain(gatehouse, "used service");
      const answer = await api("DELETE", `/gateways/${mine.gateway}/services/${mine.service}`);
      expectError(answer, 409, "in_use");
      expect(answer.body.error).toContain(mine.rule);
    });

    test("a rule named in a key's policies, until the key lets go of it", async () => {
      const mine = await createChain(gatehouse, "used rule");
      const key = await create(gatehouse, "/iam/api-keys", {
        name: "user of the rule",
        subject: mine.gateway,
        policies: [mine.rule],
      });
      const place = `/gateways/${mine.gateway}/rules/${mine.rule}`;
      const answer = await api("DELETE", place);
      expectError(answer, 409, "in_use");
      expect(answer.body.error).toContain(key.id);
      expect(answer.body.error).toContain("user of the rule");
      expect((await api("PATCH", `/iam/api-keys/${key.id}`, { policies: [] })).status).toBe(200);
      expect((await api("DELETE", place)).status).toBe(204);
    });

    test("from the rule upwards everything can be deleted", async () => {
      const mine = await createChain(gatehouse, "in order");
      for (const place of [
        `/gateways/${mine.gateway}/rules/${mine.rule}`,
        `/gateways/${mine.gateway}/services/${mine.service}`,
        `/gateways/${mine.gateway}/upstreams/${mine.upstream}`,
        `/gateways/${mine.gateway}`,
      ]) {
        expect((await api("DELETE", place)).status).toBe(204);
      }
    });
  });

  describe("a gateway with parts is deleted only with ?cascade=true", () => {
    test("without it 409 names the parts", async () => {
      const mine = await createChain(gatehouse, "parts");
      for (const query of ["", "?cascade=false"]) {
        const answer = await api("DELETE", `/gateways/${mine.gateway}${query}`);
        expectError(answer, 409, "in_use");
        for (const part of [mine.upstream, mine.service, mine.rule]) {
          expect(answer.body.error).toContain(part);
        }
        expect(answer.body.error).toContain("cascade=true");
      }
      expect((await api("GET", `/gateways/${mine.gateway}/rules/${mine.rule}`)).status).toBe(200);
    });

    test("a key alone is a part too", async () => {
      const gateway = await create(gatehouse, "/gateways", { name: "with a key" });
      const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: gateway.id });
      const answer = await api("DELETE", `/gateways/${gateway.id}`);
      expectError(answer, 409, "in_use");
      expect(answer.body.error).toContain(key.id);
    });

    test("with it everything goes, keys included, and other gateways stay", async () => {
      const mine = await createChain(gatehouse, "cascade");
      const key = await create(gatehouse, "/iam/api-keys", {
        name: "k",
        subject: mine.gateway,
        policies: [mine.rule],
      });
      expect((await api("DELETE", `/gateways/${mine.gateway}?cascade=true`)).status).toBe(204);
      expectError(await api("GET", `/gateways/${mine.gateway}`), 404, "not_found");
      expectError(await api("GET", `/gateways/${mine.gateway}/rules/${mine.rule}`), 404, "not_found");
      expectError(await api("GET", `/iam/api-keys/${key.id}`), 404, "not_found");
      expect((await api("GET", `/gateways/${chain.gateway}/rules/${chain.rule}`)).status).toBe(200);
    });

    test("any other value of cascade is 400", async () => {
      expectProblemsAt(await api("DELETE", `/gateways/${chain.gateway}?cascade=yes`), "?cascade");
    });
  });

  describe("API keys", () => {
    const keyOf = (fields: Record<string, unknown> = {}): Promise<ApiResponse["body"]> =>
      create(gatehouse, "/iam/api-keys", { name: "key", subject: chain.gateway, ...fields });

    test("the key is gw_ and 43 base64url characters, and returned once", async () => {
      const { key, ...record } = await keyOf();
      expect(key).toMatch(API_KEY);
      expect((await api("GET", `/iam/api-keys/${record.id}`)).body).toEqual(record);
      const list = await api("GET", `/iam/api-keys?subject=${chain.gateway}&limit=1000`);
      expect(list.body.api_keys).toContainEqual(record);
      expect(JSON.stringify(list.body)).not.toContain(key);
      expect(key).toStartWith(record.prefix);
      expect(record.prefix.length).toBeLessThan(16);
    });

    test("no answer holds a hash", async () => {
      const { id, ...created } = await keyOf();
      expect(created).not.toHaveProperty("hash");
      expect((await api("GET", `/iam/api-keys/${id}`)).body).not.toHaveProperty("hash");
      expect((await api("PATCH", `/iam/api-keys/${id}`, { name: "x" })).body).not.toHaveProperty("hash");
      expect((await api("POST", `/iam/api-keys/${id}/rotate`)).body).not.toHaveProperty("hash");
    });

    test("every key is another one", async () => {
      const keys = await Promise.all(Array.from({ length: 10 }, async () => (await keyOf()).key));
      expect(new Set(keys).size).toBe(10);
    });

    test("the list filters by subject", async () => {
      const mine = await create(gatehouse, "/gateways", { name: "subject" });
      const { id } = await keyOf({ subject: mine.id });
      const list = await api("GET", `/iam/api-keys?subject=${mine.id}`);
      expect(list.body).toMatchObject({ api_keys: [{ id, subject: mine.id }], count: 1 });
      expect((await api("GET", `/iam/api-keys?subject=${MISSING_ID}`)).body).toMatchObject({ count: 0 });
    });

    test("PATCH changes name, policies and expires_at", async () => {
      const { id } = await keyOf({ expires_at: "2098-01-01T00:00:00Z" });
      const change = { name: "new", policies: [chain.rule], expires_at: "2099-01-01T01:00:00+01:00" };
      const answer = await api("PATCH", `/iam/api-keys/${id}`, change);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ ...change, expires_at: "2099-01-01T00:00:00.000Z" });
      const back = await api("PATCH", `/iam/api-keys/${id}`, { policies: null, expires_at: null });
      expect(back.body).toMatchObject({ name: "new", policies: [], expires_at: null });
    });

    test.each([
      ["subject", (): string => other.gateway],
      ["subject_type", (): string => "user"],
    ] as const)("PATCH of %s is 400", async (field, value) => {
      const { id } = await keyOf();
      expectProblemsAt(await api("PATCH", `/iam/api-keys/${id}`, { [field]: value() }), field);
    });

    test("PATCH cannot bring in a rule of another gateway", async () => {
      const { id } = await keyOf();
      const answer = await api("PATCH", `/iam/api-keys/${id}`, { policies: [chain.rule, other.rule] });
      expectProblemsAt(answer, "policies[1]");
      expect(onlyMessage(answer)).toContain(other.rule);
    });

    test("PATCH cannot make a revoked key active, nor choose the key", async () => {
      const { id, key, prefix } = await keyOf();
      const answer = await api("PATCH", `/iam/api-keys/${id}`, {
        active: false,
        prefix: "gw_x",
        key: "gw_x",
        last_used_at: "2020-01-01T00:00:00Z",
      });
      expect(answer.body).toMatchObject({ active: true, prefix, last_used_at: null });
      expect(key).toStartWith(answer.body.prefix);
    });

    test("rotate is 200 with a new key and the same record", async () => {
      const { key, ...before } = await keyOf({ policies: [chain.rule] });
      const answer = await api("POST", `/iam/api-keys/${before.id}/rotate`);
      expect(answer.status).toBe(200);
      const { key: rotated, ...after } = answer.body;
      expect(rotated).toMatch(API_KEY);
      expect(rotated).not.toBe(key);
      expect(after).toEqual({ ...before, prefix: rotated.slice(0, 9), updated_at: expect.any(String) });
      expect((await api("GET", `/iam/api-keys/${before.id}`)).body).toEqual(after);
      expectError(await api("POST", `/iam/api-keys/${MISSING_ID}/rotate`), 404, "not_found");
    });

    test("revoke is 204; the record stays, active false", async () => {
      const before = without(await keyOf(), "key");
      expect(before.active).toBe(true);
      expect((await api("DELETE", `/iam/api-keys/${before.id}`)).status).toBe(204);
      const after = { ...before, active: false, updated_at: expect.any(String) };
      expect((await api("GET", `/iam/api-keys/${before.id}`)).body).toEqual(after);
      const list = await api("GET", `/iam/api-keys?subject=${chain.gateway}&limit=1000`);
      expect(list.body.api_keys).toContainEqual(after);
    });

    test("a revoked key cannot be changed or rotated", async () => {
      const { id } = await keyOf();
      await api("DELETE", `/iam/api-keys/${id}`);
      expectError(await api("PATCH", `/iam/api-keys/${id}`, { name: "x" }), 409, "api_key_revoked");
      expectError(await api("POST", `/iam/api-keys/${id}/rotate`), 409, "api_key_revoked");
    });

    test("expires_at in the past is 400, at creation and at PATCH", async () => {
      const past = { expires_at: "2020-01-01T00:00:00Z" };
      const body = { name: "late", subject: chain.gateway, ...past };
      expectProblemsAt(await api("POST", "/iam/api-keys", body), "expires_at");
      const { id } = await keyOf();
      expectProblemsAt(await api("PATCH", `/iam/api-keys/${id}`, past), "expires_at");
      expect((await api("GET", `/iam/api-keys/${id}`)).body.expires_at).toBeNull();
    });

    test("PUT is not for keys: 405", async () => {
      const { id } = await keyOf();
      expectError(await api("PUT", `/iam/api-keys/${id}`, {}), 405, "method_not_allowed");
    });

    test("rotate takes POST only", async () => {
      const { id } = await keyOf();
      const answer = await api("GET", `/iam/api-keys/${id}/rotate`);
      expectError(answer, 405, "method_not_allowed");
      expect(allowed(answer)).toEqual(["POST"]);
    });
  });

  describe("GET /plugins lists the registered plugins", () => {
    test("name, description, stages, settings_schema and builtin of both specified ones", async () => {
      const answer = await api("GET", "/plugins");
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ count: 2, limit: 100, offset: 0 });
      for (const name of ["rate_limiter", "code_sanitation"]) {
        const plugin = answer.body.plugins.find((each: { name: string }) => each.name === name);
        expect(plugin).toEqual({
          name,
          description: expect.stringMatching(/\S/),
          stages: ["pre_request"],
          settings_schema: expect.objectContaining({ type: "object" }),
          builtin: true,
        });
      }
    });

    test("settings_schema is a JSON Schema of the specification's fields", async () => {
      const { plugins } = (await api("GET", "/plugins")).body;
      const schemaOf = (name: string) =>
        plugins.find((each: { name: string }) => each.name === name).settings_schema;
      expect(Object.keys(schemaOf("rate_limiter").properties)).toEqual(
        expect.arrayContaining(["limits", "actions"]),
      );
      expect(schemaOf("code_sanitation").required.toSorted()).toEqual([
        "action",
        "content_to_check",
        "languages",
      ]);
    });

    test("only reading is possible", async () => {
      const answer = await api("POST", "/plugins", {});
      expectError(answer, 405, "method_not_allowed");
      expect(allowed(answer)).toEqual(["GET", "HEAD"]);
    });
  });

  describe("GET /providers lists the known providers", () => {
    const NAMES =
      "openai anthropic azure google mistral groq deepseek openrouter together fireworks xai cohere perplexity bedrock ollama vllm";

    test("sixteen names, each with base_url, format and default_path", async () => {
      const answer = await api("GET", "/providers");
      expect(answer.status).toBe(200);
      expect(answer.body.count).toBe(16);
      expect(answer.body.providers.map((each: { name: string }) => each.name)).toEqual(NAMES.split(" "));
      for (const provider of answer.body.providers) {
        expect(Object.keys(provider)).toEqual(["name", "base_url", "format", "default_path"]);
        expect(provider.format).toBe(provider.name === "anthropic" ? "anthropic" : "openai");
        expect(provider.default_path).toStartWith("/");
      }
    });

    test("azure, bedrock, ollama and vllm ask for base_url; the others have one", async () => {
      const { providers } = (await api("GET", "/providers")).body;
      const withoutAddress = providers
        .filter((each: { base_url: unknown }) => each.base_url === null)
        .map((each: { name: string }) => each.name);
      expect(withoutAddress).toEqual(["azure", "bedrock", "ollama", "vllm"]);
      for (const { name, base_url } of providers) {
        if (base_url !== null) expect(base_url).toStartWith("https://");
        const upstream = { name: "u", targets: [{ provider: name }] };
        const answer = await api("POST", `/gateways/${chain.gateway}/upstreams`, upstream);
        if (base_url === null) expectProblemsAt(answer, "targets[0].base_url");
        else expect(answer.status).toBe(201);
        const addressed = { name: "u", targets: [{ provider: name, base_url: "http://127.0.0.1:9" }] };
        expect((await api("POST", `/gateways/${chain.gateway}/upstreams`, addressed)).status).toBe(201);
      }
    });

    test("it pages like every list", async () => {
      const page = await api("GET", "/providers?limit=2&offset=15");
      expect(page.body).toMatchObject({ providers: [{ name: "vllm" }], count: 16, limit: 2, offset: 15 });
    });
  });

  describe("X-Request-Id", () => {
    test("the client's own comes back, on answers and errors", async () => {
      const headers = { "X-Request-Id": "trace-42/a:b=c@d+e.f_g" };
      expect((await api("GET", "/gateways", undefined, headers)).headers.get("x-request-id")).toBe(
        headers["X-Request-Id"],
      );
      const missing = await api("GET", "/nothing", undefined, headers);
      expectError(missing, 404, "not_found");
      expect(missing.body.request_id).toBe(headers["X-Request-Id"]);
    });

    test.each(["", "has blanks in it", 'quote"d', "x".repeat(129), "<script>", "é"])(
      "an id that is not sane is replaced: %p",
      async (given) => {
        const answer = await api("GET", "/nothing", undefined, { "X-Request-Id": given });
        expect(answer.body.request_id).toMatch(UUID_V7);
        expect(answer.headers.get("x-request-id")).toBe(answer.body.request_id);
      },
    );

    test("without one every answer gets a new one", async () => {
      const ids = await Promise.all(
        Array.from({ length: 5 }, async () => (await api("GET", "/gateways")).headers.get("x-request-id")),
      );
      expect(new Set(ids).size).toBe(5);
      for (const id of ids) expect(id).toMatch(UUID_V7);
    });

    test("the access log has one line a request with it", async () => {
      await api("GET", "/gateways", undefined, { "X-Request-Id": "find-me-in-the-log" });
      await untilPrinted(gatehouse, "find-me-in-the-log");
      const lines = gatehouse.output().split("\n");
      const mine = lines.filter((line) => line.includes("find-me-in-the-log"));
      expect(mine).toHaveLength(1);
      expect(JSON.parse(mine[0]!)).toMatchObject({ method: "GET", path: "/api/v1/gateways", status: 200 });
    });
  });

  test("no secret reaches the log: neither tokens nor keys nor credentials", async () => {
    const { key } = await create(gatehouse, "/iam/api-keys", { name: "quiet", subject: chain.gateway });
    expect(gatehouse.output()).not.toContain(key);
    expect(gatehouse.output()).not.toContain(gatehouse.token);
    expect(gatehouse.output()).not.toContain("sk-abcdefghijklmnop");
  });
});

describe("MAX_BODY_BYTES is 10485760 unless set", () => {
  let gatehouse: GatehouseProcess;
  const megabyte = new Uint8Array(1024 * 1024).fill(32);
  beforeAll(async () => {
    gatehouse = await startGatehouseProcess();
  });
  afterAll(() => gatehouse.stop());

  const send = (body: RawBody) =>
    callRaw(gatehouse, "POST", "/api/v1/gateways", {
      headers: { "Content-Type": "application/json" },
      body,
    });

  test("11 MB are 413, declared and chunked", async () => {
    const declared = new Uint8Array(11 * megabyte.length).fill(32);
    expectError(await send(declared), 413, "body_too_large");
    expectError(await send(chunked(megabyte, 11)), 413, "body_too_large");
  });

  test("10 MiB are read, declared and chunked", async () => {
    const declared = new Uint8Array(10 * megabyte.length).fill(32);
    declared.set(new TextEncoder().encode('{"name":"large"}'));
    expect((await send(declared)).status).toBe(201);
    expectError(await send(chunked(megabyte, 10)), 400, "invalid_json");
  });

  test("after all that it goes on", async () => {
    expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(1);
  });
});

function allowed(answer: ApiResponse): string[] {
  return (answer.headers.get("allow") ?? "").split(", ").toSorted();
}

function requiredOf(plural: string): string[] {
  if (plural === "gateways") return ["name"];
  if (plural === "upstreams") return ["name", "targets"];
  return plural === "services" ? ["name", "upstream_id"] : ["service_id", "path", "methods"];
}
