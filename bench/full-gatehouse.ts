// Two configurations of Gatehouse: "bare" with one rule and one target, and "full" with an API key, three rate limits, and
// code_sanitation for all languages.
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { createRoute, startGatehouse, targetAt } from "./gatehouse.ts";

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

/** Writes the bare configuration into `dataDir`. */
export async function seedBare(dataDir: string, providerUrl: string): Promise<void> {
  const gatehouse = await startGatehouse({ dataDir });
  await createRoute(gatehouse, { targets: [targetAt(providerUrl)] });
  await gatehouse.stop();
}

/** Writes the full configuration into `dataDir`; resolves to the API key that the rule requires. */
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
