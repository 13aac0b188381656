// Fuzzes all write operations of the Admin API over HTTP, on both stores: every response is a 2xx, or a 4xx in the
// documented error shape, and the process keeps running. GATEHOUSE_LONG=1 is the long form.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  callRaw,
  create,
  createChain,
  expectErrorShape,
  STORES,
  type Chain,
  type RawBody,
} from "../support/admin-fixtures.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { ApiResponse, RunningGatehouse } from "../support/gatehouse-process.ts";
import { isLong, runs } from "../support/long-form.ts";
import { anyCharacter } from "../support/characters.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

interface WriteEndpoint {
  readonly method: "POST" | "PUT" | "PATCH";
  readonly path: string;
  readonly valid: { [name: string]: Json };
}

const GATEWAY: WriteEndpoint["valid"] = {
  name: "fuzzed",
  required_plugins: [
    {
      name: "rate_limiter",
      stage: "pre_request",
      enabled: true,
      priority: 1,
      on_error: "fail",
      settings: {
        limits: { global: { limit: 5, window: "1m" }, per_ip: { limit: 5, window: "1m" } },
        actions: { type: "reject", retry_after: "5" },
        on_store_failure: "local",
      },
    },
    {
      name: "code_sanitation",
      stage: "pre_request",
      settings: {
        languages: [{ language: "sql", enabled: true }],
        content_to_check: ["body"],
        action: "block",
        status_code: 400,
        error_message: "no",
        sanitize_char: "X",
      },
    },
  ],
  require_api_key: true,
};
const UPSTREAM: WriteEndpoint["valid"] = {
  name: "fuzzed",
  algorithm: "random",
  targets: [
    {
      provider: "openai",
      path: "/v1/chat/completions",
      weight: 1,
      priority: 1,
      default_model: "m",
      models: ["m"],
      headers: { "X-A": "1" },
      credentials: { header_name: "Authorization", header_value: "Bearer sk-abcdefghijkl" },
      base_url: "http://127.0.0.1:9",
      format: "openai",
    },
  ],
  health_checks: { passive: true, threshold: 3, interval: 60 },
  model_routing: "prefer",
  timeouts: { connect: 1, first_byte: 2, idle: 3, total: 4 },
  max_attempts: 3,
};

/** Every endpoint that reads a body, with a record that it accepts. */
function writeEndpoints(chain: Chain, keyId: string): WriteEndpoint[] {
  const service = { name: "s", upstream_id: chain.upstream, type: "upstream", description: "d" };
  const rule = {
    service_id: chain.service,
    path: "/fuzzed/{x}",
    methods: ["POST"],
    strip_path: true,
    preserve_host: true,
    name: "r",
    priority: 1,
    headers: { "X-A": "*" },
    require_api_key: true,
    response_format: "openai",
    active: true,
  };
  const gateway = `/api/v1/gateways/${chain.gateway}`;
  const endpoint = (method: WriteEndpoint["method"], path: string, valid: WriteEndpoint["valid"]) => ({
    method,
    path,
    valid,
  });
  return [
    endpoint("POST", "/api/v1/gateways", GATEWAY),
    endpoint("POST", gateway, GATEWAY),
    endpoint("PUT", gateway, GATEWAY),
    endpoint("PATCH", gateway, GATEWAY),
    endpoint("POST", `${gateway}/upstreams`, UPSTREAM),
    endpoint("PUT", `${gateway}/upstreams/${chain.upstream}`, UPSTREAM),
    endpoint("PATCH", `${gateway}/upstreams/${chain.upstream}`, UPSTREAM),
    endpoint("POST", `${gateway}/services`, service),
    endpoint("PUT", `${gateway}/services/${chain.service}`, service),
    endpoint("PATCH", `${gateway}/services/${chain.service}`, service),
    endpoint("POST", `${gateway}/rules`, rule),
    endpoint("PUT", `${gateway}/rules/${chain.rule}`, rule),
    endpoint("PATCH", `${gateway}/rules/${chain.rule}`, rule),
    endpoint("POST", "/api/v1/iam/api-keys", {
      name: "k",
      subject: chain.gateway,
      subject_type: "gateway",
      policies: [chain.rule],
    }),
    endpoint("PATCH", `/api/v1/iam/api-keys/${keyId}`, { name: "k", policies: [chain.rule] }),
  ];
}
const ENDPOINTS = 15;

/** Values of every type. The number of values and the numbers of endpoints per resource must have no common divisor. */
const WRONG: readonly Json[] = [
  null,
  true,
  -1.5,
  1e300,
  "",
  "\u0001",
  [],
  [[]],
  {},
  { a: {} },
  [null],
  "x".repeat(9000),
  1,
];

/** Ordinary and hostile text: names with a meaning in JavaScript, U+0000, lone surrogates. */
const nastyText = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "x\udc00y",
    "\ufeff",
    "\u202e",
    "../../etc/passwd",
    "'; DROP TABLE gateways; --",
    "%00%ff",
    "***",
    "abc***defg",
    "9".repeat(400),
    "x".repeat(10_000),
  ),
);
const nastyNumber = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 1e308, -1e308, 2 ** 53, 2 ** 63, 2 ** 31, -1, 0.1),
);
const { value: anyJson } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom<Json>(null, true, false),
    nastyNumber,
    nastyText,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(nastyText, tie("value")), { maxLength: 4 }).map(ownProperties),
  ),
}));

/** An object whose `__proto__` is an ordinary property, as JSON.parse creates it. */
function ownProperties(entries: readonly (readonly [string, Json])[]): Json {
  const object: Json = {};
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

type Place = readonly (string | number)[];

function placesOf(value: Json, place: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [place];
  const entries: (readonly [string | number, Json])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return [place, ...entries.flatMap(([key, item]) => placesOf(item, [...place, key]))];
}

/** Returns a copy of the value with the part at `place` changed; undefined removes it. */
function changedAt(value: Json, place: Place, change: (old: Json) => Json | undefined): Json | undefined {
  const [key, ...rest] = place;
  if (key === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      const next = index === key ? changedAt(item, rest, change) : item;
      return next === undefined ? [] : [next];
    });
  }
  const entries = Object.entries(value as { [name: string]: Json }).flatMap(([name, item]) => {
    const next = name === key ? changedAt(item, rest, change) : item;
    return next === undefined ? [] : [[name, next] as const];
  });
  return ownProperties(entries);
}

/** One change to a valid record: a value is replaced or removed, or a property or item is added. */
const mutation = fc.record({
  at: fc.nat(),
  value: anyJson,
  name: nastyText,
  how: fc.constantFrom("replace", "remove", "add", "double"),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer M> ? M : never;

function mutated(valid: Json, { at, value, name, how }: Mutation): Json {
  const places = placesOf(valid);
  const place = places[at % places.length] ?? [];
  const change = (old: Json): Json | undefined => {
    if (how === "remove") return undefined;
    if (how === "replace" || typeof old !== "object" || old === null) return value;
    if (Array.isArray(old)) return how === "double" ? [...old, ...old] : [...old, value];
    return ownProperties([...Object.entries(old), [name, value]]);
  };
  return changedAt(valid, place, change) ?? null;
}

describe.each(STORES)("fuzzed writes over %s", (store, environment) => {
  let gatehouse: RunningGatehouse;
  let endpoints: WriteEndpoint[];

  beforeAll(async () => {
    gatehouse = await startGatehouseOnSystemClock({ env: await environment() });
    const chain = await createChain(gatehouse);
    const key = await create(gatehouse, "/iam/api-keys", { name: "k", subject: chain.gateway });
    endpoints = writeEndpoints(chain, key.id);
  }, 60_000);
  afterAll(() => gatehouse.stop());
  afterEach(async () => {
    expect((await fetch(`${gatehouse.adminUrl}/healthz`)).status).toBe(200);
    expect((await fetch(`${gatehouse.adminUrl}/readyz`)).status).toBe(200);
    expect(gatehouse.output()).not.toContain('"level":"error"');
  });

  const send = (endpoint: WriteEndpoint, body: RawBody, contentType = "application/json") =>
    callRaw(gatehouse, endpoint.method, endpoint.path, { headers: { "Content-Type": contentType }, body });

  const sendToAll = async (body: RawBody): Promise<ApiResponse[]> => {
    const responses: ApiResponse[] = [];
    for (const endpoint of endpoints) responses.push(await send(endpoint, body));
    expect(responses).toHaveLength(ENDPOINTS);
    return responses;
  };

  /** Sends a large body to the endpoints of one resource, which cover every method; the long form sends it to all. */
  const sendLarge = async (body: RawBody): Promise<ApiResponse[]> => {
    if (isLong) return await sendToAll(body);
    const responses: ApiResponse[] = [];
    for (const endpoint of endpoints.filter(({ valid }) => valid === UPSTREAM))
      responses.push(await send(endpoint, body));
    expect(responses).toHaveLength(3);
    return responses;
  };

  // These bodies are rejected before the store is used, so one store is enough for them.
  const testWithoutStore = (title: string, run: () => Promise<void>, timeoutMs?: number) => {
    if (store === "SQLite" || isLong) test(title, run, timeoutMs);
  };

  const anyEndpoint = fc.nat({ max: ENDPOINTS - 1 });
  const endpointAt = (index: number): WriteEndpoint => endpoints[index]!;

  /** Expects success, or an error in the documented shape. */
  function expectAcceptedOrRejected(response: ApiResponse): void {
    expect(response.status).toBeWithin(200, 500);
    if (response.status >= 300) expectErrorShape(response);
  }
  function expectRejectedBy(responses: readonly ApiResponse[], ...statuses: readonly number[]): void {
    for (const response of responses) {
      expect(statuses).toContain(response.status);
      expectErrorShape(response);
    }
  }

  test("the valid records are accepted, so the mutations start from valid input", async () => {
    expect(endpoints).toHaveLength(ENDPOINTS);
    for (const endpoint of endpoints) {
      const response = await send(endpoint, JSON.stringify(endpoint.valid));
      expect({ path: endpoint.path, status: response.status, error: response.body.error }).toEqual({
        path: endpoint.path,
        status: endpoint.path.match(/gateways$|upstreams$|services$|rules$|api-keys$/) ? 201 : 200,
        error: undefined,
      });
    }
  });

  testWithoutStore("nesting of 100 000 levels", async () => {
    const depth = 100_000;
    expectRejectedBy(await sendLarge("[".repeat(depth) + "]".repeat(depth)), 400);
    expectRejectedBy(await sendLarge('{"name":'.repeat(depth) + "1" + "}".repeat(depth)), 400);
    expectRejectedBy(await sendLarge(`{"name":${"[".repeat(depth)}${"]".repeat(depth)}}`), 400);
    expectRejectedBy(await sendLarge("[".repeat(depth)), 400);
  });

  test("names with a meaning in JavaScript", async () => {
    for (const name of ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"]) {
      expectRejectedBy(await sendToAll(`{"${name}":{"name":"x","polluted":true}}`), 400);
      for (const endpoint of endpoints) {
        const extended = JSON.stringify(endpoint.valid).replace(/^\{/, `{"${name}":{"polluted":1},`);
        const response = await send(endpoint, extended);
        expect(response.status).toBe(400);
        expectErrorShape(response);
      }
    }
    expect(JSON.stringify((await gatehouse.api("GET", "/gateways")).body)).not.toContain("polluted");
  });

  testWithoutStore("bodies that are not UTF-8, not JSON, or truncated", async () => {
    for (const bytes of [
      [0xff, 0xfe, 0x7b],
      [0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d],
      [0],
      [0xef, 0xbb, 0xbf],
    ]) {
      expectRejectedBy(await sendToAll(new Uint8Array(bytes)), 400);
    }
    for (const endpoint of endpoints) {
      const whole = JSON.stringify(endpoint.valid);
      for (const length of [0, 1, Math.floor(whole.length / 2), whole.length - 1]) {
        const response = await send(endpoint, whole.slice(0, length));
        expect({ status: response.status, code: response.body.code }).toEqual({
          status: 400,
          code: "invalid_json",
        });
      }
    }
  });

  test("U+0000 and lone surrogates in any text", async () => {
    for (const text of ["\\u0000", "a\\u0000", "\\ud800", "\\udc00x", "\\ud800\\ud800"]) {
      expectRejectedBy(await sendToAll(`{"name":"${text}"}`), 400);
      expectRejectedBy(await sendToAll(`{"name":"x","${text}":1}`), 400);
    }
  });

  testWithoutStore("a string of 5 MB, and 11 MB of anything", async () => {
    expectRejectedBy(await sendLarge(`{"name":"${"x".repeat(5_000_000)}"}`), 400);
    expectRejectedBy(await sendLarge(new Uint8Array(11_000_000).fill(0x20)), 413);
  });

  testWithoutStore("random content types", async () => {
    const type = fc.oneof(
      fc.stringMatching(/^[!-~]{1,20}\/[!-~]{1,20}$/),
      fc.constantFrom(
        "application/json-patch+json",
        "application/jsonx",
        "json",
        "*/*",
        "multipart/form-data",
      ),
    );
    await fc.assert(
      fc.asyncProperty(anyEndpoint, type, async (index, contentType) => {
        const response = await send(endpointAt(index), "{}", contentType);
        expectAcceptedOrRejected(response);
        if (!/^application\/(merge-patch\+)?json(;|$)/i.test(contentType)) expect(response.status).toBe(415);
      }),
      { numRuns: 60 },
    );
  });

  test("random JSON", async () => {
    await fc.assert(
      fc.asyncProperty(anyEndpoint, anyJson, async (index, body) => {
        expectAcceptedOrRejected(await send(endpointAt(index), JSON.stringify(body)));
      }),
      { numRuns: runs({ short: 60, long: 200 }) },
    );
  });

  testWithoutStore("random bytes", async () => {
    await fc.assert(
      fc.asyncProperty(anyEndpoint, fc.uint8Array({ maxLength: 200 }), async (index, bytes) => {
        expectAcceptedOrRejected(await send(endpointAt(index), bytes));
      }),
      { numRuns: 100 },
    );
  });

  test("valid records with one to three random changes", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyEndpoint,
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        async (index, changes) => {
          const endpoint = endpointAt(index);
          expectAcceptedOrRejected(
            await send(endpoint, JSON.stringify(changes.reduce<Json>(mutated, endpoint.valid))),
          );
        },
      ),
      { numRuns: runs({ short: store === "SQLite" ? 120 : 50, long: 500 }) },
    );
  });

  // Fields are validated before the store is used. Each value is sent to one endpoint of the resource, in the long form to all.
  testWithoutStore(
    "every field of every record with a value of every wrong type",
    async () => {
      const resources = Map.groupBy(endpoints, ({ valid }) => valid);
      for (const [valid, ofResource] of resources) {
        const places = placesOf(valid).filter((place) => place.length > 0);
        const bodies = places.flatMap((place) => WRONG.map((value) => changedAt(valid, place, () => value)));
        const calls = bodies.flatMap((body, index) =>
          (isLong ? ofResource : [ofResource[index % ofResource.length]!]).map((endpoint) => ({
            endpoint,
            body,
          })),
        );
        const responses: ApiResponse[] = [];
        // A few at a time: on a busy machine, requests that wait too long for the store would get 503.
        for (let at = 0; at < calls.length; at += 8) {
          const some = calls.slice(at, at + 8);
          responses.push(
            ...(await Promise.all(some.map(({ endpoint, body }) => send(endpoint, JSON.stringify(body))))),
          );
        }
        responses.forEach(expectAcceptedOrRejected);
        expect(responses.filter(({ status }) => status === 400).length).toBeGreaterThan(places.length);
      }
    },
    60_000,
  );

  test("random ids and query parameters", async () => {
    const part = fc
      .string({ maxLength: 60 })
      .filter((text) => !text.includes("\0") && text !== "." && text !== "..");
    const paths = (id: string) => [
      `/gateways/${id}`,
      `/gateways/${id}/rules`,
      `/gateways/${id}/upstreams/${id}`,
      `/iam/api-keys/${id}`,
      `/gateways?name=${id}`,
      `/gateways?limit=${id}`,
      `/gateways?${id}`,
      `/iam/api-keys?subject=${id}`,
    ];
    await fc.assert(
      fc.asyncProperty(
        part,
        fc.nat({ max: 7 }),
        fc.constantFrom("GET", "DELETE"),
        async (text, which, method) => {
          const path = paths(encodeURIComponent(text))[which]!;
          expectAcceptedOrRejected(await gatehouse.api(method, path));
        },
      ),
      { numRuns: runs({ short: 50, long: 150 }) },
    );
  });

  test("records can still be written and read afterwards", async () => {
    const gateway = await create(gatehouse, "/gateways", { name: "still here" });
    expect((await gatehouse.api("GET", `/gateways/${gateway.id}`)).body).toEqual(gateway);
  });
});
