// A member that decides about cost or routing and occurs twice is rejected: the provider may read the other value than the gateway counts.
import { beforeAll, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { CHAT, rawCall, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();
let at = "";
let target = "";

beforeAll(async () => {
  const { gateway, path } = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  });
  at = `/gateways/${gateway}`;
  target = path;
  await create(gatehouse, `${at}/budgets`, { name: "tokens", unit: "tokens", amount: 1_000_000 });
});

const CHAT_FIELDS = JSON.stringify(CHAT).slice(1, -1);
const send = (members: string) =>
  rawCall(gatehouse.proxyUrl, {
    target,
    headers: [["Content-Type", "application/json"]],
    body: `{${CHAT_FIELDS},${members}}`,
  });

const TWICE = [
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of", "thinking"],
  ...["size", "quality", "seconds", "service_tier", "speed", "stream", "store", "background"],
  ...["generationConfig", "generation_config", "inferenceConfig", "reasoning", "reasoning_effort"],
];

test.each(TWICE)("%s twice is 400 invalid_json", async (name) => {
  const response = await send(`"${name}":null,"x":1,"${name}":2`);
  expect(response.json()).toMatchObject({ code: "invalid_json" });
  expect(response.body.toString()).toContain(`\\"${name}\\"`);
  expect(response.status).toBe(400);
  expect(provider.requests).toEqual([]);
});

test.each([
  ['"max_tokens":1,"max\\u005ftokens":9000', "max_tokens"],
  ['"max_tokens":1,"MAX_TOKENS":9000', "max_tokens"],
  ['"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":9000}', "generationConfig.maxOutputTokens"],
  ['"generationConfig":{"candidateCount":1,"candidate\\u0043ount":8}', "generationConfig.candidateCount"],
  [
    '"generation_config":{"max_output_tokens":1,"max_output_tokens":9}',
    "generation_config.max_output_tokens",
  ],
  ['"inferenceConfig":{"maxTokens":1,"maxTokens":9000}', "inferenceConfig.maxTokens"],
  ['"thinking":{"type":"enabled","budget_tokens":1,"budget_tokens":9000}', "thinking.budget_tokens"],
  ['"reasoning":{"effort":"none","effort":"high"}', "reasoning.effort"],
  ['"stream_options":{"include_usage":true,"include_usage":false}', "stream_options.include_usage"],
  [
    '"generationConfig":{"thinkingConfig":{"thinkingBudget":0,"thinkingBudget":-1}}',
    "generationConfig.thinkingConfig.thinkingBudget",
  ],
])("%s is 400 invalid_json", async (members, path) => {
  const response = await send(members);
  expect(response.json()).toMatchObject({ code: "invalid_json" });
  expect(response.body.toString()).toContain(`\\"${path}\\"`);
  expect(provider.requests).toEqual([]);
});

// Go's encoding/json, for one, ignores case: such a server reads the member, whether or not the known one is there.
test.each([
  ['"Model":"other"', "model"],
  ['"Messages":[]', "messages"],
  ['"me\u017f\\u017fages":[]', "messages"],
  ['"\\u017fTREAM":true', "stream"],
  ['"max_to\u212aens":9000', "max_tokens"],
  ['"Max_Tokens":9000', "max_tokens"],
  ['"N":8', "n"],
  ['"generationconfig":{}', "generationConfig"],
  ['"generationConfig":{"CandidateCount":8}', "generationConfig.candidateCount"],
  [
    '"generationConfig":{"thinkingConfig":{"thin\\u212aingBudget":-1}}',
    "generationConfig.thinkingConfig.thinkingBudget",
  ],
  ['"stream_options":{"Include_Usage":false}', "stream_options.include_usage"],
])("%s is 400 invalid_json: another case of a member", async (members, path) => {
  const response = await send(members);
  expect(response.json()).toMatchObject({ code: "invalid_json" });
  expect(response.status).toBe(400);
  expect(response.body.toString()).toContain(`differs from \\"${path}\\" only in upper and lower case`);
  expect(provider.requests).toEqual([]);
});

test.each([
  '"max_tokens":5',
  '"tools":[{"type":"function","function":{"parameters":{"properties":{"n":{},"N":{},"size":{}}}}}]',
  '"metadata":{"n":"1","speed":"2"},"generationConfig":{"responseSchema":{"properties":{"type":{}}}}',
  '"metadata":{"N":"1"},"TOOLS":[],"generationConfig":{"responseSchema":{"properties":{"Type":{}}}}',
])("%s is accepted", async (members) => {
  expect((await send(members)).status).toBe(200);
});

test.each([
  ['"max_tokens":10,"max_completion_tokens":9000', 9000],
  ['"max_completion_tokens":10,"max_tokens":9000', 9000],
  ['"generationConfig":{"maxOutputTokens":10},"generation_config":{"max_output_tokens":9000}', 9000],
  ['"inferenceConfig":{"maxTokens":9000},"max_tokens":10', 9000],
])("of two variants of a bound the larger is reserved: %s", async (members, reserved) => {
  const { body: list } = await gatehouse.api("GET", `${at}/budgets`);
  const [{ id }] = list.budgets;
  // A budget that the larger bound exceeds refuses the request, and one with room for it does not.
  const { body: state } = await gatehouse.api("GET", `${at}/budgets/${id}/state`);
  const spent = Number(state.spent);
  await gatehouse.api("PATCH", `${at}/budgets/${id}`, { amount: spent + reserved - 1 });
  expect((await send(members)).status).toBe(402);
  await gatehouse.api("PATCH", `${at}/budgets/${id}`, { amount: spent + reserved + 1000 });
  expect((await send(members)).status).toBe(200);
  await gatehouse.api("PATCH", `${at}/budgets/${id}`, { amount: 1_000_000 });
});
