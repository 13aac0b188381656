// A gateway with the simplest useful configuration: one rule for the whole API, and one target.
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

export interface TargetFormat {
  readonly provider: string;
  /** Absent: the gateway chooses the endpoint of the provider. */
  readonly format?: string;
  /** Absent: MODEL. */
  readonly model?: string;
}

export const MODEL = "fake-1";

/** Returns the API key of a new gateway. */
export async function connectTo(
  gatehouse: GatehouseProcess,
  provider: FakeProvider,
  { model = MODEL, ...target }: TargetFormat,
  path = "/v1/*",
): Promise<string> {
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { error_format: "auto" },
    upstream: {
      // Agents ask for models of their own, too, which then become this one.
      targets: [targetAt(provider, { ...target, models: [model], default_model: model })],
      max_attempts: 1,
    },
    rule: { path, methods: ["*"] },
  });
  const { key } = await seedKey(gatehouse, gateway);
  return key;
}
