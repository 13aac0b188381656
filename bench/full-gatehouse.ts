// Gatehouse with everything on that a careful operator has on: a key, three limits, all languages looked for.
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { createRoute, startGatehouse, targetAt } from "./gatehouse.ts";

/** So high that no load of a benchmark fills it. */
const NEVER_FULL = { limit: 1_000_000, window: "10s" };

const PLUGINS = [
  {
    name: "rate_limiter",
    stage: "pre_request",
    priority: 1,
    settings: { limits: { per_ip: NEVER_FULL, per_user: NEVER_FULL, global: NEVER_FULL } },
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

/** Writes the records of a bare route into `dataDir`: one rule, one target, nothing else. */
export async function seedBare(dataDir: string, providerUrl: string): Promise<void> {
  const gatehouse = await startGatehouse({ dataDir });
  await createRoute(gatehouse, { targets: [targetAt(providerUrl)] });
  await gatehouse.stop();
}

/** The same with all of it on; returns the API key that the rule asks for. */
export async function seedFull(dataDir: string, providerUrl: string): Promise<string> {
  const gatehouse = await startGatehouse({ dataDir });
  const { gateway } = await createRoute(gatehouse, {
    gateway: { required_plugins: PLUGINS },
    targets: [targetAt(providerUrl)],
    rule: { require_api_key: true },
  });
  const { key } = await gatehouse.create("/iam/api-keys", { name: "bench", subject: gateway });
  await gatehouse.stop();
  return key;
}
