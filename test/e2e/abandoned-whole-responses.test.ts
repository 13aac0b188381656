// What requests without a stream cost if nothing of their response arrives: the provider generates all of it before it sends the first byte,
// so that they cost what their model usually has generated in the time, whether or not it reasons.
import { afterAll, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { LeavingClient, SteppedProvider } from "../support/stepped-provider.ts";
import { passTimeUntil, waitFor } from "../support/waiting.ts";
import { runs } from "../support/long-form.ts";

const gatehouse = await startGatehouseInProcess();
const provider = new SteppedProvider();
const { clock } = gatehouse;

afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});

/** As the gateway estimates it. */
const INPUT = 9;
const DEFAULT_SPEED = 100;
/** Its reasoning has another price than its text. */
const PRICE = { model: "*", input: "1", output: "10", reasoning: "100" };

interface Seeded {
  readonly url: string;
  readonly at: string;
  readonly budget: string;
}

let routes = 0;

async function seed(upstream: object = {}): Promise<Seeded & { readonly prefix: string }> {
  const prefix = `/whole${++routes}`;
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { prices: [PRICE] },
    upstream: {
      targets: [{ provider: "openai", base_url: provider.url }],
      ...{ max_attempts: 1, health_checks: { passive: false }, ...upstream },
    },
    rule: { path: `${prefix}/*`, methods: ["POST"], strip_path: true },
  });
  const at = `/gateways/${gateway}`;
  const fields = { name: "tokens", unit: "tokens", amount: 1_000_000_000 };
  const { id } = await create(gatehouse, `${at}/budgets`, fields);
  const url = `${gatehouse.proxyUrl}${prefix}/v1/chat/completions`;
  return { prefix: gatehouse.proxyUrl + prefix, url, at, budget: `${at}/budgets/${id}/state` };
}

/** Resolves to the tokens that the budget has spent when nothing is reserved. */
function spent({ budget }: Seeded): Promise<number> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", budget);
    return Number(body.reserved) === 0 ? Number(body.spent) : null;
  });
}

const request = (fields: object = {}) => ({
  model: "gpt-4o",
  messages: [{ role: "user", content: "Good morning" }],
  max_completion_tokens: 20_000,
  ...fields,
});

/** A deterministic sequence of numbers from 0 to 1 (mulberry32). */
function randomNumbers(seedNumber: number): () => number {
  let state = seedNumber;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Generation {
  readonly perSecond: number;
  readonly tokens: number;
}

const REQUESTS = runs({ short: 60, long: 1000 });
const msOf = ({ perSecond, tokens }: Generation) => (tokens * 1000) / perSecond;

let calls = 0;

/** Sends a request whose response is complete. */
async function complete({ url }: Seeded, generation: Generation): Promise<void> {
  const client = new LeavingClient(url, request());
  const call = await provider.call(calls++);
  clock.advance(msOf(generation));
  call.respond(INPUT, generation.tokens, 0);
  await client.ended;
}

/** Sends a request whose client leaves after this time. */
async function abandon(url: string, milliseconds: number, body: object = request()): Promise<void> {
  const client = new LeavingClient(url, body);
  const call = await provider.call(calls++);
  clock.advance(milliseconds);
  client.leave();
  await call.closed();
  await client.ended;
}

test("requests without a stream that are left at random moments cost what was generated", async () => {
  const route = await seed();
  const random = randomNumbers(49);
  const next = (): Generation => ({
    perSecond: 70 + 40 * random(),
    tokens: 200 + Math.floor(3000 * random()),
  });
  for (let count = 0; count < 30; count++) await complete(route, next());
  const before = await spent(route);
  let tally = 0;
  for (let count = 0; count < REQUESTS; count++) {
    const generation = next();
    const milliseconds = random() * msOf(generation);
    await abandon(route.url, milliseconds);
    tally += INPUT + (generation.perSecond * milliseconds) / 1000;
  }
  const ledger = (await spent(route)) - before;
  expect(ledger / tally).toBeWithin(0.9, 1.5);
}, 240_000);

test("without observations, 100 tokens per second are assumed, which are text if the model does not reason", async () => {
  const route = await seed();
  await abandon(route.url, 3000);
  expect(await spent(route)).toBe(INPUT + 3 * DEFAULT_SPEED);
  const { body } = await gatehouse.api("GET", `${route.at}/requests`);
  const [record] = body.requests;
  const tokens = { input: INPUT, output: 300, reasoning: 0, partial: true };
  expect(record).toMatchObject({ tokens, outcome: "client_left" });
  expect(record.cost).toBeCloseTo((INPUT + 300 * 10) / 1e6, 9);
});

test("at most the limit of the request is charged, and what complete responses have shown", async () => {
  const route = await seed();
  await abandon(route.url, 60_000, request({ max_completion_tokens: 50, n: 2 }));
  expect(await spent(route)).toBe(INPUT + 100);
  for (let count = 0; count < 20; count++) await complete(route, { perSecond: 50, tokens: 400 });
  const before = await spent(route);
  await abandon(route.url, 4000);
  expect((await spent(route)) - before).toBe(INPUT + 200);
});

test("a timeout before the first byte costs as much as a client that leaves", async () => {
  const route = await seed({ timeouts: { first_byte: 2000 } });
  const client = new LeavingClient(route.url, request());
  const call = await provider.call(calls++);
  await passTimeUntil(clock, call.closed());
  await client.ended;
  expect(await spent(route)).toBeWithin(INPUT + 2 * DEFAULT_SPEED, INPUT + 3 * DEFAULT_SPEED);
});

test("a request for embeddings generates no text", async () => {
  const route = await seed();
  await abandon(`${route.prefix}/v1/embeddings`, 30_000, { model: "m", input: "Good morning" });
  expect(await spent(route)).toBeWithin(1, 20);
});
