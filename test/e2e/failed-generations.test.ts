// Responses with status 200 whose generation failed, and that are no streams: where the response is translated, another target is tried.
import { describe, expect, test } from "bun:test";
import { seedUpstream, type Route } from "../support/balancing-fixtures.ts";
import { INBOUND, type Inbound, type Outbound } from "../support/client-formats.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { passTimeUntil, waitFor } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

const ERROR = { code: "server_error", message: "Out of order." };
const FAILED_RESPONSE = {
  ...{ id: "resp_1", object: "response", status: "failed", output: [], error: ERROR },
  usage: { input_tokens: 7, output_tokens: 1, total_tokens: 8 },
};
const CASES: readonly (readonly [
  name: string,
  inbound: Inbound,
  outbound: Outbound,
  body: object | string,
])[] = [
  ["a failed response", "openai", "responses", FAILED_RESPONSE],
  [
    "a chat that ended with an error",
    "anthropic",
    "openai",
    { choices: [{ index: 0, message: { content: "Go" }, finish_reason: "error" }] },
  ],
  ["an error object of a chat target", "responses", "openai", { error: ERROR }],
  ["an error object of Anthropic", "openai", "anthropic", { type: "error", error: { type: "api_error" } }],
  ["an error object of Gemini", "anthropic", "gemini", { error: { code: 503, message: "overloaded" } }],
  ["a page", "openai", "anthropic", "<html>Bad gateway</html>"],
];

let count = 0;

async function routeTo(
  inbound: Inbound,
  outbound: Outbound,
  fields: Record<string, unknown> = {},
): Promise<Route> {
  const targets = [
    { provider: "one", base_url: one.url, format: outbound },
    { provider: "two", base_url: two.url, format: outbound, priority: 2 },
  ];
  const prefix = `/failed-${++count}`;
  const route = await seedUpstream(gatehouse, targets, fields, { path: `${prefix}/*`, strip_path: true });
  return { ...route, url: `${gatehouse.proxyUrl}${prefix}${INBOUND[inbound].path}` };
}

async function send({ url }: Route, inbound: Inbound) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: "gpt-fake", ...INBOUND[inbound].body }),
  });
  const { headers, status } = response;
  const [provider, attempts] = [headers.get("x-gw-provider"), headers.get("x-gw-attempts")];
  return {
    ...{ status, provider, attempts, text: await response.text() },
    requestId: headers.get("x-request-id") ?? "",
  };
}

function recordOf({ upstream }: Route, requestId: string) {
  const gateway = upstream.split("/upstreams")[0] ?? "";
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `${gateway}/requests?request_id=${requestId}`);
    return body.requests[0] ?? null;
  });
}

const failing = (body: object | string) => ({ body: typeof body === "string" ? body : JSON.stringify(body) });

describe.each(CASES)("%s", (_, inbound, outbound, body) => {
  test("is a failed attempt: another target serves the request", async () => {
    const route = await routeTo(inbound, outbound);
    one.behave(failing(body));
    const { status, provider, attempts, requestId } = await send(route, inbound);
    expect({ status, provider, attempts }).toEqual({ status: 200, provider: "two", attempts: "2" });
    expect((await recordOf(route, requestId)).attempts).toMatchObject([
      { provider: "one", status: 200, fault: "error_event" },
      { provider: "two", status: 200, fault: null },
    ]);
  });

  test("is 502 if no other target is left, or max_attempts is reached", async () => {
    for (const maxAttempts of [1, 2]) {
      const route = await routeTo(inbound, outbound, { max_attempts: maxAttempts });
      one.behave(failing(body));
      two.behave(failing(body));
      const { status, text, requestId } = await send(route, inbound);
      expect([status, text]).toEqual([502, expect.stringContaining("provider")]);
      expect((await recordOf(route, requestId)).attempts).toHaveLength(maxAttempts);
    }
  });
});

test("failed generations count against the health of a target, as errors of its streams do", async () => {
  const route = await routeTo("openai", "responses", {
    health_checks: { passive: true, threshold: 2, interval: 300 },
  });
  one.behave(failing(FAILED_RESPONSE));
  const attempts: (string | null)[] = [];
  for (let sent = 0; sent < 3; sent++) attempts.push((await send(route, "openai")).attempts);
  expect(attempts).toEqual(["2", "2", "1"]);
});

test("the usage that the last failed response reports is counted", async () => {
  const route = await routeTo("openai", "responses", { max_attempts: 1 });
  one.behave(failing(FAILED_RESPONSE));
  const { text, requestId } = await send(route, "openai");
  expect(text).toContain("The provider could not create the response. Out of order.");
  expect((await recordOf(route, requestId)).tokens).toMatchObject({ input: 7, output: 1 });
});

test.each([
  ["openai", "responses", { error: ERROR }],
  ["anthropic", "openai", { type: "error", error: { type: "overloaded_error", message: "Out of order." } }],
  ["openai", "anthropic", { error: "Out of order." }],
] as const)(
  "the message for an %s target says what the provider reports with status 200",
  async (outbound, inbound, body) => {
    const route = await routeTo(inbound, outbound, { max_attempts: 1 });
    one.behave(failing(body));
    const { text } = await send(route, inbound);
    expect(text).toContain("The provider responded with status 200 and an error. Out of order.");
  },
);

test("a hedged request whose first target fails so is served by the second one", async () => {
  const route = await routeTo("openai", "responses", { hedge: { after: 1, budget: 1 } });
  one.behave({ ...failing(FAILED_RESPONSE), delayMs: 50 });
  two.behave({ delayMs: 100 });
  const { status, provider, requestId } = await passTimeUntil(clock, send(route, "openai"));
  expect({ status, provider }).toEqual({ status: 200, provider: "two" });
  // The failed response reports usage, and its model has no price.
  expect((await recordOf(route, requestId)).hedge).toMatchObject({ result: "won", cost: null });
});

test("a virtual model falls back because its target is unavailable", async () => {
  const [first, second] = [await routeTo("openai", "responses"), await routeTo("openai", "openai")];
  const gateway = first.upstream.split("/upstreams")[0] ?? "";
  const idOf = ({ upstream }: Route) => upstream.split("/").at(-1);
  const model = await gatehouse.api("POST", `${gateway}/models`, {
    name: "gpt-fake",
    strategy: "fallback",
    targets: [{ upstream: idOf(first) }, { upstream: idOf(second) }],
  });
  expect(model.status).toBe(201);
  const { body } = await gatehouse.api("GET", `${gateway}/services`);
  for (const { id } of body.services as { id: string }[])
    await gatehouse.api("PATCH", `${gateway}/services/${id}`, { virtual_models: "any" });
  // Both targets of the first upstream fail.
  for (const provider of providers)
    provider.behave(({ target }) => (target === "/v1/responses" ? failing(FAILED_RESPONSE) : {}));
  const { status, attempts, requestId } = await send(first, "openai");
  expect({ status, attempts }).toEqual({ status: 200, attempts: "3" });
  const faults = (await recordOf(first, requestId)).attempts.map(({ fault }: { fault: string }) => fault);
  expect(faults).toEqual(["error_event", "error_event", null]);
  await gatehouse.api("DELETE", `${gateway}/models/${model.body.id}`);
});

test("a failed response that is not translated is relayed", async () => {
  const route = await routeTo("responses", "responses");
  one.behave(failing(FAILED_RESPONSE));
  expect(await send(route, "responses")).toMatchObject({
    ...{ status: 200, provider: "one", attempts: "1" },
    text: expect.stringContaining(`"error":${JSON.stringify(ERROR)}`),
  });
});
