// The cost of responses in the background whose client leaves: the provider goes on and generates all of
// them, so that they cost at least their reservation.
import { expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { LeavingClient } from "../support/stepped-provider.ts";
import { passTimeUntil, waitFor, waitUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("provider");
const [provider] = providers;

const MAX_TOKENS = 10_000;
const REQUEST = { model: "gpt-4o", input: "Write a novel", max_output_tokens: MAX_TOKENS, background: true };

const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const QUEUED = { id: "resp_1", object: "response", model: "gpt-4o", status: "queued", background: true };
const CREATED = event("response.created", { response: { ...QUEUED, output: [], usage: null } });
const completed = (output: number) =>
  event("response.completed", {
    response: {
      ...QUEUED,
      status: "completed",
      output: [],
      usage: { input_tokens: 7, output_tokens: output },
    },
  });
const stream = (...body: string[]): Behavior => ({
  headers: [["Content-Type", "text/event-stream"]],
  body,
  stallAfterChunks: 1,
});

let count = 0;

async function seed(upstream: object = {}) {
  const prefix = `/background${++count}`;
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "10" }] },
    upstream: { targets: [targetAt(provider)], max_attempts: 1, ...upstream },
    rule: { path: `${prefix}/*`, strip_path: true },
  });
  const at = `/gateways/${gateway}`;
  const { id } = await create(gatehouse, `${at}/budgets`, { name: "b", unit: "tokens", amount: 1e9 });
  return { url: `${gatehouse.proxyUrl}${prefix}/v1/responses`, state: `${at}/budgets/${id}/state` };
}

function spent(state: string): Promise<number> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", state);
    return Number(body.reserved) === 0 && Number(body.spent) > 0 ? Number(body.spent) : null;
  });
}

async function drainUntilTimeout() {
  await waitUntil(async () => {
    const page = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    return /^gatehouse_draining_responses 1$/m.test(page);
  });
  clock.advance(30_000);
}

async function leaveStream(url: string, fields: object = {}) {
  provider.behave(stream(CREATED, completed(1)));
  const client = new LeavingClient(url, { ...REQUEST, stream: true, ...fields });
  await client.until("response.created");
  client.leave();
  await client.ended;
}

test.each(["settle", "drain"])(
  "a stream that is left costs what was reserved (on_cancel: %s)",
  async (on_cancel) => {
    const { url, state } = await seed({ on_cancel });
    await leaveStream(url);
    if (on_cancel === "drain") await drainUntilTimeout();
    expect(await spent(state)).toBeWithin(MAX_TOKENS, MAX_TOKENS + 100);
  },
);

test("a stream of another response costs what was relayed", async () => {
  const { url, state } = await seed();
  await leaveStream(url, { background: false });
  expect(await spent(state)).toBeWithin(1, 100);
});

test("a response that is drained to its usage costs what it reports", async () => {
  const { url, state } = await seed({ on_cancel: "drain" });
  const { headers = [] } = stream();
  provider.behave({ headers, body: [CREATED, completed(500)], chunkDelayMs: 1000 });
  const client = new LeavingClient(url, { ...REQUEST, stream: true });
  await client.until("response.created");
  client.leave();
  await client.ended;
  expect(await passTimeUntil(clock, spent(state))).toBe(507);
});

test("a response that is no stream costs what was reserved, whether its client leaves or the provider is silent", async () => {
  const { url, state } = await seed({ timeouts: { first_byte: 1000 } });
  provider.behave({ delayMs: 60_000 });
  const client = new LeavingClient(url, REQUEST);
  await waitUntil(() => provider.requests.length === 1);
  client.leave();
  const first = await spent(state);
  expect(first).toBeWithin(MAX_TOKENS, MAX_TOKENS + 100);
  const { ended } = new LeavingClient(url, REQUEST);
  await passTimeUntil(clock, ended);
  expect(await spent(state)).toBe(2 * first);
});
