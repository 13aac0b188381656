// Random configurations and requests for the test that compares explanations with real requests.
import fc from "fast-check";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "./admin-fixtures.ts";
import type { RunningGatehouse } from "./gatehouse-process.ts";

type Fields = Record<string, unknown>;

/** An explainable plugin that does what the request header `x-do` says. */
export const ACTING_PLUGIN = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "acting",
    description: "Changes the request, responds or fails.",
    stages: ["pre_request"],
    explainable: true,
    settings: z.strictObject({ mark: z.string() }),
    create({ mark }) {
      return {
        pre_request(context) {
          const act = context.headers.get("x-do");
          if (act === "answer") context.respond({ status: 418, body: { error: mark, code: "acting" } });
          if (act === "throw") throw new Error(mark);
          if (act === "header") context.setHeader("x-mark", mark);
          if (act === "path") context.setPath(context.path + "/" + mark);
          if (act === "query") context.setQuery("mark=" + mark);
          if (act === "body" && context.json !== null)
            context.replaceBody(JSON.stringify({ ...context.json, model: "m1", mark }));
        },
      };
    },
  });`;

const header = fc.constantFrom<Fields>(
  {},
  {},
  {},
  { "x-team": "red" },
  { "x-team": "*" },
  { "X-Other": "1" },
);
const methods = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["POST", "GET"]) },
  { weight: 1, arbitrary: fc.subarray(["GET", "POST", "PUT", "HEAD"], { minLength: 1 }) },
);
const PATHS = ["/a", "/a/b", "/a/{x}", "/{x}/b", "/a/*", "/*", "/{x}", "/a/b/*"];
const model = fc.constantFrom("m1", "m2", "m3");

const target = fc.record({
  provider: fc.integer({ min: 0, max: 1 }),
  fields: fc.record({
    weight: fc.constantFrom(0, 1, 1, 2, 3),
    priority: fc.constantFrom(1, 1, 1, 2),
    models: fc.oneof(fc.constant([]), fc.uniqueArray(model, { maxLength: 2 })),
    default_model: fc.option(model),
    format: fc.constantFrom("openai", "openai", "anthropic"),
    path: fc.constantFrom(null, "", "/elsewhere"),
    credentials: fc.constantFrom(
      null,
      { header_name: "Authorization", header_value: "Bearer sk-of-the-target-itself" },
      { header_name: "X-Key", header_value: "short" },
    ),
  }),
});

const SOME_MODELS = ["m1", "m3*"];

const route = fc.record({
  targets: fc.array(target, { minLength: 1, maxLength: 3 }),
  upstream: fc.record({
    algorithm: fc.constantFrom(
      "round-robin",
      "weighted-round-robin",
      "random",
      "least-connections",
      "lowest-latency",
      "ip-hash",
    ),
    model_routing: fc.constantFrom(null, "prefer", "any", "require"),
    health_checks: fc.constantFrom({ passive: true, threshold: 1, interval: 600 }, { passive: false }),
    max_attempts: fc.integer({ min: 1, max: 3 }),
  }),
  rule: fc.record({
    path: fc.oneof(fc.constantFrom("/a/*", "/*"), fc.constantFrom(...PATHS)),
    methods,
    headers: header,
    priority: fc.integer({ min: -1, max: 1 }),
    strip_path: fc.boolean(),
    preserve_host: fc.boolean(),
    require_api_key: fc.constantFrom(null, null, null, true, false),
    response_format: fc.constantFrom(null, "openai"),
    active: fc.constantFrom(true, true, true, true, false),
  }),
});

const limits = fc.constantFrom(
  { per_ip: { limit: 1, window: "1h" } },
  { global: { limit: 3, window: "1m" }, per_user: { limit: 2, window: "1d" } },
  { per_fingerprint: { limit: 2, window: "30s" } },
);

const plugin = fc.oneof(
  fc.record({
    name: fc.constant("rate_limiter"),
    stage: fc.constant("pre_request"),
    priority: fc.integer({ min: 1, max: 3 }),
    settings: fc.record({ limits, actions: fc.record({ type: fc.constantFrom("reject", "block") }) }),
  }),
  fc.record({
    name: fc.constant("code_sanitation"),
    stage: fc.constant("pre_request"),
    priority: fc.integer({ min: 1, max: 3 }),
    settings: fc.record({
      languages: fc.constant([{ language: "sql", enabled: true }]),
      content_to_check: fc.constantFrom(["all"], ["body"], ["headers", "path_and_query"]),
      action: fc.constantFrom("block", "sanitize"),
    }),
  }),
  fc.record({
    name: fc.constant("acting"),
    stage: fc.constant("pre_request"),
    priority: fc.integer({ min: 1, max: 3 }),
    on_error: fc.constantFrom("fail", "continue"),
    settings: fc.record({ mark: fc.constantFrom("one", "two") }),
  }),
);

const gateway = fc.record({
  require_api_key: fc.constantFrom(false, false, true),
  plugins: fc.array(plugin, { maxLength: 3 }),
  routes: fc.array(route, { minLength: 1, maxLength: 3 }),
});

const ATTACK = "1' UNION SELECT password FROM users--";
const chat = (fields: Fields) => ({ messages: [{ role: "user", content: "Good morning" }], ...fields });

/** A body as text, and its content type. */
const body = fc.constantFrom<readonly [string | null, string | null]>(
  [null, null],
  [JSON.stringify(chat({ model: "m1" })), "application/json"],
  [JSON.stringify(chat({ model: "m2", stream: true })), "application/json"],
  [JSON.stringify(chat({ model: "unheard of" })), "application/json"],
  [JSON.stringify(chat({ user: "ann" }), null, 2), "application/json; charset=utf-8"],
  [JSON.stringify(chat({ model: "m1", n: 2 })), "application/json"],
  [JSON.stringify(chat({ model: "m3", note: ATTACK })), "application/json"],
  ["{ not json", "application/json"],
  ["[1, 2]", "application/json"],
  [`just text; ${ATTACK}`, "text/plain"],
  ["just text", null],
);

const request = fc.record({
  /** How often it is sent: limits fill up, turns rotate, targets become unhealthy. */
  times: fc.constantFrom(1, 1, 3),
  method: fc.oneof(
    { weight: 4, arbitrary: fc.constant("POST") },
    { weight: 1, arbitrary: fc.constantFrom("GET", "PUT", "HEAD") },
  ),
  path: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("/a", "/a/b", "/a/b/c") },
    { weight: 1, arbitrary: fc.constantFrom("/a/", "/", "/z", "/v1/models", "/a/../a/b", "/a/%2e%2E/z") },
  ),
  query: fc.constantFrom("", "", "?q=1&r=%20", "?q=1%27%20UNION%20SELECT%201%20FROM%20users--"),
  body,
  /** Index of the gateway whose Host it sends; an index without a gateway sends an unknown Host. */
  host: fc.constantFrom(0, 0, 0, 1, 2),
  /** The API key it sends: one for all rules, one for one rule, one for some models, an unknown one, or none. */
  key: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("none", "all") },
    { weight: 1, arbitrary: fc.constantFrom("one", "some", "unknown") },
  ),
  headers: fc.record(
    {
      "X-Team": fc.constantFrom("red", "blue"),
      "X-Other": fc.constant("1"),
      "X-Forwarded-For": fc.constantFrom("198.51.100.1", "198.51.100.2"),
      "X-User-ID": fc.constantFrom("ann", "bob"),
      Authorization: fc.constant("Bearer the-clients-own-credential"),
      "X-Do": fc.constantFrom("answer", "throw", "header", "path", "query", "body"),
      "X-Fake": fc.constantFrom('{"status":500}', '{"rateLimited":{"retryAfter":30}}'),
      "X-Note": fc.constant(ATTACK),
    },
    { requiredKeys: [] },
  ),
});

export const worlds = fc.record({
  gateways: fc.array(gateway, { minLength: 1, maxLength: 2 }),
  requests: fc.array(request, { minLength: 1, maxLength: 4 }),
});

type World = (typeof worlds)["generate"] extends (...parameters: never[]) => { value: infer T } ? T : never;
export type WorldRequest = World["requests"][number];

export interface SeededGateway {
  readonly id: string;
  readonly host: string;
  readonly keys: { readonly all: string; readonly one: string; readonly some: string };
}

let worldCount = 0;

export async function seedWorld(
  gatehouse: RunningGatehouse,
  world: World,
  providers: readonly FakeProvider[],
): Promise<SeededGateway[]> {
  const serial = ++worldCount;
  return Promise.all(
    world.gateways.map(async ({ require_api_key, plugins, routes }, index) => {
      const subdomain = `world-${serial}-${index}`;
      const { id } = await create(gatehouse, "/gateways", {
        name: subdomain,
        subdomain,
        require_api_key,
        required_plugins: plugins,
      });
      const rules: string[] = [];
      for (const { targets, upstream, rule } of routes) {
        const place = `/gateways/${id}`;
        const made = await create(gatehouse, `${place}/upstreams`, {
          name: "models",
          ...upstream,
          targets: targets.map(({ provider, fields }, at) => ({
            provider: "fake",
            base_url: providers[provider]?.url,
            headers: { "x-target": String(at) },
            ...fields,
          })),
        });
        const service = await create(gatehouse, `${place}/services`, { name: "s", upstream_id: made.id });
        rules.push((await create(gatehouse, `${place}/rules`, { ...rule, service_id: service.id })).id);
      }
      const key = async (fields: object): Promise<string> =>
        (await create(gatehouse, "/iam/api-keys", { name: "key", subject: id, ...fields })).key;
      const keys = {
        all: await key({}),
        one: await key({ policies: rules.slice(0, 1) }),
        some: await key({ models: SOME_MODELS }),
      };
      return { id, host: `${subdomain}.example.com`, keys };
    }),
  );
}

export async function removeWorld(
  gatehouse: RunningGatehouse,
  gateways: readonly SeededGateway[],
): Promise<void> {
  for (const { id } of gateways) await gatehouse.api("DELETE", `/gateways/${id}?cascade=true`);
}
