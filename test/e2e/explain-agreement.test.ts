// Compares explanations with real requests on random configurations ("worlds"): the gateway responds as explained, or
// the provider receives exactly the request that was shown. GATEHOUSE_EXPLAIN_RUNS sets the number of worlds.
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { rmSync } from "node:fs";
import type { RecordedRequest } from "../../src/fake-provider/server.ts";
import {
  ACTING_PLUGIN,
  removeWorld,
  seedWorld,
  worlds,
  type SeededGateway,
  type WorldRequest,
} from "../support/explain-worlds.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { rawCall, type RawResponse } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const RUNS = Number(process.env["GATEHOUSE_EXPLAIN_RUNS"] ?? 8);

type Explanation = ApiResponse["body"];
/** What the random worlds covered, so that a run that covers nothing fails. */
const covered = { responses: new Map<string, number>(), forwarded: 0, changed: 0 };

const directory = pluginsDirectory({ "acting.ts": ACTING_PLUGIN });
const env = { PLUGINS_DIR: directory };
const [gatehouse, ...providers] = await Promise.all([
  useGatehouse({ env }),
  useFakeProvider(),
  useFakeProvider(),
]);
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Returns the headers of a request. */
function headersOf(request: WorldRequest, gateways: readonly SeededGateway[]): Record<string, string> {
  const gateway = gateways[request.host];
  const owner = gateway ?? gateways[0];
  const key = { none: null, unknown: `gw_${"x".repeat(43)}`, ...owner?.keys };
  const presented = key[request.key];
  return {
    Host: gateway?.host ?? "nowhere.example.com",
    ...request.headers,
    ...(request.body[1] !== null && { "Content-Type": request.body[1] }),
    ...(presented !== null && presented !== undefined && { "X-GW-API-Key": presented }),
  };
}

async function explain(request: WorldRequest, gateways: readonly SeededGateway[]): Promise<Explanation> {
  const { method, path, query, body } = request;
  const { status, body: explanation } = await gatehouse.api("POST", `/gateways/${gateways[0]?.id}/explain`, {
    method,
    path: path + query,
    headers: headersOf(request, gateways),
    ...(body[0] !== null && { body: body[0] }),
  });
  expect(explanation).not.toHaveProperty("error");
  expect(status).toBe(200);
  return explanation;
}

test(`${RUNS} random worlds: explanations agree with real requests`, async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const gateways = await seedWorld(gatehouse, world, providers);
      try {
        for (const request of world.requests)
          for (let time = 0; time < request.times; time++) await compare(request, gateways);
      } finally {
        await removeWorld(gatehouse, gateways);
      }
    }),
    { numRuns: RUNS },
  );
  expect(covered.responses.size + covered.forwarded).toBeGreaterThan(3);
  // Few worlds may forward nothing by chance.
  if (RUNS >= 100) expect(covered.forwarded).toBeGreaterThan(RUNS / 10);
  if (process.env["GATEHOUSE_EXPLAIN_RUNS"] !== undefined)
    process.stdout.write(
      `${JSON.stringify({ ...covered, responses: Object.fromEntries(covered.responses) })}\n`,
    );
}, 600_000);

async function compare(request: WorldRequest, gateways: readonly SeededGateway[]): Promise<void> {
  for (const provider of providers) provider.reset();
  const explanation = await explain(request, gateways);
  const again = await explain(request, gateways);
  expect(withoutTimes(again)).toEqual(withoutTimes(explanation));
  expect(sent()).toHaveLength(0);

  const requestId = crypto.randomUUID();
  const response = await call(request, gateways, requestId);
  // When this line is written, the end of the attempt has been reported to the balancer.
  const line = await accessLineOf(requestId);
  expect({ rule: line.rule, key: line.api_key }).toEqual({
    rule: explanation.rule?.id,
    key: explanation.authentication.api_key?.name,
  });
  if (explanation.rule !== null) expect(line.gateway).toBe(explanation.gateway.name);
  compareLimits(explanation, response);
  if (explanation.answer === null) compareForwarded(explanation);
  else compareResponse(explanation, response, request.method);
  if (explanation.plugins.some(({ verdict }: { verdict: string }) => verdict === "changed"))
    covered.changed++;
}

/** Searches from the end: the log of a thousand worlds is long. */
function accessLineOf(requestId: string): Promise<ApiResponse["body"]> {
  return waitFor(() => {
    const output = gatehouse.output();
    const at = output.lastIndexOf(`"request_id":"${requestId}"`);
    const end = at < 0 ? -1 : output.indexOf("\n", at);
    if (end < 0) return null;
    const line: ApiResponse["body"] = JSON.parse(output.slice(output.lastIndexOf("\n", at) + 1, end));
    return line.msg === "request" ? line : null;
  });
}

function call(
  request: WorldRequest,
  gateways: readonly SeededGateway[],
  requestId: string,
): Promise<RawResponse> {
  const { method, path, query, body } = request;
  const headers = Object.entries({ ...headersOf(request, gateways), "X-Request-Id": requestId });
  return rawCall(gatehouse.proxyUrl, {
    method,
    target: path + query,
    headers,
    ...(body[0] !== null && { body: body[0] }),
  });
}

/** Returns all requests that providers received, in order. */
function sent(): RecordedRequest[] {
  return providers.flatMap(({ requests }) => requests).toSorted((a, b) => a.startedAt - b.startedAt);
}

function compareResponse({ answer: explained }: Explanation, response: RawResponse, method: string): void {
  expect(response.status).toBe(explained.status);
  expect(sent()).toHaveLength(0);
  if (explained.code === null || method === "HEAD") return;
  const { code, error } = response.json();
  expect({ code, error }).toEqual({ code: explained.code, error: explained.error });
  covered.responses.set(code, (covered.responses.get(code) ?? 0) + 1);
}

function compareForwarded({ upstream_request: shown, targets }: Explanation): void {
  const [first] = sent();
  if (first === undefined) throw new Error("a request was shown, but none was sent");
  covered.forwarded++;
  const at = Number(first.header("x-target"));
  expect(targets[at].eligible).toBe(true);
  const next = targets.findIndex((each: { next: boolean }) => each.next);
  if (next >= 0) expect(at).toBe(next);
  // With random balancing, the target that is shown may differ from the one that was chosen.
  if (targets[at].id !== shown.target_id) return;
  const url = new URL(shown.url);
  expect(first.method).toBe(shown.method);
  expect(first.target).toBe(url.pathname + url.search);
  expect(Buffer.from(first.body).toString()).toBe(shown.body ?? "");
  for (const [name, value] of first.headers) {
    if (["connection", "content-length", "accept", "x-request-id"].includes(name.toLowerCase())) continue;
    const shownValue = shown.headers[name.toLowerCase()];
    if (/^(?:authorization|x-key)$/i.test(name)) {
      expect(shownValue).toBe(value.length < 12 ? "***" : `${value.slice(0, 3)}***${value.slice(-4)}`);
    } else expect({ name, value: shownValue }).toEqual({ name, value });
  }
  for (const name of Object.keys(shown.headers)) expect(first.header(name)).toBeDefined();
}

function compareLimits({ limits }: Explanation, response: RawResponse): void {
  // If two plugins have a limit of the same type, the response has the headers of the later one.
  const last = new Map<string, { limit: number; remaining: number; reset: string }>();
  for (const limit of limits) last.set(limit.type, limit);
  for (const [type, { limit, remaining, reset }] of last) {
    expect({
      limit: response.header(`X-RateLimit-${type}-Limit`),
      remaining: response.header(`X-RateLimit-${type}-Remaining`),
    }).toEqual({ limit: String(limit), remaining: String(remaining) });
    // An empty window starts with the request, which was sent a moment later.
    const later = Number(response.header(`X-RateLimit-${type}-Reset`)) - Date.parse(reset) / 1000;
    expect(later).toBeWithin(0, 60);
  }
  const isRateLimit = (name: string) => /^X-RateLimit-(?:global|per_)/.test(name);
  expect(response.headers.some(([name]) => isRateLimit(name))).toBe(last.size > 0);
}

/** Removes everything that changes with time alone. */
function withoutTimes(explanation: Explanation): Explanation {
  return {
    ...explanation,
    limits: explanation.limits.map((limit: object) => ({ ...limit, reset: "" })),
    targets: explanation.targets.map((target: { reason: string }) => ({
      ...target,
      reason: target.reason.replace(/\d+ s$/, "n s"),
    })),
  };
}
