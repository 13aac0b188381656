// Game days on one node: each fault looks to clients like a provider with the same problem; what is matched, billed, counted and isolated.
import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { create, without as omit } from "../support/admin-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

interface Api {
  readonly name: string;
  readonly format: string;
  readonly path: (stream: boolean) => string;
  readonly body: object;
}

const messages = [{ role: "user", content: "hello there" }];
const APIS: readonly Api[] = [
  { name: "chat", format: "openai", path: () => "/v1/chat/completions", body: { messages } },
  { name: "messages", format: "anthropic", path: () => "/v1/messages", body: { messages, max_tokens: 50 } },
  { name: "responses", format: "responses", path: () => "/v1/responses", body: { input: "hello there" } },
  {
    name: "gemini",
    format: "gemini",
    path: (stream) =>
      `/v1beta/models/gemini-fake:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: { contents: [{ role: "user", parts: [{ text: "hello there" }] }] },
  },
];

let gateway = "";
let gameDays = "";
const timeouts = { connect: 5000, first_byte: 800, idle: 800 };

beforeAll(async () => {
  gateway = (await create(gatehouse, "/gateways", { name: "drills" })).id as string;
  gameDays = `/gateways/${gateway}/game-days`;
  for (const { name, format } of APIS)
    await addRoute(
      name,
      format === "gemini" ? "/v1beta/*" : APIS.find((api) => api.name === name)!.path(false),
      [{ provider: "fake", base_url: provider.url, format }],
    );
  // Nothing listens at this port.
  await addRoute("closed", "/closed/chat/completions", [
    { provider: "fake", base_url: "http://127.0.0.1:1" },
  ]);
  const target = { provider: "fake", base_url: provider.url, path: "/v1/chat/completions" };
  const health_checks = { passive: true, threshold: 3, interval: 60_000 };
  await addRoute("health", "/health/chat", [target], { health_checks });
  await addRoute("two", "/two/chat/completions", [
    { provider: "first", base_url: provider.url, path: "/v1/chat/completions", priority: 0 },
    { provider: "second", base_url: provider.url, path: "/v1/chat/completions", priority: 1 },
  ]);
});

async function addRoute(name: string, path: string, targets: object[], fields: object = {}): Promise<string> {
  const at = `/gateways/${gateway}`;
  const upstream = await create(gatehouse, `${at}/upstreams`, { name, targets, timeouts, ...fields });
  const service = await create(gatehouse, `${at}/services`, { name, upstream_id: upstream.id });
  const rule = { name, service_id: service.id, path, methods: ["POST"] };
  return (await create(gatehouse, `${at}/rules`, rule)).id as string;
}

afterEach(async () => {
  const { game_days } = (await gatehouse.api("GET", gameDays)).body as { game_days: { id: string }[] };
  for (const { id } of game_days) await gatehouse.api("DELETE", `${gameDays}/${id}`);
});

const drill = (fields: object) =>
  create(gatehouse, gameDays, {
    name: "drill",
    ends_at: new Date(Date.now() + 600_000).toISOString(),
    match: { headers: { "x-drill": "yes" } },
    ...fields,
  });
const stateOf = async (id: string) => (await gatehouse.api("GET", `${gameDays}/${id}/state`)).body;

function send(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ model: "gpt-fake", ...body }),
  });
}

const DRILL = { "x-drill": "yes" };
const chat = (headers: Record<string, string> = {}) => send("/v1/chat/completions", { messages }, headers);

/** What a client sees, without ids and times. */
async function seen(response: Response): Promise<object> {
  let text = "";
  let isBroken = false;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  } catch {
    isBroken = true;
  }
  const { headers, status } = response;
  const names = ["content-type", "x-gw-attempts", "x-gw-provider", "x-gw-model", "retry-after"];
  return {
    status,
    headers: names.map((name) => headers.get(name)),
    text: text
      .replaceAll(/,?"request_id":"[^"]*"/g, "")
      .replaceAll(/"(?:id|item_id|responseId|system_fingerprint|obfuscation)":"[^"]*",?/g, "")
      .replaceAll(/"(?:created|created_at|completed_at)":\d+/g, ""),
    isBroken,
  };
}

interface Case {
  readonly fault: Record<string, unknown>;
  /** What the provider does instead. */
  readonly fake: Behavior;
  readonly streams?: readonly boolean[];
}

const BOTH = [false, true];

const CASES: readonly Case[] = [
  { fault: { type: "delay", ms: 50 }, fake: { delayMs: 50 } },
  { fault: { type: "delay", ms: 5000 }, fake: { delayMs: 5000 } },
  { fault: { type: "status", status: 500 }, fake: { status: 500 } },
  { fault: { type: "status", status: 400 }, fake: { status: 400 } },
  { fault: { type: "cut" }, fake: { cutAfterChunks: 0 } },
  { fault: { type: "cut", after_events: 4 }, fake: { cutAfterChunks: 4 }, streams: [true] },
  { fault: { type: "stall" }, fake: { stallAfterChunks: 0 } },
  { fault: { type: "stall", after_events: 4 }, fake: { stallAfterChunks: 4 }, streams: [true] },
  { fault: { type: "slow", ms: 2 }, fake: { chunkDelayMs: 2 } },
  { fault: { type: "error_event" }, fake: { errorAfterChunks: 0 }, streams: [true] },
  { fault: { type: "error_event", after_events: 4 }, fake: { errorAfterChunks: 4 }, streams: [true] },
  { fault: { type: "empty" }, fake: { body: "" } },
];

/** Compares all APIs, with and without a stream, at once: most faults are waits. */
test.each(CASES)(
  "a fault looks like a provider with the same problem: %j",
  async ({ fault, fake, streams = BOTH }) => {
    await drill({ faults: [fault] });
    const compare = async (api: Api, stream: boolean) => {
      const type = stream ? "text/event-stream; charset=utf-8" : "application/json";
      const headers: [string, string][] = [["Content-Type", type]];
      const behavior = fault["type"] === "empty" ? { ...fake, headers } : fake;
      const body = { ...api.body, ...(stream && api.format !== "gemini" && { stream }) };
      const [expected, actual] = await Promise.all([
        send(api.path(stream), body, { "x-fake": JSON.stringify(behavior) }),
        send(api.path(stream), body, DRILL),
      ]);
      const faults = [expected, actual].map((response) => response.headers.get("x-gw-fault")?.split(", ")[0]);
      const [one, other] = await Promise.all([seen(expected), seen(actual)]);
      const what = [api.name, stream];
      expect([what, faults]).toEqual([what, [undefined, String(fault["type"])]]);
      expect([what, other]).toEqual([what, one]);
    };
    await Promise.all(APIS.flatMap((api) => streams.map((stream) => compare(api, stream))));
  },
);

describe.each(APIS.map((api) => [api.name, api] as const))("faults of %s", (_, api) => {
  test("truncated JSON and missing usage look like a provider that sends such bodies", async () => {
    const { id } = await drill({ faults: [{ type: "truncated_json" }] });
    const path = api.path(false);
    const whole = await (await send(path, api.body)).text();
    const half = whole.slice(0, Math.floor(whole.length / 2));
    const sendBody = (body: string) =>
      send(path, api.body, {
        "x-fake": JSON.stringify({ body, headers: [["Content-Type", "application/json"]] }),
      });
    const { text, ...rest } = (await seen(await send(path, api.body, DRILL))) as { text: string };
    const { text: expected, ...others } = (await seen(await sendBody(half))) as { text: string };
    expect(rest).toEqual(others);
    expect(Math.abs(text.length - expected.length)).toBeLessThan(40);
    await gatehouse.api("PATCH", `${gameDays}/${id}`, { faults: [{ type: "missing_usage" }] });
    const fields = JSON.parse(whole) as Record<string, unknown>;
    const without = omit(fields, "usage", "usageMetadata");
    const actual = await seen(await send(path, api.body, DRILL));
    expect(actual).toEqual(await seen(await sendBody(JSON.stringify(without))));
    const streamBody = { ...api.body, ...(api.format !== "gemini" && { stream: true }) };
    const normal = (await seen(await send(api.path(true), streamBody))) as { text: string };
    const stripped = (await seen(await send(api.path(true), streamBody, DRILL))) as { text: string };
    expect(stripped.text).not.toMatch(/"(?:usage|usageMetadata)":\{/);
    const deltas = (streamed: string) => streamed.match(/hello|there|Hello/g)?.length ?? 0;
    expect(deltas(stripped.text)).toBe(deltas(normal.text));
  });
});

test("a refused connection looks like a provider at which nothing listens", async () => {
  await drill({ faults: [{ type: "refuse" }] });
  const expected = await seen(await send("/closed/chat/completions", { messages }));
  const response = await chat(DRILL);
  expect(response.headers.get("x-gw-fault")).toBe("refuse, refuse");
  expect(await seen(response)).toEqual(expected);
  expect(provider.requestCount).toBe(0);
});

test("faults of some targets and attempts are answered by failover, and the verdict says so", async () => {
  const { id } = await drill({
    faults: [{ type: "status", status: 503, attempts: 1 }],
    expect: { success_ratio: 1, failover_ratio: 1, p99_ms: 60_000, min_requests: 3 },
  });
  for (let count = 0; count < 3; count++) {
    const response = await send("/two/chat/completions", { messages }, DRILL);
    expect([response.status, response.headers.get("x-gw-provider")]).toEqual([200, "second"]);
    expect(response.headers.get("x-gw-fault")).toBe("status");
    await response.text();
  }
  await (await chat()).text();
  expect(await stateOf(id)).toMatchObject({
    phase: "running",
    affected: { requests: 3, succeeded: 3, failed: 0, failed_over: 3 },
    others: { requests: 1, succeeded: 1 },
    by_fault: { status: 3 },
    verdict: "pending",
  });
  await gatehouse.api("POST", `${gameDays}/${id}/stop`, {});
  const state = await stateOf(id);
  expect(state).toMatchObject({ phase: "stopped", verdict: "passed" });
  expect(state.checks.map(({ check }: { check: string }) => check)).toEqual([
    "not_aborted",
    "min_requests",
    "success_ratio",
    "failover_ratio",
    "p99_ms",
  ]);
});

test("only requests that match all conditions are affected", async () => {
  const at = `/gateways/${gateway}`;
  const { rules } = (await gatehouse.api("GET", `${at}/rules?search=chat`)).body as {
    rules: { id: string; name: string }[];
  };
  const rule = rules.find(({ name }) => name === "chat")!.id;
  const keyOf = async (name: string, team: string) => {
    const body = { name, subject: gateway, labels: { team } };
    return (await create(gatehouse, "/iam/api-keys", body)) as { id: string; key: string };
  };
  const [search, billing] = [await keyOf("search", "search"), await keyOf("billing", "billing")];
  const { id } = await drill({ faults: [{ type: "status", status: 418 }] });
  const isAffected = async (
    match: object,
    key: string | null,
    model = "gpt-fake",
    path = APIS[0]!.path(false),
  ) => {
    await gatehouse.api("PUT", `${gameDays}/${id}`, {
      name: "drill",
      ends_at: new Date(Date.now() + 600_000).toISOString(),
      match,
      faults: [{ type: "status", status: 418 }],
    });
    const headers = key === null ? {} : { Authorization: `Bearer ${key}` };
    const response = await send(path, { model, messages, max_tokens: 5 }, headers);
    await response.text();
    return response.headers.has("x-gw-fault");
  };
  expect(await isAffected({}, null)).toBe(true);
  expect(await isAffected({ rules: [rule] }, null)).toBe(true);
  expect(await isAffected({ rules: [rule] }, null, "gpt-fake", "/v1/messages")).toBe(false);
  expect(await isAffected({ keys: [search.id] }, search.key)).toBe(true);
  expect(await isAffected({ keys: [search.id] }, billing.key)).toBe(false);
  expect(await isAffected({ keys: [search.id] }, null)).toBe(false);
  expect(await isAffected({ labels: { team: "search" } }, search.key)).toBe(true);
  expect(await isAffected({ labels: { team: "search" } }, billing.key)).toBe(false);
  expect(await isAffected({ models: ["gpt-*"] }, null)).toBe(true);
  expect(await isAffected({ models: ["gpt-*"] }, null, "other")).toBe(false);
  expect(await isAffected({ headers: { "Content-Type": "*" } }, null)).toBe(true);
  expect(await isAffected({ headers: { "x-other": "*" } }, null)).toBe(false);
  expect(await isAffected({ models: ["gpt-*"], labels: { team: "search" } }, billing.key)).toBe(false);
});

test("share affects a part of the requests, and max_requests at most that many", async () => {
  const { id } = await drill({ match: { share: 0.5 }, faults: [{ type: "status", status: 418 }] });
  const affected = async (count: number) => {
    const responses = await Promise.all(Array.from({ length: count }, () => chat()));
    await Promise.all(responses.map((response) => response.text()));
    return responses.filter(({ headers }) => headers.has("x-gw-fault")).length;
  };
  const half = await affected(100);
  expect(half).toBeGreaterThan(20);
  expect(half).toBeLessThan(80);
  await gatehouse.api("DELETE", `${gameDays}/${id}`);
  await drill({ match: {}, max_requests: 7, faults: [{ type: "status", status: 418 }] });
  expect(await affected(30)).toBe(7);
  expect(await affected(3)).toBe(0);
});

test("affected responses are not billed, and everything else about them is recorded", async () => {
  const budget = await create(gatehouse, `/gateways/${gateway}/budgets`, {
    name: "drills",
    unit: "tokens",
    amount: 1_000_000,
  });
  const spent = async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/budgets/${budget.id}/state`);
    return [body.spent, body.reserved] as unknown[];
  };
  await drill({ faults: [{ type: "slow", ms: 1 }] });
  const before = await spent();
  const response = await chat(DRILL);
  const requestId = response.headers.get("x-request-id")!;
  await response.text();
  expect(response.headers.get("x-gw-fault")).toBe("slow");
  await waitUntil(async () => (await spent())[1] === 0);
  expect(await spent()).toEqual(before);
  const recorded = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    const { requests } = body as { requests: { request_id: string }[] };
    return requests.find(({ request_id }) => request_id === requestId) ?? null;
  });
  expect(recorded).toMatchObject({ fault: "slow", cost: 0 });
  await (await chat()).text();
  await waitUntil(async () => Number((await spent())[0]) > 0);
  const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  expect(metrics).toMatch(/gatehouse_game_day_requests_total\{gateway="drills",fault="slow"\} \d/);
  await gatehouse.api("DELETE", `/gateways/${gateway}/budgets/${budget.id}`);
});

describe("health of targets", () => {
  const request = (headers: Record<string, string> = {}) => send("/health/chat", { messages }, headers);
  const failOften = async () => {
    for (let count = 0; count < 8; count++) await (await request(DRILL)).text();
  };

  test("isolated: affected requests see an ejection that others do not", async () => {
    await drill({ faults: [{ type: "status", status: 500 }] });
    await failOften();
    expect((await request(DRILL)).status).toBe(503);
    for (let count = 0; count < 4; count++) expect((await request()).status).toBe(200);
  });

  test("not isolated: the target is ejected for all requests", async () => {
    await drill({ isolated: false, faults: [{ type: "status", status: 500 }] });
    await failOften();
    expect((await request()).status).toBe(503);
  });
});

test("explain names the game day that may affect a request", async () => {
  const { id } = await drill({ faults: [{ type: "refuse" }, { type: "cut" }] });
  const explain = async (headers: Record<string, string>) => {
    const request = { method: "POST", path: "/v1/chat/completions", headers, body: { model: "m", messages } };
    return (await gatehouse.api("POST", `/gateways/${gateway}/explain`, request)).body.game_day as unknown;
  };
  expect(await explain(DRILL)).toEqual({ id, name: "drill", share: 1, faults: ["refuse", "cut"] });
  expect(await explain({})).toBeNull();
});

test("abort_if stops the game day by itself, and the verdict fails", async () => {
  const { id } = await drill({
    faults: [{ type: "status", status: 500 }],
    abort_if: { requests: "affected", error_ratio: 0.5, min_requests: 5 },
    expect: {},
  });
  for (let count = 0; count < 5; count++) await (await chat(DRILL)).text();
  const state = await waitFor(async () => {
    const now = await stateOf(id);
    return now.phase === "aborted" ? now : null;
  });
  expect(state).toMatchObject({ verdict: "failed", aborted: { reason: expect.stringContaining("5 of 5") } });
  const response = await chat(DRILL);
  await response.text();
  expect(response.headers.has("x-gw-fault")).toBe(false);
  await drill({ faults: [{ type: "refuse" }] });
});

test("a stalled response continues when the game day is stopped", async () => {
  const at = `/gateways/${gateway}`;
  const { upstreams } = (await gatehouse.api("GET", `${at}/upstreams?name=responses`)).body as {
    upstreams: { id: string }[];
  };
  const setTimeouts = (fields: object) =>
    gatehouse.api("PATCH", `${at}/upstreams/${upstreams[0]!.id}`, { timeouts: fields });
  await setTimeouts({ idle: 60_000 });
  const { id } = await drill({ faults: [{ type: "stall", after_events: 3 }] });
  const response = await send("/v1/responses", { input: "hello there", stream: true }, DRILL);
  await gatehouse.api("POST", `${gameDays}/${id}/stop`, {});
  // Otherwise the idle timeout would end it, without this event.
  expect(await response.text()).toContain("response.completed");
  await setTimeouts(timeouts);
});

test("nothing is injected before starts_at or after ends_at", async () => {
  const now = Date.now();
  const { id } = await drill({
    starts_at: new Date(now + 300_000).toISOString(),
    faults: [{ type: "refuse" }],
  });
  expect((await chat(DRILL)).status).toBe(200);
  expect((await stateOf(id)).phase).toBe("scheduled");
  await gatehouse.api("PATCH", `${gameDays}/${id}`, {
    starts_at: new Date(now).toISOString(),
  });
  expect((await chat(DRILL)).headers.has("x-gw-fault")).toBe(true);
  // A time in the past is rejected.
  await waitUntil(async () => {
    const ends_at = new Date(Date.now() + 500).toISOString();
    return (await gatehouse.api("PATCH", `${gameDays}/${id}`, { ends_at })).status === 200;
  });
  await waitUntil(async () => (await stateOf(id)).phase === "ended");
  expect((await chat(DRILL)).headers.has("x-gw-fault")).toBe(false);
});
