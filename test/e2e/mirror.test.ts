// Mirrors of virtual models: when a copy is sent, what it costs and whom, what is not copied, and where its result is found.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { CHAT_REQUEST } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess, startWithProviders } from "../support/gatehouse-in-process.ts";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { eventLoopTurns, passTimeUntil, waitFor, waitUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("main", "copy");
const [main, copy] = providers;
const CREDENTIALS = { header_name: "authorization", header_value: "Bearer secret-of-the-mirror" };

const post = async (path: string, body: object) => {
  const response = await gatehouse.api("POST", path, body);
  expect(response.body).not.toHaveProperty("error");
  return String(response.body.id);
};

const gatewayId = await post("/gateways", {
  name: "mirrored",
  prices: [
    { model: "new", per_request: "0.01" },
    { model: "old", per_request: "0.5" },
  ],
});
const gateway = `/gateways/${gatewayId}`;
const served = await post(`${gateway}/upstreams`, {
  name: "served",
  targets: [{ provider: "main", base_url: main.url, path: "/v1/chat/completions" }],
});
const mirrorUpstream = await post(`${gateway}/upstreams`, {
  name: "mirror",
  targets: [{ provider: "copy", base_url: copy.url, path: "/v1/chat/completions", credentials: CREDENTIALS }],
  health_checks: { passive: true, threshold: 1, interval: 60 },
});
const service = await post(`${gateway}/services`, {
  name: "chat",
  upstream_id: served,
  virtual_models: "any",
});
await post(`${gateway}/rules`, { service_id: service, path: "/chat", methods: ["POST"] });
const model = `${gateway}/models/${await post(`${gateway}/models`, {
  name: "assistant",
  targets: [{ upstream: served, model: "old" }],
  mirror: { target: { upstream: mirrorUpstream, model: "new" }, share: 1 },
})}`;

// Before the next test resets the providers: a copy that arrives later would be counted for that test.
afterEach(() => settled());
beforeEach(() => clock.advance(120_000));

let sent = 0;
async function send(body: object = {}, headers: Record<string, string> = {}) {
  const id = `request-${++sent}`;
  const response = await fetch(`${gatehouse.proxyUrl}/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Request-Id": id, ...headers },
    body: JSON.stringify({ ...CHAT_REQUEST, model: "assistant", ...body }),
  });
  return { id, response, text: await response.text() };
}

async function metric(name: string, labels: string): Promise<number> {
  const page = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  const line = page.split("\n").find((each) => each.startsWith(`${name}{`) && each.includes(labels));
  return Number(line?.split(" ").at(-1) ?? 0);
}

const recordsOf = async (id: string) =>
  (await gatehouse.api("GET", `${gateway}/requests?request_id=${id}`)).body.requests as Record<
    string,
    unknown
  >[];

/** Waits for the record of the copy of a request. */
const copyRecord = (id: string) =>
  waitFor(async () => (await recordsOf(id)).find(({ mirror_of }) => mirror_of === id) ?? null);

/** Waits until no copy is in progress. */
const settled = () => waitUntil(() => copy.requests.every(({ finished, aborted }) => finished || aborted));

test("a copy gets the model of the mirror and its credential, and its result is in the request log", async () => {
  const { id, response } = await send({}, { "Idempotency-Key": "once" });
  const record = await copyRecord(id);
  const [received] = copy.requests;
  expect(received?.json()).toEqual({ ...CHAT_REQUEST, model: "new" });
  expect(received?.header("authorization")).toBe(CREDENTIALS.header_value);
  expect(received?.header("idempotency-key")).toBeUndefined();
  expect(main.requests[0]?.header("idempotency-key")).toBe("once");
  expect(record).toMatchObject({
    mirror_of: id,
    status: 200,
    outcome: "complete",
    provider: "copy",
    model: "new",
    requested_model: "assistant",
    virtual_model: { name: "assistant" },
    attempts: [{ purpose: "mirror", status: 200 }],
    cost: 0.01,
  });
  expect(record["tokens"]).not.toBeNull();
  expect(record["request_id"]).not.toBe(id);
  const original = (await recordsOf(id)).find(({ request_id }) => request_id === id);
  expect(original).toMatchObject({ mirror_of: null, provider: "main", model: "old", cost: 0.5 });
  expect(original?.["attempts"]).toHaveLength(1);
  expect(response.headers.get("x-gw-model")).toBe("old");
  expect(response.headers.get("x-gw-attempts")).toBe("1");
  expect([...response.headers.keys()].filter((name) => name.includes("mirror"))).toEqual([]);
  expect(gatehouse.output()).toContain(`"mirror_of":"${id}"`);
});

test("the copy is sent after the first byte of the response, and the response does not wait for it", async () => {
  copy.behave({ delayMs: 3_600_000 });
  main.behave({ delayMs: 5000, chunkDelayMs: 1000, chunks: 3 });
  const sent = fetch(`${gatehouse.proxyUrl}/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...CHAT_REQUEST, model: "assistant", stream: true }),
  });
  await main.until(() => main.requestCount === 1);
  await eventLoopTurns();
  expect(copy.requestCount).toBe(0);
  const response = await passTimeUntil(clock, sent);
  const reader = response.body!.getReader();
  await reader.read();
  await copy.until(() => copy.requestCount === 1);
  expect(main.requests[0]?.finished).toBe(false);
  const readAll = async () => {
    while (!(await reader.read()).done);
  };
  await passTimeUntil(clock, readAll());
  expect(main.requests[0]?.finished).toBe(true);
  expect(copy.requests[0]?.finished).toBe(false);
  clock.advance(600_000);
  await waitUntil(() => copy.requests[0]?.aborted === true);
  await waitUntil(async () => (await metric("gatehouse_mirrors_total", 'result="failed"')) === 1);
});

test("no copy is sent if the response has no first byte", async () => {
  main.behave({ status: 503 });
  const failed = await send();
  expect(failed.response.status).toBe(503);
  main.behave({ status: 400 });
  expect((await send()).response.status).toBe(400);
  await eventLoopTurns();
  expect(copy.requestCount).toBe(0);
});

test("streams are read to their end", async () => {
  copy.behave({ usage: { input: 11, output: 7 } });
  const { id, text } = await send({ stream: true });
  expect(text).toEndWith("data: [DONE]\n\n");
  expect(await copyRecord(id)).toMatchObject({
    stream: true,
    tokens: { input: 11, output: 7, partial: false },
    timings: { first_token_ms: expect.any(Number) },
  });
  expect(copy.requests[0]?.finished).toBe(true);
});

test("a failed copy is not repeated, and changes nothing for clients", async () => {
  copy.behave({ status: 500 });
  const { id } = await send();
  expect(await copyRecord(id)).toMatchObject({ status: 500, attempts: [{ status: 500 }] });
  expect(copy.requestCount).toBe(1);
  const states = async () => {
    const { body } = await gatehouse.api("GET", `${gateway}/upstreams/${mirrorUpstream}/health`);
    return JSON.stringify(body);
  };
  expect(await states()).toContain("healthy");
  // One failure ejects the target for copies.
  const skipped = await metric("gatehouse_mirrors_skipped_total", 'reason="unavailable"');
  await send();
  await waitUntil(
    async () => (await metric("gatehouse_mirrors_skipped_total", 'reason="unavailable"')) === skipped + 1,
  );
  expect(copy.requestCount).toBe(1);
});

test("copies are charged to the budgets of the gateway, and to no API key, label or user", async () => {
  const budgets = new Map<string, string>();
  const fields = { unit: "usd", amount: "100", period: "total" };
  for (const [name, scope] of Object.entries({
    gateway: { scope: "gateway" },
    model: { scope: "model", value: null, each: true },
    key: { scope: "api_key", each: true },
    user: { scope: "user", each: true },
    label: { scope: "label", label: "team", each: true },
  }))
    budgets.set(
      name,
      `${gateway}/budgets/${await post(`${gateway}/budgets`, { name, ...fields, ...scope })}`,
    );
  const { key } = await seedKey(gatehouse, gatewayId, { name: "k", labels: { team: "a" } });
  const { id } = await send({}, { "X-GW-API-Key": key, "X-User-ID": "u" });
  expect(await copyRecord(id)).toMatchObject({ cost: 0.01, api_key: { name: "k" } });
  const spent = async (name: string) => {
    const { body } = await gatehouse.api("GET", `${budgets.get(name) ?? ""}/state`);
    return Number(body.spent);
  };
  await waitUntil(async () => (await spent("gateway")) === 0.51);
  const all = await Promise.all(["gateway", "model", "key", "user", "label"].map(spent));
  expect(all).toEqual([0.51, 0.51, 0.5, 0.5, 0.5]);
  clock.advance(1000);
  const rows = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `${gateway}/usage?group_by=purpose,api_key`);
    const found = (body.usage as Record<string, unknown>[]).filter(({ api_key: name }) => name === "k");
    const mirrored = (body.usage as Record<string, unknown>[]).filter(({ purpose }) => purpose === "mirror");
    return found.length > 0 && mirrored.length > 0 ? { found, mirrored } : null;
  });
  expect(rows.found).toMatchObject([{ purpose: "request", requests: 1, cost: 0.5 }]);
  expect(rows.mirrored).toMatchObject([{ api_key: null }]);
  for (const budget of budgets.values()) await gatehouse.api("DELETE", budget);
});

test("if a budget has not enough left, no copy is sent, and the request is served", async () => {
  const budget = `${gateway}/budgets/${await post(`${gateway}/budgets`, {
    name: "small",
    unit: "usd",
    amount: "0.505",
    period: "total",
    scope: "gateway",
  })}`;
  const before = await metric("gatehouse_mirrors_skipped_total", 'reason="budget"');
  expect((await send()).response.status).toBe(200);
  await waitUntil(async () => (await metric("gatehouse_mirrors_skipped_total", 'reason="budget"')) > before);
  expect(copy.requestCount).toBe(0);
  const { body } = await gatehouse.api("GET", `${budget}/state`);
  expect([Number(body.spent), Number(body.reserved)]).toEqual([0.5, 0]);
  await gatehouse.api("DELETE", budget);
});

test.each([
  ["store", { store: true }],
  ["background", { background: true }],
  ["tools of the provider", { tools: [{ type: "web_search" }] }],
  ["web search", { web_search_options: { user_location: {} } }],
])("requests with %s are not copied", async (_, fields) => {
  const before = await metric("gatehouse_mirrors_skipped_total", 'reason="unsuitable"');
  expect((await send(fields)).response.status).toBe(200);
  await waitUntil(
    async () => (await metric("gatehouse_mirrors_skipped_total", 'reason="unsuitable"')) === before + 1,
  );
  expect(copy.requestCount).toBe(0);
  const explained = await gatehouse.api("POST", `${gateway}/explain`, {
    path: "/chat",
    body: { ...CHAT_REQUEST, model: "assistant", ...fields },
  });
  expect(explained.body.virtual_model.mirror).toMatchObject({ copied: false });
});

test("the copy is translated to the format of the mirror", async () => {
  const format = { provider: "copy", base_url: copy.url, path: "/v1/messages", format: "anthropic" };
  const translated = await post(`${gateway}/upstreams`, {
    name: "other format",
    targets: [{ ...format, credentials: CREDENTIALS }],
  });
  await gatehouse.api("PATCH", model, { mirror: { target: { upstream: translated, model: "new" } } });
  for (const stream of [false, true]) {
    copy.reset();
    const { id } = await send({ stream });
    expect(await copyRecord(id)).toMatchObject({
      status: 200,
      outcome: "complete",
      translation: { from: "openai", to: "anthropic" },
      tokens: { partial: false },
    });
    expect(copy.requests[0]?.target).toBe("/v1/messages");
    expect(copy.requests[0]?.json()).toMatchObject({ model: "new", messages: [{ role: "user" }] });
  }
  await gatehouse.api("PATCH", model, { mirror: { target: { upstream: mirrorUpstream, model: "new" } } });
});

test("the credential of a client is not used for copies", async () => {
  const open = { provider: "copy", base_url: copy.url, path: "/v1/chat/completions" };
  const upstream = await post(`${gateway}/upstreams`, { name: "without credential", targets: [open] });
  await gatehouse.api("PATCH", model, { mirror: { target: { upstream, model: "new" } } });
  const before = await metric("gatehouse_mirrors_skipped_total", 'reason="unsuitable"');
  await send({}, { Authorization: "Bearer sk-of-the-client" });
  await waitUntil(
    async () => (await metric("gatehouse_mirrors_skipped_total", 'reason="unsuitable"')) === before + 1,
  );
  expect(copy.requestCount).toBe(0);
  const { id } = await send();
  await copyRecord(id);
  await gatehouse.api("PATCH", model, { mirror: { target: { upstream: mirrorUpstream, model: "new" } } });
});

test("a key that may not use the model of the mirror gets no copies", async () => {
  const { key } = await seedKey(gatehouse, gatewayId, { models: ["assistant", "old"] });
  const before = await metric("gatehouse_mirrors_skipped_total", 'reason="unsuitable"');
  expect((await send({}, { "X-GW-API-Key": key })).response.status).toBe(200);
  await waitUntil(
    async () => (await metric("gatehouse_mirrors_skipped_total", 'reason="unsuitable"')) === before + 1,
  );
  expect(copy.requestCount).toBe(0);
});

test("the id of the request decides about the share, and explain agrees", async () => {
  await gatehouse.api("PATCH", model, { mirror: { share: 0.3 } });
  let copies = 0;
  for (let count = 0; count < 60; count++) {
    const { id } = await send();
    const { body } = await gatehouse.api("POST", `${gateway}/explain`, {
      path: "/chat",
      headers: { "X-Request-Id": id },
      body: { ...CHAT_REQUEST, model: "assistant" },
    });
    const { copied, share } = body.virtual_model.mirror;
    expect(share).toBe(0.3);
    if (copied === true) copies++;
  }
  await copy.until(() => copy.requestCount === copies);
  expect(copies).toBeGreaterThan(4);
  expect(copies).toBeLessThan(40);
  const { body } = await gatehouse.api("POST", `${gateway}/explain`, {
    path: "/chat",
    body: { ...CHAT_REQUEST, model: "assistant" },
  });
  expect(body.virtual_model.mirror).toMatchObject({ copied: null, model: "new", upstream: "mirror" });
  await gatehouse.api("PATCH", model, { mirror: { share: 0 } });
  await send();
  await eventLoopTurns();
  expect(copy.requestCount).toBe(copies);
  await gatehouse.api("PATCH", model, { mirror: { share: 1 } });
});

test("at most 64 copies of a gateway are in progress, and metrics of requests do not count them", async () => {
  copy.behave({ delayMs: 3_600_000 });
  const before = await metric("gatehouse_mirrors_skipped_total", 'reason="limit"');
  const requests = await metric("gatehouse_request_outcomes_total", 'outcome="complete"');
  await Promise.all(Array.from({ length: 70 }, () => send()));
  await copy.until(() => copy.requestCount === 64);
  expect(await metric("gatehouse_mirrors_skipped_total", 'reason="limit"')).toBe(before + 6);
  expect(await metric("gatehouse_request_outcomes_total", 'outcome="complete"')).toBe(requests + 70);
  expect(await metric("gatehouse_requests_in_flight", "")).toBe(0);
  clock.advance(600_000);
  await waitUntil(() => copy.requests.every(({ aborted }) => aborted));
});

test("stopping aborts copies and records them", async () => {
  const stopping = await startGatehouseInProcess();
  const provider = await startFakeProvider({ name: "both" });
  const target = { provider: "both", base_url: provider.url, path: "/v1/chat/completions" };
  const api = async (path: string, body: object) => String((await stopping.api("POST", path, body)).body.id);
  const at = `/gateways/${await api("/gateways", { name: "stopping" })}`;
  const upstream = await api(`${at}/upstreams`, { name: "u", targets: [target] });
  const service_id = await api(`${at}/services`, { name: "s", upstream_id: upstream });
  await api(`${at}/rules`, { service_id, path: "/chat", methods: ["POST"] });
  await api(`${at}/models`, {
    name: "assistant",
    targets: [{ upstream, model: "old" }],
    mirror: { target: { upstream, model: "new" }, share: 1 },
  });
  provider.behave((request) =>
    (request.json() as { model: string }).model === "new" ? { delayMs: 60_000 } : {},
  );
  await fetch(`${stopping.proxyUrl}/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...CHAT_REQUEST, model: "assistant" }),
  });
  await provider.until(() => provider.requestCount === 2);
  await stopping.stop();
  await waitUntil(() => provider.requests.some(({ aborted }) => aborted));
  expect(stopping.output()).toContain('"mirrored request"');
  await provider.stop();
});
