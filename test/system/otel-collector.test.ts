// Traces, metrics and logs in a real OpenTelemetry Collector: what its debug exporter prints.
import { expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { hasCollector, startCollector } from "../support/otel-collector.ts";
import { postChat, STREAMED_CHAT } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const START = { spans: /^Span #\d+$/m, metrics: /^Metric #\d+$/m, logs: /^LogRecord #\d+$/m };

/** Waits until the collector has printed a span, a metric or a log record that contains all texts. */
function printed(
  output: () => string,
  kind: keyof typeof START,
  ...texts: readonly string[]
): Promise<string> {
  return waitFor(() => {
    const blocks = output().split(START[kind]).slice(1);
    return blocks.find((block) => texts.every((text) => block.includes(text))) ?? null;
  });
}

test.skipIf(!hasCollector)(
  "a collector accepts the spans and the record of a request, and the metrics that count it",
  async () => {
    const collector = await startCollector();
    const provider = await startFakeProvider();
    const gatehouse = await startGatehouseProcess({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_METRICS_EXPORTER: "otlp",
        REQUEST_LOG_SINK: "otlp",
        OTEL_METRIC_EXPORT_INTERVAL: "200",
        OTEL_BSP_SCHEDULE_DELAY: "50",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=collected",
      },
    });
    const { output } = collector;
    try {
      const route = await seedRoute(gatehouse, {
        gateway: { name: "collected" },
        upstream: { targets: [targetAt(provider)] },
      });
      const body = { ...STREAMED_CHAT, max_tokens: 55, temperature: 0.25 };
      await (await postChat(gatehouse, route, { body })).text();

      await printed(output, "spans", `Name           : POST ${route.path}`, "Kind           : Server");
      const attempt = await printed(output, "spans", "Name           : chat gpt-fake");
      for (const attribute of [
        "gen_ai.request.max_tokens: Int(55)",
        "gen_ai.request.temperature: Double(0.25)",
        "gen_ai.response.id: Str(chatcmpl-fake1)",
        'gen_ai.response.finish_reasons: Slice(["stop"])',
      ])
        expect(attempt).toContain(attribute);

      const requests = await printed(output, "metrics", "Name: gatehouse_requests_total\n");
      for (const text of ["IsMonotonic: true", "Cumulative", "gateway: Str(collected)", "Value: 1.000000"])
        expect(requests).toContain(text);
      const durations = await printed(output, "metrics", "Name: gatehouse_request_duration_seconds\n");
      for (const text of ["Unit: s\n", "DataType: Histogram", "Count: 1\n", "ExplicitBounds #14: 300.000000"])
        expect(durations).toContain(text);
      await printed(output, "metrics", "Name: gatehouse_store_up\n", "DataType: Gauge", "Value: 1.000000");

      await printed(output, "logs", "gatehouse.gateway: Str(collected)", "SeverityText: INFO");

      expect(output()).toContain("deployment.environment.name: Str(collected)");
      expect(gatehouse.output()).not.toContain("export failed");
    } finally {
      await Promise.all([gatehouse.stop(), provider.stop()]);
      await collector.stop();
    }
  },
  60_000,
);
