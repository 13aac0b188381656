// Configurations of Gatehouse: "bare" with one rule and one target, "full" with an API key, three rate limits, and code_sanitation
// for all languages, "keyed" with an API key and a price, "limited", which adds three token limits and two budgets to "keyed", and
// "cached" with an API key and response_cache.
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { MODEL } from "./chat-payload.ts";
import { createRoute, startGatehouse, targetAt, type Gatehouse } from "./gatehouse.ts";

/** A limit that no benchmark reaches. */
const UNREACHABLE = { limit: 1_000_000, window: "10s" };

const PLUGINS = [
  {
    name: "rate_limiter",
    stage: "pre_request",
    priority: 1,
    settings: { limits: { per_ip: UNREACHABLE, per_user: UNREACHABLE, global: UNREACHABLE } },
  },
  {
    name: "code_sanitation",
    stage: "pre_request",
    priority: 2,
    settings: {
      languages: LANGUAGES.map((language) => ({ language })),
      content_to_check: ["body"],
      action: "block",
    },
  },
];

const TOKEN_LIMIT = { limit: 1_000_000_000, window: "1m" };
const TOKEN_LIMITER = {
  name: "token_limiter",
  stage: "pre_request",
  settings: { limits: { global: TOKEN_LIMIT, per_key: TOKEN_LIMIT, per_user: TOKEN_LIMIT } },
};
const BUDGETS = [
  { name: "money", unit: "usd", amount: "1000000", period: "month", scope: "gateway" },
  { name: "tokens", unit: "tokens", amount: 1_000_000_000_000, period: "day", scope: "api_key", each: true },
];
const PRICES = [{ model: MODEL, input: "2.5", output: "10" }];

/** Writes the bare configuration into `dataDir`. */
export async function seedBare(dataDir: string, providerUrl: string, launcher?: string): Promise<void> {
  const gatehouse = await startGatehouse({ dataDir, ...(launcher !== undefined && { launcher }) });
  await createRoute(gatehouse, { targets: [targetAt(providerUrl)] });
  await gatehouse.stop();
}

export const KEYED = {
  full: { gateway: { required_plugins: PLUGINS }, budgets: [] },
  keyed: { gateway: { prices: PRICES }, budgets: [] },
  limited: { gateway: { prices: PRICES, required_plugins: [TOKEN_LIMITER] }, budgets: BUDGETS },
  cached: { gateway: { required_plugins: [{ name: "response_cache", stage: "pre_request" }] }, budgets: [] },
};

/** Writes a configuration into `dataDir` whose rule requires an API key; resolves to the key. */
export async function seedKeyed(
  dataDir: string,
  providerUrl: string,
  name: keyof typeof KEYED,
  launcher?: string,
): Promise<string> {
  const gatehouse = await startGatehouse({ dataDir, ...(launcher !== undefined && { launcher }) });
  const key = await addKeyed(gatehouse, providerUrl, name);
  await gatehouse.stop();
  return key;
}

/** Adds a gateway whose rule requires an API key; resolves to the key. */
export async function addKeyed(
  gatehouse: Gatehouse,
  providerUrl: string,
  name: keyof typeof KEYED,
): Promise<string> {
  const { gateway: fields, budgets } = KEYED[name];
  const { gateway } = await createRoute(gatehouse, {
    gateway: { name, ...fields },
    targets: [targetAt(providerUrl)],
    rule: { require_api_key: true },
  });
  for (const budget of budgets) await gatehouse.create(`/gateways/${gateway}/budgets`, budget);
  const { key } = await gatehouse.create("/iam/api-keys", { name: "bench", subject: gateway });
  return key;
}
