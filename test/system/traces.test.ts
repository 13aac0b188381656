// Traces: an OTLP collector receives a span per request and per attempt, and nothing else.
import { afterAll, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, untilPrinted } from "../support/gatehouse-process.ts";
import { startOtlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import {
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  STREAMED_CHAT,
} from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${SPAN}-01`;
const receiver = startOtlpReceiver();
const env = {
  PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS),
  OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/`,
  OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=acme,api-key=col%20lector",
  OTEL_SERVICE_NAME: "my gateway",
  OTEL_BSP_SCHEDULE_DELAY: "50",
};
const [gatehouse, provider, second] = await Promise.all([
  useGatehouseProcess({ env }),
  useFakeProvider(),
  useFakeProvider(),
]);
afterAll(async () => {
  await receiver.stop();
});

/** Waits for the spans of a request: its own span, then its attempts in order of time. */
async function spansOf(requestId: string): Promise<[ReceivedSpan, ...ReceivedSpan[]]> {
  const own = await waitFor(
    () => receiver.spans().find((span) => span.attributes["gatehouse.request_id"] === requestId) ?? null,
  );
  const attempts = receiver
    .spans()
    .filter((span) => span.parentSpanId === own.spanId)
    .sort((a, b) => Number(a.start - b.start));
  return [own, ...attempts];
}

async function metric(name: string, labels: Record<string, string>): Promise<number> {
  return readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text()).sum(name, labels);
}

describe("spans", () => {
  test("of a served request: ids, parents, times and attributes", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "traced", required_plugins: [scripted("post_response", "")] },
      upstream: { targets: [targetAt(provider, { provider: "mistral" })] },
    });
    provider.behave({ usage: { input: 7, output: 9 }, model: "gpt-fake-0613" });
    const before = BigInt(Date.now()) * 1_000_000n;
    const response = await postChat(gatehouse, route, { headers: { "X-Request-Id": "served" } });
    await response.text();
    const sent = onlyRequest(provider).header("traceparent") ?? "";
    provider.reset();
    const [own, attempt, ...others] = await spansOf("served");
    const after = BigInt(Date.now() + 1) * 1_000_000n;
    expect(others).toEqual([]);
    expect(own).toMatchObject({
      kind: "SERVER",
      name: `POST ${route.path}`,
      parentSpanId: null,
      isError: false,
    });
    expect(own.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": route.path,
      "http.response.status_code": 200,
      "url.path": route.path,
      "url.scheme": "http",
      "gatehouse.request_id": "served",
      "gatehouse.gateway": "traced",
      "gatehouse.outcome": "complete",
      "gatehouse.attempts": 1,
      "gatehouse.revision": expect.any(Number),
    });
    expect(attempt).toMatchObject({
      kind: "CLIENT",
      name: "chat gpt-fake",
      traceId: own.traceId,
      isError: false,
    });
    expect(attempt?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "mistral_ai",
      "gen_ai.request.model": "gpt-fake",
      "gen_ai.response.model": "gpt-fake-0613",
      "gen_ai.response.id": expect.stringMatching(/^chatcmpl-fake\d+$/),
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.output_tokens": 9,
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(provider.url).port),
      "http.request.method": "POST",
      "http.response.status_code": 200,
      "gatehouse.target": expect.any(String),
    });
    const times = [before - 2_000_000n, own.start, attempt?.start ?? 0n, attempt?.end ?? 0n, own.end, after];
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
    expect(sent).toBe(`00-${own.traceId}-${attempt?.spanId}-01`);
  });

  test("of a stream: its operation, its model and its tokens", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [scripted("post_response", "")] },
      upstream: { targets: [targetAt(provider)] },
    });
    provider.behave({ usage: { input: 3, output: 4 }, model: "streamed-model" });
    const body = { ...STREAMED_CHAT, stream_options: { include_usage: true } };
    await (await postChat(gatehouse, route, { body, headers: { "X-Request-Id": "streamed" } })).text();
    provider.reset();
    const [, attempt] = await spansOf("streamed");
    expect(attempt?.name).toBe("chat gpt-fake");
    expect(attempt?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.response.model": "streamed-model",
      "gen_ai.usage.input_tokens": 3,
      "gen_ai.usage.output_tokens": 4,
    });
  });

  test("of a failover: one per attempt, the failed one marked, each the parent of its request", async () => {
    provider.behave({ status: 503 });
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider), targetAt(second, { priority: 2 })] },
    });
    await (await postChat(gatehouse, route, { headers: { "X-Request-Id": "failover" } })).text();
    const parents = [provider, second].map((each) => onlyRequest(each).header("traceparent"));
    provider.reset();
    second.reset();
    const [own, failed, served] = await spansOf("failover");
    expect(own.isError).toBe(false);
    expect(failed).toMatchObject({
      isError: true,
      attributes: { "error.type": "503", "http.response.status_code": 503 },
    });
    expect(served).toMatchObject({ isError: false, attributes: { "http.response.status_code": 200 } });
    expect((served?.start ?? 0n) >= (failed?.end ?? 0n)).toBe(true);
    expect(parents).toEqual([failed, served].map((span) => `00-${own.traceId}-${span?.spanId}-01`));
  });

  test("of errors: an unreachable provider, and a request without a rule", async () => {
    const unreachable = await startFakeProvider();
    await unreachable.stop();
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(unreachable)] } });
    await (await postChat(gatehouse, route, { headers: { "X-Request-Id": "gone" } })).text();
    const [own, attempt] = await spansOf("gone");
    expect(own).toMatchObject({ isError: true, attributes: { "error.type": "upstream_unreachable" } });
    expect(attempt).toMatchObject({ isError: true, attributes: { "error.type": "unreachable" } });
    expect(attempt?.attributes).not.toHaveProperty("http.response.status_code");

    await fetch(`${gatehouse.proxyUrl}/nowhere`, { headers: { "X-Request-Id": "nowhere" } });
    const [unmatched, ...attempts] = await spansOf("nowhere");
    expect(unmatched).toMatchObject({
      name: "GET",
      isError: false,
      attributes: { "http.response.status_code": 404 },
    });
    expect(unmatched.attributes).not.toHaveProperty("http.route");
    expect(attempts).toEqual([]);
  });
});

describe("trace context", () => {
  test("the trace of a client is continued, with its state", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const headers = { traceparent: PARENT, tracestate: "vendor=1", "X-Request-Id": "continued" };
    await (await postChat(gatehouse, route, { headers })).text();
    const request = onlyRequest(provider);
    provider.reset();
    const [own, attempt] = await spansOf("continued");
    expect(own).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, traceState: "vendor=1" });
    expect(request.header("traceparent")).toBe(`00-${TRACE}-${attempt?.spanId}-01`);
    expect(request.header("tracestate")).toBe("vendor=1");
  });

  test("a request that the client does not sample is not traced, and its header is forwarded unchanged", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const traceparent = `00-${"a".repeat(32)}-${SPAN}-00`;
    await (await postChat(gatehouse, route, { headers: { traceparent } })).text();
    expect(onlyRequest(provider).header("traceparent")).toBe(traceparent);
    provider.reset();
    await (await postChat(gatehouse, route, { headers: { "X-Request-Id": "after" } })).text();
    provider.reset();
    await spansOf("after");
    expect(receiver.spans().filter((span) => span.traceId === "a".repeat(32))).toEqual([]);
  });
});

describe("the collector", () => {
  test("receives the resource attributes and the configured headers", async () => {
    await (await fetch(`${gatehouse.proxyUrl}/who`, { headers: { "X-Request-Id": "who" } })).text();
    await spansOf("who");
    const { headers, resource } = receiver.batches.at(-1)!;
    expect([headers.get("x-tenant"), headers.get("api-key")]).toEqual(["acme", "col lector"]);
    expect(resource).toMatchObject({ "service.name": "my gateway", "service.version": expect.any(String) });
  });

  test("never receives a prompt, a response body or a credential", async () => {
    const secret = "sk-abcdefghijklmnop";
    const credentials = { header_name: "Authorization", header_value: `Bearer ${secret}` };
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { credentials })] },
      rule: { path: "/traced-secrets/*" },
    });
    provider.behave({ text: "the whole response" });
    const body = {
      ...CHAT,
      model: "sk-model-abcdefgh",
      messages: [{ role: "user", content: "the whole prompt" }],
    };
    await (
      await fetch(`${gatehouse.proxyUrl}/traced-secrets/${secret}?key=${secret}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Request-Id": "secretive" },
        body: JSON.stringify(body),
      })
    ).text();
    provider.reset();
    await spansOf("secretive");
    for (const hidden of [secret, "sk-model-abcdefgh", "whole prompt", "whole response"])
      expect(receiver.text()).not.toContain(hidden);
    expect(receiver.problems).toEqual([]);
  });

  test("a collector that is unavailable for a while gets the spans later; rejected spans are dropped and counted", async () => {
    const before = await metric("gatehouse_trace_spans_total", { result: "dropped" });
    receiver.respondWith(() => {
      receiver.respondWith(null);
      return new Response(null, { status: 503 });
    });
    await (await fetch(`${gatehouse.proxyUrl}/later`, { headers: { "X-Request-Id": "later" } })).text();
    await spansOf("later");
    await untilPrinted(gatehouse, "trace export failed");
    await untilPrinted(gatehouse, "trace export recovered");

    receiver.respondWith(() => new Response(null, { status: 400 }));
    await (await fetch(`${gatehouse.proxyUrl}/invalid`)).text();
    await waitUntil(
      async () => (await metric("gatehouse_trace_spans_total", { result: "dropped" })) > before,
    );
    // partial_success { rejected_spans: 1, error_message: "no" }
    const partial = new Uint8Array([0x0a, 6, 0x08, 1, 0x12, 2, 0x6e, 0x6f]);
    receiver.respondWith(
      () => new Response(partial, { headers: { "Content-Type": "application/x-protobuf" } }),
    );
    await (await fetch(`${gatehouse.proxyUrl}/rejected`)).text();
    await waitUntil(
      async () => (await metric("gatehouse_trace_spans_total", { result: "dropped" })) === before + 2,
    );
    receiver.respondWith(null);
    expect(await metric("gatehouse_trace_spans_total", { result: "exported" })).toBeGreaterThan(5);
  }, 60_000);
});

test("queued spans are sent at shutdown", async () => {
  const own = startOtlpReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: own.url, OTEL_BSP_SCHEDULE_DELAY: "60000" };
  const ending = await startGatehouseProcess({ env });
  try {
    await (await fetch(`${ending.proxyUrl}/last`)).text();
    ending.signal("SIGTERM");
    expect(await ending.exited).toBe(0);
    expect(own.spans()).toMatchObject([{ kind: "SERVER", attributes: { "url.path": "/last" } }]);
  } finally {
    await Promise.all([ending.stop(), own.stop()]);
  }
}, 60_000);

describe("the settings of OpenTelemetry", () => {
  test("resource attributes, with the service name on top, and an endpoint of traces that is used as it is", async () => {
    const own = startOtlpReceiver({ traces: "/custom/spans" });
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${own.url}/custom/spans`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=all",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-tenant=traces",
      OTEL_RESOURCE_ATTRIBUTES:
        "deployment.environment.name=pro%20d, team=a%2Cb,service.name=lost,service.version=9",
      OTEL_SERVICE_NAME: "winner",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
    const gateway = await startGatehouseProcess({ env });
    try {
      await (await fetch(`${gateway.proxyUrl}/resource`)).text();
      const batch = await waitFor(() => own.batches[0] ?? null);
      expect(own.problems).toEqual([]);
      expect(batch.headers.get("x-tenant")).toBe("traces");
      expect(batch.resource).toMatchObject({
        "service.name": "winner",
        "service.version": "9",
        "deployment.environment.name": "pro d",
        team: "a,b",
        "telemetry.sdk.name": "gatehouse",
      });
    } finally {
      await Promise.all([gateway.stop(), own.stop()]);
    }
  }, 60_000);

  test("service.name in the resource attributes applies without OTEL_SERVICE_NAME", async () => {
    const own = startOtlpReceiver();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
      OTEL_RESOURCE_ATTRIBUTES: "service.name=from-attributes",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
    const gateway = await startGatehouseProcess({ env });
    try {
      await (await fetch(`${gateway.proxyUrl}/resource`)).text();
      const batch = await waitFor(() => own.batches[0] ?? null);
      expect(batch.resource["service.name"]).toBe("from-attributes");
    } finally {
      await Promise.all([gateway.stop(), own.stop()]);
    }
  }, 60_000);

  test("invalid resource attributes are reported once at startup, and all of them are discarded", async () => {
    const own = startOtlpReceiver();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
      OTEL_RESOURCE_ATTRIBUTES: "team=search,region",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      WORKERS: "2",
    };
    const gateway = await startGatehouseProcess({ env });
    try {
      await untilPrinted(gateway, "resource attributes discarded");
      await (await fetch(`${gateway.proxyUrl}/resource`)).text();
      const batch = await waitFor(() => own.batches[0] ?? null);
      expect(batch.resource).toMatchObject({ "service.name": "gatehouse" });
      expect(batch.resource).not.toHaveProperty("team");
      expect(gateway.output()).toContain('OTEL_RESOURCE_ATTRIBUTES has the entry \\"region\\"');
      expect(gateway.output().split("resource attributes discarded")).toHaveLength(2);
    } finally {
      await Promise.all([gateway.stop(), own.stop()]);
    }
  }, 60_000);
});
