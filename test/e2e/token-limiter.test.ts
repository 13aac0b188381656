// token_limiter: reserved by an estimate, settled with the usage of the provider, exact under concurrency, headers, and errors.
import { describe, expect, test } from "bun:test";
import { create, expectError } from "../support/admin-fixtures.ts";
import type { Fields } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { estimateRequestTokens } from "../../src/formats/token-estimate.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { runs } from "../support/long-form.ts";
import { waitUntil } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

const tokens = (limits: Fields, settings: Fields = {}): Fields => ({
  name: "token_limiter",
  stage: "pre_request",
  settings: { limits, ...settings },
});

const seed = (plugins: readonly Fields[], gateway: Fields = {}) =>
  seedRoute(gatehouse, {
    gateway: { required_plugins: plugins, ...gateway },
    upstream: { targets: [targetAt(provider)] },
  });

interface Sent {
  readonly body?: Fields;
  readonly headers?: Record<string, string>;
}

async function send(route: SeededRoute, { body = {}, headers = {} }: Sent = {}) {
  const response = await fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ ...CHAT, ...body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

const remainingOf = async (route: SeededRoute, headers: Record<string, string> = {}): Promise<number> => {
  const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
    method: "POST",
    path: route.path,
    headers,
    body: { ...CHAT, max_tokens: 1 },
  });
  return body.limits[0].remaining as number;
};

/** The fake provider's usage of one request, whatever max_tokens is. */
const USED = await (async () => {
  const route = await seed([]);
  const { text } = await send(route);
  return (JSON.parse(text) as { usage: { prompt_tokens: number; completion_tokens: number } }).usage;
})();

/** Requests at once, of which a hundred fit. */
const MANY = runs({ short: 400, long: 10_000 });

describe("token limits", () => {
  test(`${MANY} requests of exactly known tokens, 200 at a time, admit exactly limit / amount`, async () => {
    const output = USED.completion_tokens;
    const route = await seed([tokens({ per_key: { limit: 100 * output, window: "1h", count: "output" } })]);
    const statuses = new Map<number, number>();
    const worker = async () => {
      for (let done = 0; done < MANY / 200; done++) {
        const { status } = await send(route, { body: { max_tokens: output } });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 200 }, worker));
    expect(Object.fromEntries(statuses)).toEqual({ 200: 100, 429: MANY - 100 });
    expect(provider.requests).toHaveLength(100);
  }, 60_000);

  test("what was reserved too much is returned when the response has ended", async () => {
    const route = await seed([tokens({ global: { limit: 10_000, window: "1h" } })]);
    const first = await send(route, { body: { max_tokens: 9000 } });
    expect(first.status).toBe(200);
    expect(Number(first.headers.get("x-ratelimit-global_tokens-remaining"))).toBeLessThan(1000);
    await waitUntil(async () => (await remainingOf(route)) > 9000);
    expect((await send(route, { body: { max_tokens: 9000 } })).status).toBe(200);
  });

  test("without max_tokens, at most a quarter of the limit is reserved for the output", async () => {
    const route = await seed([tokens({ global: { limit: 400, window: "1h" } })]);
    const { status, headers } = await send(route);
    expect(status).toBe(200);
    const remaining = Number(headers.get("x-ratelimit-global_tokens-remaining"));
    expect(remaining).toBeGreaterThanOrEqual(280);
    expect(remaining).toBeLessThanOrEqual(300);
  });

  /** What a request reserves, whose header shows the rest: of a limit of which nothing but `settled` is used. */
  const reservedBy = async (route: SeededRoute, limit: number, settled: number, body: Fields = {}) => {
    const { headers } = await send(route, { body });
    return limit - settled - Number(headers.get("x-ratelimit-global_tokens-remaining"));
  };

  test("without max_tokens, the 95th percentile of the last outputs of the model is reserved, times n", async () => {
    const limit = 1_000_000;
    const route = await seed([tokens({ global: { limit, window: "1h", count: "output" } })]);
    let settled = 0;
    const answer = async (output: number, body: Fields = {}) => {
      provider.behave({ usage: { input: 1, output } });
      const reserved = await reservedBy(route, limit, settled, body);
      settled += output;
      return reserved;
    };
    expect(await answer(700)).toBe(1000);
    for (let sent = 0; sent < 18; sent++) await answer(100);
    // The 19th of 20 values.
    expect(await answer(600)).toBe(700);
    expect(await answer(50)).toBe(600);
    // Limited outputs say nothing about others, and another model has its own.
    await answer(9000, { max_tokens: 9000 });
    // Nor do several choices, of which the provider reports the sum.
    for (let sent = 0; sent < 3; sent++) expect(await answer(3000, { n: 3 })).toBe(3 * 600);
    expect(await answer(1, { model: "gpt-other" })).toBe(1000);
    // Only the last 100 responses count.
    for (let sent = 0; sent < 100; sent++) await answer(10);
    expect(await answer(10)).toBe(10);
  });

  test("the estimate of the input follows what the provider reports for the model", async () => {
    const limit = 10_000_000;
    const route = await seed([tokens({ global: { limit, window: "1h", count: "input" } })]);
    const body = {
      messages: [{ role: "user", content: "The harbor waits for the northern wind. ".repeat(500) }],
    };
    const estimate = estimateRequestTokens({ ...CHAT, ...body });
    const reported = Math.round(estimate * 1.5);
    provider.behave({ usage: { input: reported, output: 1 } });
    expect(await reservedBy(route, limit, 0, body)).toBe(estimate);
    for (let sent = 1; sent < 30; sent++) await send(route, { body });
    const reserved = await reservedBy(route, limit, 30 * reported, body);
    expect(reserved / reported).toBeWithin(0.97, 1.001);
    const other = await reservedBy(route, limit, 31 * reported, { ...body, model: "gpt-other" });
    expect(other).toBe(estimate);
    const counting = await seedRoute(gatehouse, {
      gateway: route.gateway,
      upstream: { name: "counting", targets: [targetAt(provider)] },
      rule: { path: "/v1/messages/*" },
    });
    expect(counting.gateway).toBe(route.gateway);
    const counted = await fetch(`${gatehouse.proxyUrl}/v1/messages/count_tokens`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, ...body }),
    });
    expect(counted.headers.get("x-gw-estimated")).toBe("true");
    const { input_tokens } = (await counted.json()) as { input_tokens: number };
    expect(input_tokens).toBeWithin(reserved, reported + 2);
  });

  test("a rejection says limit, remaining, requested and retry_after, in the error format of the gateway", async () => {
    const route = await seed([tokens({ per_key: { limit: 1000, window: "1h" } })], {
      error_format: "openai",
    });
    const plain = await seed([tokens({ per_key: { limit: 1000, window: "1h" } })]);
    for (const each of [route, plain]) {
      for (let count = 0; count < 5; count++)
        expect((await send(each, { body: { max_tokens: 10 } })).status).toBe(200);
    }
    const { status, headers, text } = await send(plain, { body: { max_tokens: 985 } });
    expect([status, JSON.parse(text)]).toMatchObject([
      429,
      { error: "per_key token limit exceeded", code: "token_limit_exceeded", limit: 1000 },
    ]);
    const { remaining, requested, retry_after } = JSON.parse(text) as Record<string, number>;
    expect(requested).toBeGreaterThan(Number(remaining));
    expect(headers.get("retry-after")).toBe(String(retry_after));
    const typed = await send(route, { body: { max_tokens: 985 } });
    expect(JSON.parse(typed.text)).toMatchObject({ error: { code: "token_limit_exceeded" } });
  });

  test("a request that could never fit is 400 token_limit_unsatisfiable, also if another limit is full", async () => {
    const limiter = { name: "rate_limiter", stage: "pre_request" };
    const route = await seed([
      { ...limiter, settings: { limits: { global: { limit: 1, window: "1h" } } } },
      tokens({ global: { limit: 1000, window: "1h" } }),
    ]);
    expect((await send(route, { body: { max_tokens: 10 } })).status).toBe(200);
    const { status, text, headers } = await send(route, { body: { max_tokens: 600, n: 2 } });
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      { code: "token_limit_unsatisfiable", limit: 1000 },
    ]);
    expect(headers.get("x-should-retry")).toBe("false");
    expect((await send(route, { body: { max_tokens: 10 } })).status).toBe(429);
  });

  test("headers: the type's own, and OpenAI's for the tightest limit; the provider's move", async () => {
    provider.behave({
      headers: [
        ["x-ratelimit-remaining-tokens", "7"],
        ["x-ratelimit-limit-requests", "8"],
      ],
    });
    const route = await seed([
      tokens({
        per_key: [
          { limit: 5000, window: "6m" },
          { limit: 2000, window: "1h" },
        ],
        global: { limit: 9000, window: "1h" },
      }),
    ]);
    const { headers } = await send(route, { body: { max_tokens: 100 } });
    const found = Object.fromEntries(headers);
    expect(found).toMatchObject({
      "x-ratelimit-per_key_tokens-limit": "2000",
      "x-ratelimit-global_tokens-limit": "9000",
      "x-ratelimit-limit-tokens": "2000",
      "x-ratelimit-reset-tokens": expect.stringMatching(/^(1h0m0s|59m\d+s)$/),
      "x-gw-provider-ratelimit-remaining-tokens": "7",
      "x-gw-provider-ratelimit-limit-requests": "8",
    });
    expect(found["x-ratelimit-remaining-tokens"]).toBe(found["x-ratelimit-per_key_tokens-remaining"]);
    expect(found["x-ratelimit-limit-requests"]).toBeUndefined();
  });

  test("two limits of one type both hold, and models restrict a limit", async () => {
    const route = await seed([
      tokens({
        global: [
          { limit: 100_000, window: "1h" },
          { limit: 1000, window: "1m", models: ["gpt-*"] },
        ],
      }),
    ]);
    expect((await send(route, { body: { max_tokens: 2000 } })).status).toBe(400);
    expect((await send(route, { body: { model: "other", max_tokens: 2000 } })).status).toBe(200);
  });

  test.each([
    "text/plain",
    "application/octet-stream",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "",
  ])("JSON with the content type %p has the same tokens, and the models of limits", async (type) => {
    const headers = { "Content-Type": type };
    const route = await seed([tokens({ global: { limit: 1000, window: "1h" } })]);
    expect((await send(route, { headers, body: { max_tokens: 2000 } })).status).toBe(400);
    expect((await send(route, { headers, body: { max_tokens: "90", n: "20" } })).status).toBe(400);
    const messages = [{ role: "user", content: "one word and another ".repeat(100_000) }];
    expect((await send(route, { headers, body: { messages } })).status).toBe(400);
    expect(provider.requests).toHaveLength(0);
    const { headers: limits } = await send(route, { headers, body: { max_tokens: 900 } });
    expect(Number(limits.get("x-ratelimit-global_tokens-remaining"))).toBeLessThan(100);
    const ofModel = await seed([tokens({ global: { limit: 1000, window: "1h", models: ["gpt-*"] } })]);
    expect((await send(ofModel, { headers, body: { max_tokens: 2000 } })).status).toBe(400);
  });

  test.each([
    [
      "a form that is not multipart",
      "application/x-www-form-urlencoded",
      "model=gpt-fake",
      "Send a JSON object or a multipart form.",
    ],
    [
      "two models in JSON that is declared as text",
      "text/plain",
      `{"model":"other",${JSON.stringify(CHAT).slice(1)}`,
      "twice",
    ],
    ["JSON in UTF-16", "text/plain", Buffer.from(JSON.stringify(CHAT), "utf16le"), "looks like JSON"],
    [
      "JSON in UTF-16 with a byte order mark",
      "text/plain",
      Buffer.from(`\ufeff${JSON.stringify(CHAT)}`, "utf16le"),
      "looks like JSON",
    ],
    ["JSON with text after it", "text/plain", ` ${JSON.stringify(CHAT)} text`, "looks like JSON"],
    [
      "JSON with bytes that are no UTF-8",
      "application/octet-stream",
      Buffer.from(JSON.stringify({ ...CHAT, x: "\xff" }), "latin1"),
      "looks like JSON",
    ],
    [
      "JSON after much white space",
      "text/plain",
      `${" ".repeat(5000)}${JSON.stringify(CHAT)} text`,
      "looks like JSON",
    ],
    ["JSON in a list", "application/json", JSON.stringify([CHAT]), "looks like JSON"],
    [
      "a form that is not multipart",
      "application/x-www-form-urlencoded",
      "model=gpt-fake&prompt=Good+morning",
      "Send a JSON object or a multipart form",
    ],
    [
      "a further model that a router may use",
      "application/json",
      JSON.stringify({ ...CHAT, model: "other", models: ["other", "gpt-fake"] }),
      "names several models",
    ],
    [
      "two models in a multipart form",
      "multipart/form-data; boundary=x",
      ["other", "gpt-fake"]
        .map((model) => `--x\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n`)
        .join("") + "--x--\r\n",
      "Send exactly one part named model",
    ],
  ])("%s does not lead past the limits of a model", async (_, type, body, reason) => {
    const post = (route: SeededRoute) =>
      fetch(gatehouse.proxyUrl + route.path, { method: "POST", headers: { "Content-Type": type }, body });
    const limit = { limit: 100_000, window: "1h" };
    // Requests of the same API key whose model is not known, before and after.
    const ofModel = await seed([tokens({ global: { ...limit, models: ["gpt-*"] } })]);
    for (let count = 0; count < 3; count++) {
      const response = await post(ofModel);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(reason);
      expect((await send(ofModel, { headers: { "Content-Type": "text/csv" } })).status).toBe(200);
    }
    expect(provider.requests).toHaveLength(3);
    const ofEvery = await seed([tokens({ global: limit })]);
    await (await post(ofEvery)).bytes();
    expect(provider.requests).toHaveLength(4);
    // A recording does not look like it.
    const file = { method: "POST", headers: { "Content-Type": "audio/wav" }, body: "RIFF" };
    await (await fetch(gatehouse.proxyUrl + ofModel.path, file)).bytes();
    expect(provider.requests).toHaveLength(5);
  });

  test.each([
    ["/openai/deployments/gpt-fake/chat/completions", { model: "other" }],
    ["/v1/chat/completions?model=gpt-fake", { model: "other" }],
    ["/model/gpt-fake/invoke", { model: "other" }],
    ["/v1beta/models/gpt-fake:generateContent", { model: "other" }],
    ["/v1/chat/completions", { model: "other", fallbacks: ["gpt-fake"] }],
  ])("another model in %s does not lead past the limits of a model", async (path, body) => {
    const limits = { global: { limit: 100_000, window: "1h", models: ["gpt-*"] } };
    const prefix = `/named-${crypto.randomUUID()}`;
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [tokens(limits)] },
      upstream: { targets: [targetAt(provider, { path: "" })] },
      rule: { path: `${prefix}/*`, strip_path: true },
    });
    // Requests of the same API key whose model is known, before and after.
    for (let count = 0; count < 3; count++) {
      const response = await send({ ...route, path: prefix + path }, { body });
      expect(response.status).toBe(400);
      expect(response.text).toContain("names several models");
      const other = await send(
        { ...route, path: `${prefix}/v1/chat/completions` },
        { body: { model: "other" } },
      );
      expect(other.status).toBe(200);
    }
    expect(provider.requests).toHaveLength(3);
  });

  test.each([
    "/openai/deployments/gpt-fake/chat/completions",
    "/model/gpt-fake/invoke",
    "/v1/chat/completions?deployment=gpt-fake",
  ])("the model in %s is that of a body that names none", async (path) => {
    const prefix = `/unnamed-${crypto.randomUUID()}`;
    const limit = { limit: 1000, window: "1h", models: ["gpt-fake"] };
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [tokens({ global: limit })] },
      upstream: { targets: [targetAt(provider, { path: "" })] },
      rule: { path: `${prefix}/*`, strip_path: true },
    });
    const at = { ...route, path: prefix + path };
    expect((await send(at, { body: { model: undefined, max_tokens: 2000 } })).status).toBe(400);
    provider.behave({ usage: { input: 500, output: 300 } });
    const { status, headers } = await send(at, { body: { model: undefined, max_tokens: 300 } });
    expect([status, headers.get("x-gw-model")]).toEqual([200, "gpt-fake"]);
    const after = await send(at, { body: { model: undefined, max_tokens: 750 } });
    expect(after.status).toBe(429);
  });

  test.each([
    [100_000, 10_000 - 101],
    [9_000_000, 7500],
  ])(
    "a file of %p bytes is reserved by its size, at most with a quarter of the limit",
    async (size, left) => {
      const route = await seed([tokens({ global: { limit: 10_000, window: "1h", count: "input" } })]);
      const form = new FormData();
      form.set("model", "gpt-fake");
      form.set("file", new File([new Uint8Array(size)], "a.mp3"));
      const response = await fetch(gatehouse.proxyUrl + route.path, { method: "POST", body: form });
      await response.bytes();
      expect(response.headers.get("x-ratelimit-global_tokens-remaining")).toBe(String(left));
    },
  );

  test("a request that no target can serve gets the error that it has without limits", async () => {
    const limits = [tokens({ global: { limit: 10_000, window: "1h" } })];
    const errorsWith = async (plugins: readonly Fields[]) => {
      const anywhere = await seedRoute(gatehouse, {
        gateway: { required_plugins: plugins },
        upstream: { targets: [targetAt(provider)] },
        rule: { path: `/unserved-${plugins.length}/*` },
      });
      const required = await seedRoute(gatehouse, {
        gateway: { required_plugins: plugins },
        upstream: { targets: [targetAt(provider, { models: ["gpt-other"] })], model_routing: "require" },
      });
      const path = `/unserved-${plugins.length}/v1beta/models/gpt-fake:generateContent`;
      const responses = [await send({ ...anywhere, path }), await send(required)];
      return responses.map(({ status, text }) => [status, (JSON.parse(text) as { code: string }).code]);
    };
    const expected = await errorsWith([]);
    expect(expected[0]).toEqual([404, "operation_not_supported"]);
    expect(await errorsWith(limits)).toEqual(expected);
  });

  test("models of a limit are those that a virtual model may send, not its name", async () => {
    const route = await seed([
      tokens({
        global: { limit: 1000, window: "1h", models: ["gpt-sent"] },
        per_ip: { limit: 1000, window: "1h", models: ["nick"] },
      }),
    ]);
    const targets = [{ upstream: route.upstream, model: "gpt-sent" }];
    const created = await gatehouse.api("POST", `/gateways/${route.gateway}/models`, {
      name: "nick",
      targets,
    });
    expect(created.status).toBe(201);
    const { status, headers } = await send(route, { body: { model: "nick", max_tokens: 600 } });
    expect(status).toBe(200);
    expect(Number(headers.get("x-ratelimit-global_tokens-remaining"))).toBeWithin(300, 400);
    expect(headers.get("x-ratelimit-per_ip_tokens-limit")).toBeNull();
  });

  test("per_key, per_label and per_ip count their own subjects; keys without the label are not limited", async () => {
    const limit = { limit: 1000, window: "1h", count: "output" };
    const route = await seed([tokens({ "per_label:team": limit })]);
    const byKey = await seed([tokens({ per_key: limit })]);
    const byAddress = await seed([tokens({ per_ip: limit })]);
    const header = async (gateway: string, labels: Fields = {}) => {
      const { key } = await seedKey(gatehouse, gateway, { labels });
      return { "X-GW-API-Key": key };
    };
    provider.behave({ usage: { input: 1, output: 600 } });
    const body = { max_tokens: 600 };
    const [first, second] = [
      await header(route.gateway, { team: "search" }),
      await header(route.gateway, { team: "search" }),
    ];
    const used = await send(route, { body, headers: first });
    expect(used.headers.get("x-ratelimit-per_label.team_tokens-limit")).toBe("1000");
    expect(used.headers.get("x-ratelimit-per_label.team_tokens-remaining")).toBe("400");
    expect((await send(route, { body, headers: second })).status).toBe(429);
    expect((await send(route, { body, headers: await header(route.gateway, { team: "ads" }) })).status).toBe(
      200,
    );
    const unlimited = await send(route, { body, headers: await header(route.gateway) });
    expect([unlimited.status, unlimited.headers.get("x-ratelimit-per_label.team_tokens-limit")]).toEqual([
      200,
      null,
    ]);
    const one = await header(byKey.gateway);
    expect((await send(byKey, { body, headers: one })).status).toBe(200);
    expect((await send(byKey, { body, headers: one })).status).toBe(429);
    expect((await send(byKey, { body, headers: await header(byKey.gateway) })).status).toBe(200);
    expect((await send(byAddress, { body, headers: await header(byAddress.gateway) })).status).toBe(200);
    expect((await send(byAddress, { body, headers: await header(byAddress.gateway) })).status).toBe(429);
  });

  test("users of different keys do not share a limit, and a trusted header does", async () => {
    const limit = tokens({ per_user: { limit: 1000, window: "1h" } });
    for (const trust_user_header of [false, true]) {
      const route = await seed([limit], { trust_user_header });
      const keys = [await seedKey(gatehouse, route.gateway), await seedKey(gatehouse, route.gateway)];
      const statuses = [];
      for (const { key } of keys) {
        const headers = { "X-GW-API-Key": key, "X-User-ID": "mary" };
        statuses.push((await send(route, { headers, body: { max_tokens: 985 } })).status);
        await waitUntil(async () => (await remainingOf(route, headers)) < 1000);
      }
      expect(statuses).toEqual([200, trust_user_header ? 429 : 200]);
    }
  });

  test("a stream that is cut, and one whose client leaves, are charged and end their reservation", async () => {
    const route = await seed([tokens({ global: { limit: 10_000, window: "1h" } })]);
    provider.behave({ cutAfterChunks: 3 });
    await send(route, { body: { stream: true, max_tokens: 9000 } }).catch(() => null);
    await waitUntil(async () => (await remainingOf(route)) > 9000);
    expect(await remainingOf(route)).toBeLessThan(9999);
  });

  describe("the name at the end of a path does not hide the output", () => {
    const LIMIT = 10_000;
    const seedPath = (path: string, upstream: readonly Fields[]) =>
      seedRoute(gatehouse, {
        gateway: { required_plugins: [tokens({ global: { limit: LIMIT, window: "1h" } })] },
        upstream: { targets: upstream },
        rule: { path },
      });
    const OWN_PATH = { path: "/v1/chat/completions" };

    test.each([
      ["of a target with a path of its own", "embeddings", [targetAt(provider, OWN_PATH)]],
      ["of one of several targets", "rerank", [targetAt(provider), targetAt(provider, OWN_PATH)]],
      ["of a provider without the operation", "files", [targetAt(provider, { provider: "deepseek" })]],
    ])("%s", async (_, name, targets) => {
      const route = await seedPath(`/${crypto.randomUUID()}/${name}`, targets);
      const { headers } = await send(route, { body: { max_tokens: 9000 } });
      expect(Number(headers.get("x-ratelimit-remaining-tokens"))).toBeLessThan(LIMIT - 9000);
      expect((await send(route, { body: { max_tokens: LIMIT } })).status).toBe(400);
    });

    test("of a target of a virtual model with a path of its own", async () => {
      const route = await seedPath(`/${crypto.randomUUID()}/*`, [targetAt(provider)]);
      const at = `/gateways/${route.gateway}`;
      const own = { name: "own", targets: [targetAt(provider, OWN_PATH)] };
      const { id: upstream } = await create(gatehouse, `${at}/upstreams`, own);
      await create(gatehouse, `${at}/models`, {
        name: "virtual",
        targets: [{ upstream, model: "gpt-fake" }],
      });
      await gatehouse.api("PATCH", `${at}/services/${route.service}`, { virtual_models: "any" });
      const path = route.path.replace("*", "v1/messages/count_tokens");
      const body = { model: "virtual", max_tokens: LIMIT };
      expect(await send({ ...route, path }, { body })).toMatchObject({ status: 400 });
    });

    test("of a target that runs the operation: it has no output", async () => {
      const path = `/${crypto.randomUUID()}/v1/embeddings`;
      const route = await seedPath(path, [targetAt(provider, { path: "/v1/embeddings" })]);
      const { headers } = await send(route, { body: { input: "text" } });
      expect(Number(headers.get("x-ratelimit-remaining-tokens"))).toBeGreaterThan(LIMIT - 100);
    });
  });

  test("requests that run no model are not limited", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [tokens({ global: { limit: 1, window: "1h" } })] },
      upstream: { targets: [targetAt(provider)] },
      rule: { methods: ["GET", "POST"] },
    });
    expect((await fetch(gatehouse.proxyUrl + route.path)).headers.has("x-ratelimit-limit-tokens")).toBe(
      false,
    );
  });

  test("nor are they if their body arrives later", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [tokens({ global: { limit: 40, window: "1h" } })] },
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: `/${crypto.randomUUID()}/*` },
    });
    const at = (end: string) => ({ ...route, path: route.path.replace("*", end) });
    provider.behave({ usage: { input: 40, output: 0 } });
    expect((await send(at("v1/messages"), { body: { max_tokens: 10 } })).status).toBe(200);
    const body = JSON.stringify(CHAT);
    for (const [end, status] of [
      ["v1/messages", 429],
      ["v1/messages/count_tokens", 200],
    ] as const) {
      const { port, host } = new URL(gatehouse.proxyUrl);
      const client = await connectRaw(Number(port));
      const length = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
      client.send(`POST ${at(end).path} HTTP/1.1\r\nHost: ${host}\r\n${length}\r\nConnection: close\r\n\r\n`);
      if (status === 200) {
        // The gateway has read the headers when it has responded to a request that was sent after them.
        await send(at(end));
        client.send(body);
      }
      expect((await client.ended).received).toStartWith(`HTTP/1.1 ${status} `);
    }
  });

  test.each([
    ["an unknown type", { limits: { per_model: { limit: 1, window: "1m" } } }, "limits.per_model"],
    ["a limit of 0", { limits: { global: { limit: 0, window: "1m" } } }, "limits.global"],
    ["an empty list", { limits: { global: [] } }, "limits.global"],
    ["no limits", { limits: {} }, "limits"],
    [
      "a pattern that matches no model",
      { limits: { global: { limit: 1, window: "1m", models: ["gpt-4o*", "claude-*-4"] } } },
      "limits.global.models[1]",
    ],
    ["block", { limits: { global: { limit: 1, window: "1m" } }, actions: { type: "block" } }, "actions.type"],
  ])("settings with %s are rejected", async (_, settings, path) => {
    const response = await gatehouse.api("POST", "/gateways", {
      name: "invalid",
      subdomain: `invalid-${crypto.randomUUID()}`,
      required_plugins: [{ name: "token_limiter", stage: "pre_request", settings }],
    });
    expectError(response, 400, "validation_failed");
    expect(response.body.details[0].path).toStartWith(`required_plugins[0].settings.${path}`);
  });
});
