// Attempts after one that the provider may charge for: each of them is reserved before it is sent, and none is sent if it does not fit.
import { expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { CHAT_REQUEST } from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const { gatehouse, providers } = await startWithProviders("one", "two");
const [one, two] = providers;

const PRICES = [{ model: "*", per_request: "0.01" }];
const PATH = "/v1/chat/completions";
const targets = [one, two].map(({ name, url }, index) => ({
  ...{ provider: name, base_url: url, path: PATH },
  priority: index + 1,
}));
/** The provider has read the request, and may have run the model. */
const LOST = { closeBeforeAnswer: true };
const FILTERED = {
  body: JSON.stringify({
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: null }, finish_reason: "content_filter" }],
  }),
};

interface Seeded {
  readonly url: string;
  readonly gateway: string;
}

async function seed(gateway: object = {}): Promise<Seeded> {
  const upstream = { targets, max_attempts: 3, health_checks: { passive: false } };
  const route = await seedRoute(gatehouse, { gateway: { prices: PRICES, ...gateway }, upstream });
  return { url: gatehouse.proxyUrl + route.path, gateway: `/gateways/${route.gateway}` };
}

async function createBudget(gateway: string, amount: string): Promise<string> {
  const { id } = await create(gatehouse, `${gateway}/budgets`, { name: "usd", unit: "usd", amount });
  return `${gateway}/budgets/${id}/state`;
}

async function send(url: string, body: object = CHAT_REQUEST) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, attempts: response.headers.get("x-gw-attempts"), text };
}

/** What is spent when nothing is reserved any more, in cents. */
function spent(budget: string): Promise<number> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", budget);
    return Number(body.reserved) === 0 ? Math.round(Number(body.spent) * 100) : null;
  });
}

function countCalls(): () => number {
  const before = one.requestCount + two.requestCount;
  return () => one.requestCount + two.requestCount - before;
}

test("providers get no more requests than a budget pays for, one after the other and at once", async () => {
  for (const isConcurrent of [false, true]) {
    const { url, gateway } = await seed();
    const budget = await createBudget(gateway, "0.10");
    one.behave(LOST);
    two.behave(LOST);
    const calls = countCalls();
    const responses = [];
    if (isConcurrent) responses.push(...(await Promise.all(Array.from({ length: 30 }, () => send(url)))));
    else for (let count = 0; count < 12; count++) responses.push(await send(url));
    expect(await spent(budget)).toBe(10);
    expect(calls()).toBe(10);
    // The client gets the result of the last attempt, else the refusal of the budget.
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([502, 402]));
  }
});

test("a request is charged for each attempt, and what it has reserved is released", async () => {
  const { url, gateway } = await seed();
  const budget = await createBudget(gateway, "1");
  one.behave(LOST);
  two.behave({});
  expect(await send(url)).toMatchObject({ status: 200, attempts: "2" });
  expect(await spent(budget)).toBe(2);
});

test("an attempt that has cost nothing leaves its reservation to the next one", async () => {
  const { url, gateway } = await seed();
  const budget = await createBudget(gateway, "0.01");
  one.behave({ status: 503 });
  two.behave({});
  expect(await send(url)).toMatchObject({ status: 200, attempts: "2" });
  expect(await spent(budget)).toBe(1);
});

test("token limits count every attempt before it is sent", async () => {
  const settings = { limits: { global: { limit: 130, window: "1h" } }, actions: { type: "reject" } };
  const { url } = await seed({
    required_plugins: [{ name: "token_limiter", stage: "pre_request", settings }],
  });
  one.behave(LOST);
  two.behave({});
  const request = { ...CHAT_REQUEST, max_tokens: 60 };
  // Input and output of one attempt fit, those of two do not.
  const calls = countCalls();
  expect((await send(url, request)).status).toBe(502);
  expect(calls()).toBe(1);
});

let fallbacks = 0;

async function seedFallback(): Promise<Seeded & { readonly model: object }> {
  const { id } = await create(gatehouse, "/gateways", { name: `fallback-${++fallbacks}`, prices: PRICES });
  const gateway = `/gateways/${id}`;
  const upstreams: string[] = [];
  for (const target of targets)
    upstreams.push(
      (
        await create(gatehouse, `${gateway}/upstreams`, {
          ...{ name: target.provider, targets: [target], max_attempts: 1 },
        })
      ).id,
    );
  const [upstream, other] = upstreams;
  const service = { name: "models", upstream_id: upstream, virtual_models: "any" };
  const { id: service_id } = await create(gatehouse, `${gateway}/services`, service);
  const path = `/${id}`;
  await create(gatehouse, `${gateway}/rules`, { service_id, path, methods: ["POST"] });
  const model = (name: string, fields: object) => create(gatehouse, `${gateway}/models`, { name, ...fields });
  await model("second", { targets: [{ upstream: other, model: "b" }] });
  const fallback = { fallback: ["second"], fallback_on: ["content_filter", "unavailable"] };
  await model("first", { targets: [{ upstream, model: "a" }], ...fallback });
  return { url: gatehouse.proxyUrl + path, gateway, model: { ...CHAT_REQUEST, model: "first" } };
}

test("the fallback of a virtual model is reserved, too", async () => {
  const { url, gateway, model } = await seedFallback();
  const budget = await createBudget(gateway, "0.03");
  two.behave({});
  one.behave(FILTERED);
  expect(await send(url, model)).toMatchObject({ status: 200, attempts: "2" });
  expect(await spent(budget)).toBe(2);
  // A third amount is left for the first attempt, and none for the fallback.
  one.behave(LOST);
  const calls = countCalls();
  expect((await send(url, model)).status).toBe(502);
  expect(calls()).toBe(1);
  expect(await spent(budget)).toBe(3);
});

test("the response that a fallback would replace is relayed if the fallback does not fit", async () => {
  const { url, gateway, model } = await seedFallback();
  const budget = await createBudget(gateway, "0.01");
  one.behave(FILTERED);
  two.behave({});
  const calls = countCalls();
  const { status, attempts, text } = await send(url, model);
  const record = await waitFor(
    async () => (await gatehouse.api("GET", `${gateway}/requests`)).body.requests[0],
  );
  expect(record.attempts).toMatchObject([{ status: 200, retry_refused_by: "usd" }]);
  expect({ status, attempts, text }).toEqual({ status: 200, attempts: "1", text: FILTERED.body });
  expect(calls()).toBe(1);
  expect(await spent(budget)).toBe(1);
});
