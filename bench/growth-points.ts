// The points of the growth curves: for each, the records in the store, the body, and the variants of the request.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH, chatBody } from "./chat-payload.ts";
import { createRoute, startGatehouse, targetAt, type Route } from "./gatehouse.ts";
import { seedApiKeys, seedRules } from "./seed-records.ts";

export interface Point {
  readonly curve: string;
  readonly size: number;
  readonly dataDir: string;
  readonly bodyFile: string;
  /** The paths and API keys that requests use in turn: at most `MAX_VARIANTS`, spread evenly over all of them. */
  readonly variantsFile: string;
}

export type Curve = "rules" | "keys" | "targets" | "body";

export const SIZES: Readonly<Record<Curve, readonly number[]>> = {
  rules: [1, 100, 10_000],
  keys: [1, 1000, 100_000],
  targets: [1, 4, 16, 64],
  body: [1000, 10_000, 100_000, 1_000_000],
};

const MAX_VARIANTS = 1000;

export async function preparePoint(
  folder: string,
  curve: Curve,
  size: number,
  providerUrl: string,
): Promise<Point> {
  const dataDir = join(folder, `${curve}-${size}`);
  mkdirSync(dataDir);
  const gatehouse = await startGatehouse({ dataDir });
  const targets = curve === "targets" ? size : 1;
  const route = await createRoute(gatehouse, {
    targets: Array.from({ length: targets }, () => targetAt(providerUrl)),
    rule: { require_api_key: curve === "keys" },
  });
  await gatehouse.stop();
  const bodyFile = join(dataDir, "body.json");
  writeFileSync(bodyFile, chatBody(curve === "body" ? size : undefined));
  const variantsFile = join(dataDir, "variants");
  writeFileSync(variantsFile, spread(await variants(dataDir, route, curve, size)).join("\n"));
  return { curve, size, dataDir, bodyFile, variantsFile };
}

async function variants(dataDir: string, route: Route, curve: Curve, size: number): Promise<string[]> {
  // The route has a rule already.
  if (curve === "rules") return [CHAT_PATH, ...(await seedRules(dataDir, route, size - 1))];
  if (curve === "keys")
    return (await seedApiKeys(dataDir, route, size)).map((key) => `${CHAT_PATH} X-GW-API-Key ${key}`);
  return [CHAT_PATH];
}

function spread(all: readonly string[]): string[] {
  const step = Math.max(1, all.length / MAX_VARIANTS);
  return Array.from(
    { length: Math.min(all.length, MAX_VARIANTS) },
    (_, index) => all[Math.floor(index * step)]!,
  );
}
