// Responses on a WebSocket whose provider reports no usage, or none that can be used: what is unknown is estimated, or charged as reserved.
import { describe, expect, test } from "bun:test";
import { tokensOfText } from "../../src/formats/text-tokens.ts";
import { create } from "../support/admin-fixtures.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const provider = useRealtimeProvider();
const gatehouse = await useGatehouse();
const TEXT = "one two three four five six seven eight nine ten ".repeat(20);
const TOKENS = Math.ceil(tokensOfText(TEXT));
const LIMIT = 2000;

const delta = { type: "response.output_text.delta", response_id: "a", delta: TEXT };
const done = (usage: unknown, status = "completed") => ({
  type: "response.done",
  response: { id: "a", conversation_id: null, status, usage },
});

let count = 0;

/** Lets the client ask for one response, for which the provider sends these events, and resolves to what it was charged with. */
async function charge(events: readonly object[], isBinary = false): Promise<number> {
  provider.onMessage = () => undefined;
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "gpt-rt", input: "1", output: "10", max_output_tokens: 4096 }] },
    upstream: { targets: [{ provider: "openai", base_url: provider.url }], max_attempts: 1 },
    rule: { path: `/unknown${++count}/realtime`, methods: ["GET"] },
  });
  const budgets = `/gateways/${route.gateway}/budgets`;
  const { id } = await create(gatehouse, budgets, { name: "team", unit: "tokens", amount: 1_000_000 });
  const state = async () => (await gatehouse.api("GET", `${budgets}/${id as string}/state`)).body;
  const client = await openRealtime(`${gatehouse.proxyUrl}${route.path}?model=gpt-rt`);
  const response = { conversation: "none", max_output_tokens: LIMIT };
  client.socket.send(JSON.stringify({ type: "response.create", response }));
  await waitUntil(() => provider.messages.length === 1);
  const socket = await provider.socket();
  socket.send(JSON.stringify({ type: "response.created", response: { id: "a", conversation_id: null } }));
  for (const event of events) {
    const message = JSON.stringify(event);
    socket.send(isBinary ? Buffer.from(message) : message);
  }
  await waitUntil(() => client.messages.some((message) => String(message).includes('"response.done"')));
  client.socket.close();
  const { spent } = await waitFor(async () => {
    const now = await state();
    return Number(now.reserved) === 0 ? now : null;
  });
  return Number(spent);
}

const UNUSABLE = [
  null,
  {},
  { input_tokens: "500", output_tokens: "500", total_tokens: "1000" },
  { input_tokens: 5, output_tokens: -5 },
];

describe.each([[false], [true]])("binary messages: %p", (isBinary) => {
  test.each(UNUSABLE.map((usage) => [usage]))(
    "a response without any text and with usage %j",
    async (usage) => {
      expect(await charge([done(usage)], isBinary)).toBeWithin(LIMIT, LIMIT + 50);
    },
  );

  test.each(UNUSABLE.map((usage) => [usage]))("a response with text and with usage %j", async (usage) => {
    expect(await charge([delta, done(usage)], isBinary)).toBeWithin(TOKENS, TOKENS + 50);
  });

  test.each([[{ input_tokens: 5, total_tokens: 700 }], [{ total_tokens: 700 }]])(
    "a response whose total is known: %j",
    async (usage) => {
      expect(await charge([delta, done(usage)], isBinary)).toBe(700);
    },
  );
});

const ZEROS = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

test.each([
  ["with text and only zeros", [delta, done(ZEROS)], TOKENS, 50],
  ["without text and with zeros", [done(ZEROS)], 0, 1],
  ["that the client has stopped before its text", [done(null, "cancelled")], 1, 50],
  ["that the client has stopped", [delta, done(null, "cancelled")], TOKENS, 50],
])("a response %s", async (_name, events, least, input) => {
  expect(await charge(events)).toBeWithin(least, least + input);
});
