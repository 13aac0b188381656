// Server-Timing: where the time of a request went, on responses of providers and of the gateway itself.
import { describe, expect, test } from "bun:test";
import {
  limiter,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  STREAMED_CHAT,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const env = { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) };
const [gatehouse, provider] = await Promise.all([useGatehouse({ env }), useFakeProvider()]);

/** Returns the names and durations, in order. */
async function timingOf(response: Response): Promise<(readonly [name: string, ms: number])[]> {
  await response.text();
  const header = response.headers.get("server-timing") ?? "";
  return header.split(", ").map((entry) => {
    const [, name = "", duration = ""] = /^([\w.]+);dur=(\d+\.\d)$/.exec(entry) ?? [];
    return [name, Number(duration)] as const;
  });
}
const namesOf = async (response: Response) => (await timingOf(response)).map(([name]) => name);

const routeWith = (plugins: Fields[], target: Fields = {}): Promise<SeededRoute> =>
  seedRoute(gatehouse, {
    gateway: { required_plugins: plugins },
    upstream: { targets: [targetAt(provider, target)] },
  });

describe("Server-Timing", () => {
  test("of a provider's response: auth, body, each plugin, waiting for a connection, upstream", async () => {
    const route = await routeWith([limiter({ global: [50, "1m"] }), scripted("post_request", "")]);
    const first = await timingOf(await postChat(gatehouse, route));
    expect(first.map(([name]) => name)).toEqual([
      "total",
      "auth",
      "body",
      "plugin.rate_limiter",
      "plugin.scripted",
      "queue",
      "upstream",
    ]);
    const [total, ...parts] = first.map(([, ms]) => ms) as [number, ...number[]];
    for (const part of parts) expect(part).toBeLessThanOrEqual(total);
    // The connection is open now.
    expect(await namesOf(await postChat(gatehouse, route))).not.toContain("queue");
    expect(await namesOf(await postChat(gatehouse, route, { body: STREAMED_CHAT }))).toEqual([
      "total",
      "auth",
      "body",
      "plugin.rate_limiter",
      "plugin.scripted",
      "upstream",
    ]);
  });

  test("of a request that is translated names the translation", async () => {
    const route = await routeWith([], { provider: "anthropic", path: "/v1/messages" });
    expect(await namesOf(await postChat(gatehouse, route))).toContain("translate");
  });

  test("of a request without a body has no body", async () => {
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider)] },
      rule: { methods: ["GET"] },
    });
    const names = await namesOf(await fetch(gatehouse.proxyUrl + route.path));
    expect(names).toEqual(expect.arrayContaining(["total", "auth", "upstream"]));
    expect(names).not.toContain("body");
  });

  test("is on the gateway's own responses: errors, plugin responses, the model list", async () => {
    expect(await namesOf(await fetch(`${gatehouse.proxyUrl}/nowhere`))).toEqual(["total", "auth"]);
    const route = await routeWith([limiter({ global: [1, "1m"] })]);
    await postChat(gatehouse, route);
    const limited = await postChat(gatehouse, route);
    expect(limited.status).toBe(429);
    expect(await namesOf(limited)).toEqual(["total", "auth", "body", "plugin.rate_limiter"]);

    const unreachable = await routeWith([], { base_url: "http://127.0.0.1:1" });
    const failed = await postChat(gatehouse, unreachable);
    expect(failed.status).toBe(502);
    expect(await namesOf(failed)).toEqual(["total", "auth", "body", "upstream"]);

    const { body } = await gatehouse.api("POST", "/iam/api-keys", { name: "k", subject: route.gateway });
    const headers = { "X-GW-API-Key": body.key as string };
    const models = await fetch(`${gatehouse.proxyUrl}/v1/models`, { headers });
    expect(models.status).toBe(200);
    expect(await namesOf(models)).toEqual(["total", "auth"]);
  });
});
