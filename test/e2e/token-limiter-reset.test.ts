// The duration until the reset of a token limit, in the header fields of OpenAI.
import { expect, test } from "bun:test";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

const {
  gatehouse,
  providers: [provider],
  clock,
} = await startWithProviders("provider");

test.each([
  [
    "token_limiter reports",
    { global: { limit: 100_000, window: "1m" }, per_ip: { limit: 9000, window: "1m" } },
  ],
  ["the gateway repeats", { global: { limit: 9000, window: "1m" } }],
])("is the window and not a second longer if %s the limit", async (_, limits) => {
  const route = await seedRoute(gatehouse, {
    gateway: { required_plugins: [{ name: "token_limiter", stage: "pre_request", settings: { limits } }] },
    upstream: { targets: [targetAt(provider)] },
  });
  // The time of the reset is rounded up to a whole second.
  clock.advance(1300 - (clock.unixNow() % 1000));
  const durations: (string | null)[] = [];
  for (let sent = 0; sent < 3; sent++) {
    const response = await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
    });
    await response.text();
    durations.push(response.headers.get("x-ratelimit-reset-tokens"));
  }
  expect(durations).toEqual(["1m0s", "1m0s", "1m0s"]);
});
