// /metrics over HTTP: on the admin listener, without a token, in the Prometheus format; and every metric after the requests
// that change it.
import { beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import {
  limiter,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  seedPlugins,
  STREAMED_CHAT,
} from "../support/plugin-fixtures.ts";
import { readMetrics, type MetricsPage } from "../support/prometheus-text.ts";
import { checkMetrics, hasPromtool } from "../support/promtool.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const env = { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) };
const [gatehouse, provider, broken] = await Promise.all([
  useGatehouse({ env }),
  useFakeProvider(),
  useFakeProvider(),
]);
beforeEach(() => broken.behave({ status: 503 }));

async function scrape(): Promise<MetricsPage> {
  return readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
}

/** Returns the increase of a value since an earlier page. */
async function increase(
  before: MetricsPage,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<number> {
  return (await scrape()).sum(name, labels) - before.sum(name, labels);
}

test("/metrics needs no token; metrics of the process, the store and the counters", async () => {
  await gatehouse.api("POST", "/gateways", { name: "one" });
  const response = await fetch(`${gatehouse.adminUrl}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const page = readMetrics(await response.text());
  expect(page.value("gatehouse_ready")).toBe(1);
  expect(page.value("gatehouse_config_revision")).toBeGreaterThan(0);
  expect(page.value("gatehouse_store_up")).toBe(1);
  expect(page.value("gatehouse_counters_up")).toBe(1);
  expect(page.value("gatehouse_counters_lost_total")).toBe(0);
  expect(page.value("process_cpu_seconds_total")).toBeGreaterThan(0);
  expect(page.value("process_resident_memory_bytes")).toBeGreaterThan(1e6);
  expect(page.value("process_open_fds")).toBeGreaterThan(3);
  const now = Date.now() / 1000;
  expect(page.value("process_start_time_seconds")).toBeWithin(now - 600, now + 1);
  await waitUntil(async () => (await scrape()).sum("gatehouse_event_loop_lag_seconds_count") > 0);
});

test("the proxy listener does not serve metrics", async () => {
  expect((await fetch(`${gatehouse.proxyUrl}/metrics`)).status).toBe(404);
});

describe("requests", () => {
  test("by gateway, rule, provider, model and status, with their times and tokens", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "plain", required_plugins: [scripted("post_response", "")] },
      upstream: { targets: [targetAt(provider, { models: ["gpt-fake"] })] },
      rule: { name: "chat" },
    });
    for (const body of [CHAT, CHAT, STREAMED_CHAT]) await (await postChat(gatehouse, route, { body })).text();
    await (await postChat(gatehouse, route, { body: "not json" })).text();
    const page = await scrape();
    const labels = { gateway: "plain", rule: "chat", provider: "openai", model: "gpt-fake" };
    expect(page.value("gatehouse_requests_total", { ...labels, status: "200" })).toBe(3);
    const unserved = { gateway: "plain", rule: "chat", provider: "", model: "" };
    expect(page.value("gatehouse_requests_total", { ...unserved, status: "400" })).toBe(1);
    for (const name of ["gatehouse_request_duration_seconds", "gatehouse_first_byte_seconds"]) {
      expect(page.value(`${name}_count`, labels)).toBe(3);
      expect(page.value(`${name}_sum`, labels)).toBeGreaterThan(0);
      expect(page.value(`${name}_bucket`, { ...labels, le: "+Inf" })).toBe(3);
    }
    for (const name of ["gatehouse_time_to_first_token_seconds", "gatehouse_time_per_output_token_seconds"])
      expect(page.value(`${name}_count`, labels)).toBe(1);
    expect(page.value("gatehouse_tokens_total", { ...labels, direction: "input" })).toBeGreaterThan(0);
    expect(page.value("gatehouse_tokens_total", { ...labels, direction: "output" })).toBeGreaterThan(0);
    expect(page.value("gatehouse_request_outcomes_total", { gateway: "plain", outcome: "complete" })).toBe(3);
    expect(page.value("gatehouse_request_outcomes_total", { gateway: "plain", outcome: "refused" })).toBe(1);
    expect(page.value("gatehouse_errors_total", { gateway: "plain", code: "invalid_json" })).toBe(1);
  });

  test("without a matching rule", async () => {
    const before = await scrape();
    await fetch(`${gatehouse.proxyUrl}/nowhere`);
    const labels = { gateway: "", rule: "", provider: "", model: "", status: "404" };
    expect(await increase(before, "gatehouse_requests_total", labels)).toBe(1);
    expect(await increase(before, "gatehouse_errors_total", { gateway: "", code: "rule_not_found" })).toBe(1);
  });

  test("in flight, at the gateway and at a target", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "slow" },
      upstream: { targets: [targetAt(provider)] },
    });
    provider.behave({ delayMs: 60_000 });
    const client = new AbortController();
    const call = fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      body: "x",
      signal: client.signal,
    }).catch(() => null);
    try {
      await waitUntil(
        async () => (await scrape()).sum("gatehouse_target_in_flight", { gateway: "slow" }) === 1,
      );
      expect((await scrape()).value("gatehouse_requests_in_flight")).toBe(1);
    } finally {
      client.abort();
      await call;
    }
    await waitUntil(async () => (await scrape()).value("gatehouse_requests_in_flight") === 0);
    provider.reset();
    const page = await scrape();
    expect(page.sum("gatehouse_request_outcomes_total", { gateway: "slow", outcome: "client_left" })).toBe(1);
    expect(page.sum("gatehouse_attempts_total", { gateway: "slow", result: "client_left" })).toBe(1);
  });
});

describe("targets", () => {
  test("attempts, retries, failovers, ejections and health", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "failing" },
      upstream: {
        name: "pair",
        targets: [targetAt(broken), targetAt(provider, { priority: 2 })],
        health_checks: { passive: true, threshold: 2, interval: 600 },
      },
    });
    for (let call = 0; call < 4; call++) expect((await postChat(gatehouse, route)).status).toBe(200);
    const page = await scrape();
    const upstream = { gateway: "failing", upstream: "pair" };
    expect(page.value("gatehouse_retries_total", upstream)).toBe(2);
    expect(page.value("gatehouse_failovers_total", upstream)).toBe(2);
    expect(page.sum("gatehouse_attempts_total", { ...upstream, result: "503" })).toBe(2);
    expect(page.sum("gatehouse_attempts_total", { ...upstream, result: "200" })).toBe(4);
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/upstreams/${route.upstream}`);
    const [out, serving] = body.targets.map((target: { id: string }) => ({
      ...upstream,
      target: target.id,
      provider: "openai",
    }));
    expect(page.value("gatehouse_target_healthy", out)).toBe(0);
    expect(page.value("gatehouse_target_healthy", serving)).toBe(1);
    expect(page.value("gatehouse_target_ejections_total", out)).toBe(1);
    expect(page.value("gatehouse_target_ejections_total", serving)).toBe(0);

    await gatehouse.api("DELETE", `/gateways/${route.gateway}?cascade=true`);
    expect(
      (await scrape()).series.filter(
        (each) => each.name === "gatehouse_target_healthy" && each.labels["gateway"] === "failing",
      ),
    ).toEqual([]);
  });

  test("the only target is tried again: a retry, but no failover", async () => {
    const closed = await startFakeProvider();
    await closed.stop();
    const route = await seedRoute(gatehouse, {
      gateway: { name: "alone" },
      upstream: { name: "one", targets: [targetAt(closed)] },
    });
    expect((await postChat(gatehouse, route)).status).toBe(502);
    const page = await scrape();
    expect(page.value("gatehouse_retries_total", { gateway: "alone", upstream: "one" })).toBe(1);
    expect(page.value("gatehouse_failovers_total", { gateway: "alone", upstream: "one" })).toBe(0);
    expect(page.sum("gatehouse_attempts_total", { gateway: "alone", result: "unreachable" })).toBe(2);
  });
});

describe("plugins", () => {
  test("decisions of the rate limiter, by limit and by counter", async () => {
    const route = await seedPlugins(gatehouse, provider, [limiter({ per_ip: [2, "1h"] })]);
    for (let call = 0; call < 3; call++) await (await postChat(gatehouse, route)).text();
    const page = await scrape();
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
    const plugin = { gateway: body.name, plugin: "rate_limiter" };
    const events = (event: string, kind: string) =>
      page.value("gatehouse_plugin_events_total", { ...plugin, event, kind });
    expect([events("admitted", ""), events("refused", "per_ip"), events("decided", "memory")]).toEqual([
      2, 1, 3,
    ]);
    expect(page.value("gatehouse_errors_total", { gateway: body.name, code: "rate_limit_exceeded" })).toBe(1);
    expect(page.value("gatehouse_plugin_duration_seconds_count", { ...plugin, stage: "pre_request" })).toBe(
      3,
    );
  });

  test("findings of code_sanitation by language, for blocking and masking", async () => {
    for (const action of ["block", "sanitize"]) {
      const settings = {
        languages: ["javascript", "sql"].map((language) => ({ language, enabled: true })),
        content_to_check: ["body"],
        action,
      };
      const route = await seedPlugins(gatehouse, provider, [
        { name: "code_sanitation", stage: "pre_request", settings },
      ]);
      const { body: gateway } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
      for (const content of ["good morning", "eval(atob('eA'))", "eval(x) and eval(y)"]) {
        const body = { ...CHAT, messages: [{ role: "user", content }] };
        await (await postChat(gatehouse, route, { body })).text();
      }
      const page = await scrape();
      const labels = { gateway: gateway.name, plugin: "code_sanitation", event: "found" };
      expect(page.value("gatehouse_plugin_events_total", { ...labels, kind: "javascript" })).toBe(2);
      expect(page.sum("gatehouse_plugin_events_total", labels)).toBe(2);
    }
  });

  test("events of a custom plugin; its failures and duration are counted too", async () => {
    const code = `
      context.count("seen");
      context.count("seen", context.method);
      if (context.headers.has("x-fail")) throw new Error("as requested");`;
    const route = await seedPlugins(gatehouse, provider, [scripted("pre_request", code)]);
    const { body: gateway } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
    await (await postChat(gatehouse, route)).text();
    expect((await postChat(gatehouse, route, { headers: { "X-Fail": "1" } })).status).toBe(500);
    const page = await scrape();
    const plugin = { gateway: gateway.name, plugin: "scripted" };
    expect(page.value("gatehouse_plugin_events_total", { ...plugin, event: "seen", kind: "" })).toBe(2);
    expect(page.value("gatehouse_plugin_events_total", { ...plugin, event: "seen", kind: "POST" })).toBe(2);
    const atStage = { ...plugin, stage: "pre_request" };
    expect(page.value("gatehouse_plugin_faults_total", atStage)).toBe(1);
    expect(page.value("gatehouse_plugin_duration_seconds_count", atStage)).toBe(2);
  });
});

test.skipIf(!hasPromtool)("the page after all these requests passes promtool check metrics", async () => {
  const page = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  expect(page).toContain("gatehouse_requests_total{");
  expect(checkMetrics(page)).toBe("");
});
