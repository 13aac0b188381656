// Sends random values through pii_mask with every sink on, in requests that succeed, fail, are aborted and blocked, and searches for them
// wherever the gateway writes: providers, logs, request log, traces, metrics, shadow reports, audit log, database, and Redis.
import { afterAll, expect, test } from "bun:test";
import { createDecipheriv, hkdfSync } from "node:crypto";
import { rmSync } from "node:fs";
import { isJsonObject } from "../../src/base/json.ts";
import type { Behavior } from "../../src/fake-provider/behavior.ts";
import type { RecordedRequest } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { TEST_SECRET } from "../support/gatehouse-process.ts";
import { filesWith, formsOf, found } from "../support/leak-search.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { EMPLOYEE, newCanaries, unmistakableParts, type Canaries } from "../support/pii-canaries.ts";
import type { Fields } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const receiver = startOtlpReceiver();
const redis = hasRedis ? await startRedis(["--appendonly", "no"]) : null;
const [gatehouse, provider, copy, judge] = await Promise.all([
  useGatehouseProcess({
    env: {
      LOG_LEVEL: "debug",
      WORKERS: "1",
      ...(redis !== null && { REDIS_URL: redis.url }),
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_METRICS_EXPORTER: "otlp",
      REQUEST_LOG_SINK: "otlp",
    },
    keepData: true,
  }),
  useFakeProvider({ name: "main" }),
  useFakeProvider({ name: "copy" }),
  useFakeProvider({ name: "judge" }),
]);
afterAll(async () => {
  rmSync(gatehouse.dataDir, { recursive: true, force: true });
  await Promise.all([receiver.stop(), redis?.stop()]);
});

interface Case {
  /** What the request log shows. */
  readonly expected: { readonly status?: number; readonly outcome: string };
  readonly behavior?: Behavior;
  readonly isStreamed?: boolean;
  /** The response to that request is in the cache. */
  readonly repeats?: string;
  /** The client disconnects while it waits for the response, or after the first bytes of it. */
  readonly abort?: "before" | "during";
  readonly isBlocked?: boolean;
  readonly isCompressed?: boolean;
  /** Added to the messages. */
  readonly filler?: string;
}

const SERVED = { status: 200, outcome: "complete" };
const REFUSED = { outcome: "refused" };
const CASES: Readonly<Record<string, Case>> = {
  whole: { expected: SERVED },
  "cache-hit": { expected: SERVED, repeats: "whole" },
  streamed: { expected: SERVED, isStreamed: true },
  "streamed-cache-hit": { expected: SERVED, isStreamed: true, repeats: "streamed" },
  // The gateway does not decode it for plugins.
  compressed: { expected: { ...REFUSED, status: 415 }, isCompressed: true },
  // Searched in a worker thread.
  large: { expected: SERVED, filler: "x ".repeat(150_000) },
  "provider-error": { expected: { outcome: "complete", status: 500 }, behavior: { status: 500 } },
  "provider-rejection": { expected: { outcome: "complete", status: 400 }, behavior: { status: 400 } },
  "no-response": { expected: { outcome: "failed", status: 502 }, behavior: { closeBeforeAnswer: true } },
  "cut-stream": { expected: { outcome: "incomplete" }, isStreamed: true, behavior: { cutAfterChunks: 4 } },
  "error-in-stream": {
    expected: { outcome: "complete" },
    isStreamed: true,
    behavior: { errorAfterChunks: 4 },
  },
  "aborted-before": {
    expected: { outcome: "client_left" },
    behavior: { delayMs: 3_600_000 },
    abort: "before",
  },
  "aborted-stream": {
    ...{ expected: { outcome: "client_left" }, isStreamed: true },
    ...{ behavior: { stallAfterChunks: 4 }, abort: "during" },
  },
  blocked: { expected: { ...REFUSED, status: 400 }, isBlocked: true },
  "blocked-stream": { expected: { ...REFUSED, status: 400 }, isStreamed: true, isBlocked: true },
};
const canaries = new Map(Object.keys(CASES).map((name) => [name, newCanaries()]));
function canariesOf(name: string): Canaries {
  const values = canaries.get(name);
  if (values === undefined) throw new Error(`no values for ${name}`);
  return values;
}
const FORMS = [...canaries.values()].flatMap(unmistakableParts).flatMap(formsOf);

/** Each value at another place of the body, and all of them in the last message. */
function bodyOf(name: string, { repeats = name, isStreamed = false, filler }: Case): Fields {
  const values = canariesOf(name);
  const call = { name: "lookup", arguments: JSON.stringify({ iban: values.iban, card: values.card }) };
  return {
    model: "assistant",
    messages: [
      { role: "system", content: `You work for ${values.email}.` },
      ...(filler === undefined ? [] : [{ role: "user", content: filler }]),
      { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: call }] },
      { role: "tool", tool_call_id: "call_1", content: `{"phone": "${values.phone}"}` },
      { role: "user", content: [{ type: "text", text: `Repeat ${Object.values(values).join(" , ")} .` }] },
    ],
    tools: [{ type: "function", function: { name: "lookup", description: `Key: ${values.secret}` } }],
    metadata: { employee: values.employee },
    tool_choice: "none",
    stream: isStreamed,
    // Without the values, the bodies would be equal, and the cache would have the response.
    seed: Object.keys(CASES).indexOf(repeats),
  };
}

/** Repeats everything that the provider has received: errors quote the request. */
function repeating(request: RecordedRequest, behavior: Behavior): Behavior {
  const received = Buffer.from(request.body).toString();
  const isError = (behavior.status ?? 200) >= 400;
  const json = request.json();
  const messages: unknown = isJsonObject(json) ? json["messages"] : null;
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : null;
  const text = JSON.stringify(isJsonObject(last) ? last["content"] : null);
  return isError
    ? { ...behavior, body: JSON.stringify({ error: { message: `invalid request: ${received}` } }) }
    : { ...behavior, text };
}

async function seedGateway(action: "mask" | "block"): Promise<{ gateway: string; path: string }> {
  const plugin = (name: string, priority: number, settings: Fields, mode = "enforce") => ({
    ...{ name, stage: "pre_request", priority, settings, mode },
  });
  const { gateway, path, upstream, service } = await seedRoute(gatehouse, {
    gateway: {
      log_bodies: true,
      required_plugins: [
        // In shadow mode, and before the values are masked.
        plugin("prompt_guard", 1, { threshold: 1 }, "shadow"),
        plugin("pii_mask", 2, { action: "block" }, "shadow"),
        plugin("pii_mask", 3, { action, custom: [EMPLOYEE] }),
        plugin("prompt_guard", 4, { judge: { service: "judge", model: "small" } }),
        plugin("response_cache", 5, { isolation: "gateway" }),
      ],
    },
    upstream: { targets: [targetAt(provider)] },
  });
  const credentials = { header_name: "authorization", header_value: "Bearer of-the-gateway" };
  const at = `/gateways/${gateway}`;
  const chat = { path: "/v1/chat/completions", credentials };
  const [mirror, judging] = await Promise.all(
    [copy, judge].map((each) =>
      create(gatehouse, `${at}/upstreams`, {
        name: each.name,
        targets: [targetAt(each, { provider: each.name, ...chat })],
      }),
    ),
  );
  await create(gatehouse, `${at}/services`, { name: "judge", upstream_id: judging.id });
  await gatehouse.api("PATCH", `${at}/services/${service}`, { virtual_models: "any" });
  await create(gatehouse, `${at}/models`, {
    name: "assistant",
    targets: [{ upstream, model: "old" }],
    mirror: { target: { upstream: mirror.id, model: "new" }, share: 1 },
  });
  return { gateway, path };
}

/** Returns what the client has received. A request that repeats another one is sent until Redis has replied in time. */
async function send(path: string, name: string, sending: Case): Promise<string> {
  if (sending.repeats === undefined) return (await sendOnce(path, name, sending)).text;
  return waitFor(async () => {
    const { text, isHit } = await sendOnce(path, name, sending);
    return isHit ? text : null;
  });
}

async function sendOnce(
  path: string,
  name: string,
  sending: Case,
): Promise<{ text: string; isHit: boolean }> {
  const { abort, isCompressed = false } = sending;
  const body = JSON.stringify(bodyOf(name, sending));
  const client = new AbortController();
  const before = provider.requestCount;
  const sent = fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Request-Id": name,
      ...(isCompressed && { "Content-Encoding": "gzip" }),
    },
    body: isCompressed ? Bun.gzipSync(body) : body,
    signal: client.signal,
  });
  if (abort === "before") {
    await provider.until(() => provider.requestCount > before);
    client.abort();
    await sent.catch(() => undefined);
    return { text: "", isHit: false };
  }
  const response = await sent;
  const isHit = response.headers.get("cache-status")?.includes("hit") === true;
  if (abort === undefined) return { text: await response.text().catch(() => ""), isHit };
  await response.body?.getReader().read();
  client.abort();
  return { text: "", isHit };
}

/** Sends every GET of the OpenAPI document that needs no other id than that of a gateway or a plugin. */
async function readAdminApi(gateways: readonly string[]): Promise<Map<string, string>> {
  const get = async (path: string) => {
    const headers = { Authorization: `Bearer ${gatehouse.token}` };
    const response = await fetch(gatehouse.adminUrl + path, { headers });
    if (response.headers.get("content-type") === "text/event-stream") {
      await response.body?.cancel();
      return "";
    }
    return response.text();
  };
  const { paths } = JSON.parse(await get("/api/openapi.json")) as { paths: Record<string, object> };
  const templates = Object.keys(paths).filter((path) => "get" in (paths[path] ?? {}));
  const known = gateways.flatMap((gateway) =>
    templates.map((path) => path.replace("{gateway_id}", gateway)).filter((path) => !path.includes("{")),
  );
  const shadow = gateways.flatMap((gateway) =>
    [0, 1].map((position) => `/api/v1/gateways/${gateway}/plugins/${position}/shadow`),
  );
  const { body } = await gatehouse.api("GET", "/revisions");
  const revisions = (body.revisions as { revision: number }[]).map(
    ({ revision }) => `/api/v1/revisions/${revision}`,
  );
  const texts = new Map<string, string>();
  for (const path of new Set([...known, ...shadow, ...revisions, "/metrics"]))
    texts.set(path, await get(path));
  return texts;
}

/** Returns all keys and values of Redis, with the kept responses as they were before they were encrypted. */
async function dumpRedis(server: NonNullable<typeof redis>): Promise<{ text: string; responses: string[] }> {
  const secret = Buffer.from(hkdfSync("sha256", TEST_SECRET, "", "gatehouse kept responses", 32));
  const responses: string[] = [];
  let text = "";
  for (const key of (await server.command("KEYS", "*")) as string[]) {
    const type = String(await server.command("TYPE", key));
    const read = {
      hash: ["HGETALL"],
      zset: ["ZRANGE", "0", "-1"],
      string: ["GET"],
      list: ["LRANGE", "0", "-1"],
    };
    const [command = "DUMP", ...args] = read[type as keyof typeof read] ?? [];
    const value = await server.command(command, key, ...args);
    text += `${key} ${typeof value === "string" ? value : JSON.stringify(value)}\n`;
    if (type !== "string" || !key.includes(":responses:")) continue;
    const bytes = Buffer.from(String(value), "base64");
    const decipher = createDecipheriv("aes-256-gcm", secret, bytes.subarray(0, 12));
    decipher.setAAD(Buffer.from(key.slice(key.lastIndexOf(":") + 1))).setAuthTag(bytes.subarray(-16));
    const compressed = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
    responses.push(Bun.zstdDecompressSync(compressed).toString());
  }
  return { text, responses };
}

const receivedBy = ({ requests }: typeof provider) =>
  requests.map(({ headers, target, body }) =>
    JSON.stringify([target, headers, Buffer.from(body).toString()]),
  );

test("values that pii_mask has masked or blocked are in no log, trace, cache, report or file, and at no provider", async () => {
  copy.behave((request) => repeating(request, {}));
  judge.behave({ text: '{"score": 0}' });
  const masking = await seedGateway("mask");
  const blocking = await seedGateway("block");
  for (const [name, each] of Object.entries(CASES)) {
    provider.behave((request) => repeating(request, each.behavior ?? {}));
    const { path } = each.isBlocked === true ? blocking : masking;
    const text = await send(path, name, each);
    // The client gets its own values back, so each of them was in a request that was masked.
    const missing = unmistakableParts(canariesOf(name)).filter((part) => !text.includes(part));
    if (each.expected === SERVED) expect([name, missing]).toEqual([name, []]);
  }
  const explained = bodyOf("whole", { expected: SERVED });
  await gatehouse.api("POST", `/gateways/${masking.gateway}/explain`, {
    path: masking.path,
    body: explained,
  });

  const gateways = [masking.gateway, blocking.gateway];
  const recorded = async () => {
    const lists = await Promise.all(
      gateways.map((id) => gatehouse.api("GET", `/gateways/${id}/requests?limit=100`)),
    );
    return lists.flatMap(({ body }) => body.requests as Fields[]);
  };
  for (const [name, { expected }] of Object.entries(CASES)) {
    const record = await waitFor(
      async () => (await recorded()).find(({ request_id }) => request_id === name) ?? null,
    );
    expect([name, record]).toMatchObject([name, expected]);
  }
  await waitUntil(() => copy.requests.every(({ finished, aborted }) => finished || aborted));
  const admin = await readAdminApi(gateways);
  const dumped = redis === null ? null : await dumpRedis(redis);
  gatehouse.signal("SIGTERM");
  expect(await gatehouse.exited).toBe(0);
  const sinks = new Map([
    ...admin,
    ["providers", receivedBy(provider).join("\n")],
    ["mirror", receivedBy(copy).join("\n")],
    ["judge", receivedBy(judge).join("\n")],
    ["log", gatehouse.output()],
    ["OTLP", receiver.text()],
    ["Redis", `${dumped?.text ?? ""}${dumped?.responses.join("\n") ?? ""}`],
  ]);

  // Each sink was in use.
  const requestLog = admin.get(`/api/v1/gateways/${masking.gateway}/requests`) ?? "";
  for (const [sink, text] of [...sinks].filter(([name]) =>
    ["providers", "mirror", "judge", "OTLP"].includes(name),
  ))
    for (const type of ["EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "SECRET", "EMPLOYEE"])
      expect([sink, text.includes(`<${type}_1>`)]).toEqual([sink, true]);
  expect(requestLog).toContain("<EMAIL_1>");
  expect(admin.get("/metrics")).toMatch(/"email"/);
  for (const name of Object.keys(CASES)) expect(gatehouse.output()).toContain(`"request_id":"${name}"`);
  expect(receiver.spans().length).toBeGreaterThan(Object.keys(CASES).length);
  expect([receiver.logs.length > 0, receiver.metrics.length > 0, receiver.problems]).toEqual([
    true,
    true,
    [],
  ]);
  for (const id of gateways) expect(admin.get(`/api/v1/gateways/${id}/plugins/1/shadow`)).toContain("email=");
  expect(filesWith([gatehouse.dataDir], [masking.gateway])).not.toEqual([]);
  if (dumped !== null) expect(dumped.responses.filter((text) => text.includes("<EMAIL_1>"))).not.toEqual([]);

  const leaks = [...sinks].map(([sink, text]) => [sink, found(text, FORMS)] as const);
  expect(leaks.filter(([, forms]) => forms.length > 0)).toEqual([]);
  expect(filesWith([gatehouse.dataDir], FORMS)).toEqual([]);
}, 60_000);
