// The request log: records of finished requests, as a list and as a live stream.
import { describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  limiter,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  seedPlugins,
  STREAMED_CHAT,
} from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const env = { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) };
const [gatehouse, provider] = await Promise.all([useGatehouseProcess({ env }), useFakeProvider()]);

async function list({ gateway }: SeededRoute, query = ""): Promise<ApiResponse["body"][]> {
  const { status, body } = await gatehouse.api("GET", `/gateways/${gateway}/requests${query}`);
  expect(status).toBe(200);
  return body.requests;
}

/** Returns the newest record when there are at least `count`. */
async function newest(route: SeededRoute, count = 1): Promise<ApiResponse["body"]> {
  return waitFor(async () => {
    const records = await list(route);
    return records.length >= count ? records[0] : null;
  });
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe("a record", () => {
  test("of a served request is complete and has no body", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "served", required_plugins: [scripted("post_response", "")] },
      upstream: { targets: [targetAt(provider, { default_model: "gpt-fake" })] },
      rule: { name: "chat" },
    });
    const { id, key } = await seedKey(gatehouse, route.gateway, { name: "laptop" });
    provider.behave({ usage: { input: 11, output: 22 } });
    const before = Date.now();
    const headers = { "X-GW-API-Key": key, "X-Request-Id": "my-request" };
    await (await postChat(gatehouse, route, { headers, body: { ...CHAT, model: undefined } })).text();
    provider.reset();
    const record = await newest(route);
    const { body: upstream } = await gatehouse.api(
      "GET",
      `/gateways/${route.gateway}/upstreams/${route.upstream}`,
    );
    const target_id = upstream.targets[0].id;
    const served = { target_id, provider: "openai", model: "gpt-fake", status: 200 };
    expect(record).toEqual({
      request_id: "my-request",
      mirror_of: null,
      time: TIME,
      revision: expect.any(Number),
      gateway_id: route.gateway,
      gateway: "served",
      method: "POST",
      path: route.path,
      operation: "chat",
      rule: { id: route.rule, name: "chat", path: route.path },
      api_key: { id, name: "laptop" },
      outcome: "complete",
      error_code: null,
      requested_model: null,
      virtual_model: null,
      translation: null,
      stream: false,
      drained: false,
      ...served,
      attempts: [
        {
          ...served,
          fault: null,
          purpose: "request",
          retry_refused_by: null,
          start_ms: expect.any(Number),
          first_byte_ms: expect.any(Number),
          ms: expect.any(Number),
        },
      ],
      hedge: null,
      mcp: null,
      fault: null,
      tokens: { input: 11, output: 22, cached_input: 0, cache_write: 0, reasoning: 0, partial: false },
      cost: null,
      timings: {
        total_ms: expect.any(Number),
        first_byte_ms: expect.any(Number),
        first_token_ms: null,
        ms_per_output_token: null,
        body_ms: expect.any(Number),
        plugins_ms: expect.any(Number),
        upstream_ms: expect.any(Number),
      },
      shadow: [],
      plugins: [
        { name: "scripted", stage: "post_response", ms: expect.any(Number), verdict: "passed", detail: null },
      ],
    });
    expect(Date.parse(record.time)).toBeWithin(before - 1, Date.now() + 1);
    const { total_ms, first_byte_ms, body_ms, upstream_ms } = record.timings;
    expect(body_ms).toBeLessThan(first_byte_ms);
    expect(first_byte_ms).toBeLessThanOrEqual(total_ms);
    expect(upstream_ms).toBeLessThanOrEqual(total_ms);
    const [{ start_ms, ...attempt }] = record.attempts;
    expect(start_ms).toBeGreaterThanOrEqual(body_ms);
    expect(attempt.first_byte_ms).toBeLessThanOrEqual(attempt.ms);
  });

  test("of a failover has every attempt, and the target that served", async () => {
    const broken = await startFakeProvider();
    broken.behave({ status: 500 });
    const route = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(broken), targetAt(provider, { provider: "second", priority: 2 })],
      },
    });
    await (await postChat(gatehouse, route, { body: STREAMED_CHAT })).text();
    await broken.stop();
    const record = await newest(route);
    expect(record).toMatchObject({
      status: 200,
      provider: "second",
      stream: true,
      requested_model: "gpt-fake",
      virtual_model: null,
    });
    expect(record.attempts).toMatchObject([
      { provider: "openai", status: 500, fault: null },
      { provider: "second", status: 200, fault: null },
    ]);
    const [first, second] = record.attempts;
    expect(second.start_ms).toBeGreaterThanOrEqual(Number(first.start_ms) + Number(first.ms) - 0.02);
    expect(record.timings.first_byte_ms).toBeGreaterThanOrEqual(second.start_ms);
    expect(record.timings.first_token_ms).toBeGreaterThanOrEqual(record.timings.first_byte_ms);
  });

  test("of a stream that was cut, and of a provider that is unreachable", async () => {
    const breaking = await startFakeProvider();
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(breaking)] } });
    breaking.behave({ stallAfterChunks: 2 });
    const reader = (await postChat(gatehouse, route, { body: STREAMED_CHAT })).body?.getReader();
    await reader?.read();
    // The client has received a part of the stream.
    await breaking.stop();
    await waitUntil(async () => (await reader?.read().catch(() => null))?.value === undefined);
    expect(await newest(route)).toMatchObject({
      status: 200,
      outcome: "incomplete",
      attempts: [{ status: 200, fault: "cut" }],
    });

    const unreachable = await startFakeProvider();
    await unreachable.stop();
    const unserved = await seedRoute(gatehouse, { upstream: { targets: [targetAt(unreachable)] } });
    expect((await postChat(gatehouse, unserved)).status).toBe(502);
    expect(await newest(unserved)).toMatchObject({
      status: 502,
      outcome: "failed",
      error_code: "upstream_unreachable",
      provider: "openai",
      timings: { first_byte_ms: null },
      attempts: [{ fault: "unreachable", first_byte_ms: null }, { fault: "unreachable" }],
    });
  });

  test("of a request without a matching rule", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const { key } = await seedKey(gatehouse, route.gateway);
    await fetch(`${gatehouse.proxyUrl}/nowhere`, { headers: { "X-GW-API-Key": key } });
    expect(await newest(route)).toMatchObject({
      status: 404,
      outcome: "refused",
      error_code: "rule_not_found",
      rule: null,
      attempts: [],
      provider: null,
      timings: { first_byte_ms: null, upstream_ms: 0 },
    });
  });

  test("has the verdict and the detail of every plugin", async () => {
    const plugins = [
      limiter({ per_ip: [3, "1h"] }, {}, { priority: 1 }),
      scripted("pre_request", "context.setDetail('just looking')", { priority: 2 }),
      scripted("pre_request", "context.setHeader('x-a', 'b')", { priority: 3 }),
      scripted("pre_request", "throw new Error('no')", { priority: 4, on_error: "continue" }),
      scripted("pre_response", "context.replaceChunk(context.text)"),
    ];
    const route = await seedPlugins(gatehouse, provider, plugins);
    await (await postChat(gatehouse, route, { body: STREAMED_CHAT })).text();
    const verdicts = (record: ApiResponse["body"]) =>
      record.plugins.map((each: Record<string, unknown>) => [
        each["name"],
        each["stage"],
        each["verdict"],
        each["detail"],
      ]);
    const record = await newest(route);
    expect(verdicts(record)).toEqual([
      ["rate_limiter", "pre_request", "passed", null],
      ["scripted", "pre_request", "passed", "just looking"],
      ["scripted", "pre_request", "changed", null],
      ["scripted", "pre_request", "failed", null],
      ["scripted", "pre_response", "changed", null],
    ]);
    const sum = record.plugins.reduce((total: number, { ms }: { ms: number }) => total + ms, 0);
    expect(record.timings.plugins_ms).toBeCloseTo(sum, 1);
    for (let call = 0; call < 3; call++) await (await postChat(gatehouse, route)).text();
    const rejected = await newest(route, 4);
    expect(rejected).toMatchObject({ status: 429, outcome: "refused", error_code: "rate_limit_exceeded" });
    expect(verdicts(rejected)).toEqual([["rate_limiter", "pre_request", "answered", "per_ip limit reached"]]);
  });
});

describe("bodies", () => {
  const SECRET = "a-credential/of-no-known+shape";

  test("are recorded only with log_bodies, truncated, and without credentials", async () => {
    const target = { credentials: { header_name: "X-Provider-Key", header_value: SECRET } };
    const route = await seedRoute(gatehouse, {
      gateway: { log_bodies: true },
      upstream: { targets: [targetAt(provider, target)] },
    });
    const chat = (content: string) => ({ ...CHAT, messages: [{ role: "user", content }] });
    // A provider that returns the credential that it received.
    provider.behave((request) => ({
      text: `echo ${request.header("x-provider-key") ?? ""} and ${"z".repeat(20_000)}`,
    }));
    await (await postChat(gatehouse, route, { body: chat("my key is sk-0123456789abcdef") })).text();
    const { bodies } = await newest(route);
    expect(bodies.request).toBe(JSON.stringify(chat("my key is sk-***")));
    expect(bodies.response).toContain("echo *** and");
    expect(bodies.response).not.toContain(SECRET);
    expect(bodies.response).toEndWith("…");
    expect(bodies.response.length).toBeLessThan(16_500);

    provider.behave({ text: "one two three" });
    await (await postChat(gatehouse, route, { body: { ...chat("stream"), stream: true } })).text();
    const streamed = await newest(route, 2);
    expect(streamed.bodies.response).toStartWith("data: ");
    expect(streamed.bodies.response).toContain("[DONE]");

    await (await postChat(gatehouse, route, { body: "{not json" })).text();
    const rejected = await newest(route, 3);
    expect(rejected.bodies.request).toBe("{not json");
    expect(JSON.parse(rejected.bodies.response)).toMatchObject({ code: "invalid_json" });

    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { log_bodies: false });
    await (await postChat(gatehouse, route)).text();
    provider.reset();
    expect(await newest(route, 4)).not.toHaveProperty("bodies");
  });

  test.each(["gzip", "br", "deflate", "zstd"] as const)("in %s are recorded decoded", async (encoding) => {
    const route = await seedRoute(gatehouse, {
      gateway: { log_bodies: true },
      upstream: { targets: [targetAt(provider)] },
    });
    const follower = await follow(gatehouse, route.gateway);
    provider.behave({ encoding, body: "the key sk-0123456789abcdef" });
    const headers = { "Content-Type": "application/json", "Content-Encoding": "gzip" };
    const body = Bun.gzipSync(JSON.stringify(CHAT));
    const url = gatehouse.proxyUrl + route.path;
    const response = await fetch(url, { method: "POST", headers, body, decompress: false });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    await response.bytes();
    provider.behave({ body: "not encoded", headers: [["Content-Encoding", encoding]] });
    await (await fetch(url, { method: "POST", headers, body: "no gzip", decompress: false })).bytes();
    provider.reset();
    const invalid = (await newest(route, 2)).bodies;
    expect(invalid.request).toBe("(7 bytes in gzip that cannot be decoded)");
    const [, { bodies }] = await list(route);
    expect(JSON.parse(bodies.request)).toEqual(CHAT);
    expect(bodies.response).toBe("the key sk-***");
    await waitUntil(() => follower.records().length === 2);
    expect(follower.records().map((record) => record.bodies)).toEqual([bodies, invalid]);
    follower.stop();
  });

  test("other fields that clients choose are redacted", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider)] },
      rule: { path: "/secretive/*" },
    });
    const secret = "sk-abcdefghijklmnopqrst";
    await fetch(`${gatehouse.proxyUrl}/secretive/${secret}?key=${secret}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, model: secret.repeat(100) }),
    });
    const record = await newest(route);
    expect(JSON.stringify(record)).not.toContain(secret);
    expect(record.path).toBe("/secretive/sk-***");
    expect(record.requested_model.length).toBeLessThan(600);
  });
});

describe("the list", () => {
  test("is bounded, counted and filtered", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const post = (body: unknown, id: string) =>
      postChat(gatehouse, route, { body, headers: { "X-Request-Id": id } }).then((response) =>
        response.text(),
      );
    await post(CHAT, "good-1");
    await post("no json", "bad-1");
    // The last one must end in a later millisecond, because `since` is compared with it.
    const lastMillisecond = Date.now();
    await waitUntil(() => Date.now() > lastMillisecond);
    await post({ ...CHAT, model: "gpt-other" }, "good-2");
    await newest(route, 3);
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests?limit=2`);
    expect(body).toMatchObject({ count: 3, limit: 2 });
    const ids = async (query: string) => (await list(route, query)).map((record) => record.request_id);
    expect(await ids("")).toEqual(["good-2", "bad-1", "good-1"]);
    expect(await ids("?status=4xx")).toEqual(["bad-1"]);
    expect(await ids("?status=200&model=gpt-other")).toEqual(["good-2"]);
    expect(await ids(`?outcome=complete&rule_id=${route.rule}&provider=openai`)).toEqual([
      "good-2",
      "good-1",
    ]);
    expect(await ids("?request_id=good-1")).toEqual(["good-1"]);
    expect(await ids("?api_key_id=unknown")).toEqual([]);
    const [latest] = await list(route);
    expect(await ids(`?since=${latest.time}`)).toEqual(["good-2"]);
    expect(await ids("?since=2100-01-01T00:00:00%2B01:00")).toEqual([]);
  });

  test("rejects invalid parameters and unknown gateways", async () => {
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const get = (query: string) => gatehouse.api("GET", `/gateways/${gateway}/requests?${query}`);
    expectProblemsAt(await get("status=6xx"), "?status");
    expectProblemsAt(await get("outcome=good"), "?outcome");
    expectProblemsAt(await get("since=yesterday"), "?since");
    expectProblemsAt(await get("limit=0"), "?limit");
    expectProblemsAt(await get("offset=1"), "?offset");
    expectError(await gatehouse.api("GET", "/gateways/nothing/requests"), 404, "not_found");
    expectError(await gatehouse.api("GET", "/gateways/nothing/requests/stream"), 404, "not_found");
  });
});

interface Follower {
  /** The records of all `request` events so far. */
  readonly records: () => ApiResponse["body"][];
  readonly status: number;
  readonly ended: Promise<void>;
  stop(): void;
}

async function follow(of: GatehouseProcess, gateway: string, query = ""): Promise<Follower> {
  const abort = new AbortController();
  const response = await fetch(`${of.adminUrl}/api/v1/gateways/${gateway}/requests/stream${query}`, {
    headers: { Authorization: `Bearer ${of.token}` },
    signal: abort.signal,
  });
  let text = "";
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined);
  if (response.status === 200) {
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await waitUntil(() => text.startsWith(":"));
  }
  const records = () =>
    [...text.matchAll(/^event: request\ndata: (.+)$/gm)].map(([, data = ""]) => JSON.parse(data));
  return { records, status: response.status, ended, stop: () => abort.abort() };
}

describe("live", () => {
  test("each follower gets the matching records, as in the list", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const other = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const all = await follow(gatehouse, route.gateway);
    const failed = await follow(gatehouse, route.gateway, "?status=4xx");
    await (await postChat(gatehouse, other)).text();
    await (await postChat(gatehouse, route)).text();
    await (await postChat(gatehouse, route, { body: "no json" })).text();
    await waitUntil(() => all.records().length >= 2 && failed.records().length >= 1);
    expect(all.records().reverse()).toEqual(await list(route));
    expect(failed.records()).toMatchObject([{ status: 400, error_code: "invalid_json" }]);
    all.stop();
    failed.stop();
  });

  test("at most 32 followers; one that disconnects frees its place", async () => {
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const followers: Follower[] = [];
    // Followers of the previous test may still be connected.
    await waitUntil(async () => {
      const one = await follow(gatehouse, gateway);
      if (one.status === 200) followers.push(one);
      return one.status === 429;
    });
    expect(followers.length).toBeLessThanOrEqual(32);
    await waitUntil(async () => {
      followers.pop()?.stop();
      const one = await follow(gatehouse, gateway);
      if (one.status !== 200) return false;
      followers.push(one);
      return true;
    });
    for (const each of followers) each.stop();
  });
});

describe("other processes", () => {
  test("REQUEST_LOG_SIZE limits it, and a follower does not delay the shutdown", async () => {
    const small = await startGatehouseProcess({ env: { REQUEST_LOG_SIZE: "2" } });
    try {
      const route = await seedRoute(small, { upstream: { targets: [targetAt(provider)] } });
      for (let call = 0; call < 4; call++) await (await postChat(small, route)).text();
      const { body } = await small.api("GET", `/gateways/${route.gateway}/requests`);
      expect(body.count).toBe(2);
      const follower = await follow(small, route.gateway);
      small.signal("SIGTERM");
      await follower.ended;
      expect(await small.exited).toBe(0);
    } finally {
      await small.stop();
    }
  }, 60_000);

  test("a busy gateway does not push out the records of a quiet one", async () => {
    const small = await startGatehouseProcess({ env: { REQUEST_LOG_SIZE: "4" } });
    try {
      const [quiet, busy] = [
        await seedRoute(small, { upstream: { targets: [targetAt(provider)] } }),
        await seedRoute(small, { upstream: { targets: [targetAt(provider)] } }),
      ];
      const countOf = async ({ gateway }: SeededRoute) =>
        (await small.api("GET", `/gateways/${gateway}/requests`)).body.count;
      for (let call = 0; call < 2; call++) await (await postChat(small, quiet)).text();
      for (let call = 0; call < 8; call++) await (await postChat(small, busy)).text();
      await waitUntil(async () => (await countOf(busy)) >= 2);
      expect([await countOf(quiet), await countOf(busy)]).toEqual([2, 2]);
    } finally {
      await small.stop();
    }
  }, 60_000);

  test("REQUEST_LOG_SIZE 0 turns it off", async () => {
    const off = await startGatehouseProcess({ env: { REQUEST_LOG_SIZE: "0" } });
    try {
      const route = await seedRoute(off, { upstream: { targets: [targetAt(provider)] } });
      expect((await postChat(off, route)).status).toBe(200);
      const at = `/gateways/${route.gateway}/requests`;
      expectError(await off.api("GET", at), 404, "request_log_off");
      expectError(await off.api("GET", `${at}/stream`), 404, "request_log_off");
    } finally {
      await off.stop();
    }
  }, 60_000);
});
