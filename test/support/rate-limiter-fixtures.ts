// What the tests of rate_limiter share: a gateway on a manual clock with a provider, and routes with limits.
import { afterAll, beforeEach } from "bun:test";
import type { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseInProcess, type GatehouseInProcess } from "./gatehouse-in-process.ts";
import type { RunningGatehouse } from "./gatehouse-process.ts";
import { limiter, postChat, seedPlugins, type Fields } from "./plugin-fixtures.ts";
import { CHAT, type SeededRoute } from "./proxy-fixtures.ts";

/** The types of limits, in the order in which they are checked. */
export const LIMIT_TYPES = ["per_fingerprint", "per_ip", "per_user", "global"] as const;
export type Limits = Parameters<typeof limiter>[0];

interface RateLimiterHarness {
  readonly gatehouse: GatehouseInProcess;
  readonly clock: ManualClock;
  readonly provider: FakeProvider;
  /** Creates a gateway with these limits and one route to the provider. */
  readonly seedLimits: (limits: Limits, settings?: Fields) => Promise<SeededRoute>;
  /** Posts a chat and returns the status of its response. */
  readonly statusOf: (
    route: SeededRoute,
    headers?: Record<string, string>,
    body?: unknown,
  ) => Promise<number>;
}

/** Starts a gateway and a provider for all tests of a file; the provider is reset before each test. */
export async function startRateLimiterHarness(env: Record<string, string> = {}): Promise<RateLimiterHarness> {
  const gatehouse = await startGatehouseInProcess({ env });
  const provider = await startFakeProvider();
  beforeEach(() => provider.reset());
  afterAll(async () => {
    await gatehouse.stop();
    await provider.stop();
  });
  return {
    gatehouse,
    clock: gatehouse.clock,
    provider,
    seedLimits: (limits, settings = {}) => seedPlugins(gatehouse, provider, [limiter(limits, settings)]),
    statusOf: async (route, headers = {}, body = CHAT) => {
      const response = await postChat(gatehouse, route, { headers, body });
      await response.text();
      return response.status;
    },
  };
}

/** Returns the rate limit headers as spelled on the wire. */
export function limitHeaders(headers: Iterable<HeaderPair>): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith("X-RateLimit-")));
}

/** Whether a node would reject a request because of a block or because the request would create one. Counts nothing. */
export async function isBlocked(
  node: Pick<RunningGatehouse, "api">,
  { gateway, path }: SeededRoute,
  headers: Record<string, string> = {},
): Promise<boolean> {
  const request = { method: "POST", path, headers, body: CHAT };
  const { body } = await node.api("POST", `/gateways/${gateway}/explain`, request);
  return body.answer?.code === "rate_limit_blocked";
}
