// REQUEST_LOG_SINK: the records of finished requests outlive the process.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGatehouseProcess, type ApiResponse } from "../support/gatehouse-process.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const root = mkdtempSync(join(tmpdir(), "gatehouse-request-log-"));
afterAll(() => rmSync(root, { recursive: true }));

function raise(message: string): never {
  throw new Error(message);
}

function recordsIn(path: string): ApiResponse["body"][] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const path = join(root, "logs", "requests.jsonl");
const [gatehouse, provider] = await Promise.all([
  useGatehouseProcess({ env: { REQUEST_LOG_SINK: `file:${path}`, REQUEST_LOG_SIZE: "10" } }),
  useFakeProvider(),
]);

async function recordOf(requestId: string): Promise<ApiResponse["body"]> {
  const find = () => recordsIn(path).filter((record) => record.request_id === requestId);
  await waitUntil(() => find().length > 0);
  expect(find()).toHaveLength(1);
  return find()[0];
}

describe("a file", () => {
  test("has the records of the request log, without bodies", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    await (await postChat(gatehouse, route, { headers: { "X-Request-Id": "plain" } })).text();
    const record = await recordOf("plain");
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    expect(body.requests).toEqual([record]);
    expect(record).not.toHaveProperty("bodies");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("has bodies of gateways with log_bodies, decoded and redacted", async () => {
    const secret = "a-credential/of-no-known+shape";
    const credentials = { header_name: "X-Provider-Key", header_value: secret };
    const route = await seedRoute(gatehouse, {
      gateway: { log_bodies: true },
      upstream: { targets: [targetAt(provider, { credentials })] },
    });
    provider.behave({ encoding: "br", text: `${secret} and sk-0123456789abcdef` });
    const body = { ...CHAT, user: "gw_0123456789012345678901234567890123456789012" };
    await (await postChat(gatehouse, route, { body, headers: { "X-Request-Id": "bodies" } })).text();
    provider.reset();
    const { bodies } = await recordOf("bodies");
    expect(JSON.parse(bodies.request)).toEqual({ ...CHAT, user: "gw_***" });
    expect(JSON.parse(bodies.response).choices[0].message.content).toBe("*** and sk-***");
    expect(readFileSync(path, "utf8")).not.toContain(secret);
  });

  test("has the requests that belong to no gateway", async () => {
    const headers = { "X-Request-Id": "nowhere" };
    await (await fetch(`${gatehouse.proxyUrl}/unknown/sk-0123456789abcdef`, { headers })).text();
    expect(await recordOf("nowhere")).toMatchObject({
      gateway_id: null,
      path: "/unknown/sk-***",
      status: 404,
    });
  });

  test("counts what was written", async () => {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const count = (result: string) =>
      readMetrics(text).sum("gatehouse_request_log_records_total", { result });
    expect([count("written") >= 3, count("dropped")]).toEqual([true, 0]);
  });
});

describe("otlp", () => {
  test("a collector receives the records as logs, the last ones at shutdown", async () => {
    const receiver = startOtlpReceiver({ logs: "/my/logs" });
    const env = {
      REQUEST_LOG_SINK: "otlp",
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${receiver.url}/my/logs`,
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: "api-key=for%20logs",
      OTEL_SERVICE_NAME: "my gateway",
      // Longer than the test: what is received was sent at shutdown.
      OTEL_BSP_SCHEDULE_DELAY: "60000",
    };
    const sending = await startGatehouseProcess({ env });
    try {
      const route = await seedRoute(sending, {
        gateway: { name: "logged", log_bodies: true },
        upstream: { targets: [targetAt(provider)] },
      });
      provider.behave({ text: "sk-0123456789abcdef" });
      const headers = { "X-Request-Id": "good" };
      await (await postChat(sending, route, { headers })).text();
      provider.behave({ status: 500 });
      await (await postChat(sending, route, { headers: { "X-Request-Id": "bad" } })).text();
      provider.reset();
      const { body } = await sending.api("GET", `/gateways/${route.gateway}/requests`);
      sending.signal("SIGTERM");
      expect(await sending.exited).toBe(0);
      expect(receiver.problems).toEqual([]);
      expect(receiver.logs).toHaveLength(1);
      const [{ headers: sent, resource, records } = raise("no logs")] = receiver.logs;
      expect(sent.get("api-key")).toBe("for logs");
      expect(resource["service.name"]).toBe("my gateway");
      expect(records.map((record) => JSON.parse(record.body))).toEqual(body.requests.toReversed());
      expect(records[0]?.body).toContain("sk-***");
      expect(records).toMatchObject([
        {
          severity: "INFO",
          eventName: "gatehouse.request",
          attributes: {
            "gatehouse.request_id": "good",
            "gatehouse.gateway": "logged",
            "gatehouse.outcome": "complete",
            "http.request.method": "POST",
            "http.response.status_code": 200,
            "url.path": route.path,
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": CHAT.model,
          },
        },
        { severity: "ERROR", attributes: { "gatehouse.request_id": "bad" } },
      ]);
      const span = receiver.spans().find((each) => each.attributes["gatehouse.request_id"] === "good");
      expect(records[0]).toMatchObject({ traceId: span?.traceId, spanId: span?.spanId });
    } finally {
      await sending.stop();
      await receiver.stop();
    }
  }, 60_000);
});

test("without REQUEST_LOG_SINK there is no file and no metric", async () => {
  const plain = await startGatehouseProcess({ env: { REQUEST_LOG_SINK: "" } });
  try {
    const text = await (await fetch(`${plain.adminUrl}/metrics`)).text();
    expect(text).not.toContain("gatehouse_request_log_records_total{");
  } finally {
    await plain.stop();
  }
}, 60_000);

test("workers share one file that is rotated; a restart continues it; SIGTERM loses no record", async () => {
  const folder = join(root, "workers");
  const shared = join(folder, "requests.jsonl");
  const env = {
    REQUEST_LOG_SINK: `file:${shared}`,
    REQUEST_LOG_MAX_BYTES: "1048576",
    WORKERS: "2",
    REQUEST_LOG_SIZE: "0",
  };
  const sent: string[] = [];
  for (const round of [0, 1]) {
    const many = await startGatehouseProcess({ env });
    try {
      const route = await seedRoute(many, {
        gateway: { log_bodies: true },
        upstream: { targets: [targetAt(provider)] },
      });
      const body = { ...CHAT, padding: "p".repeat(14_000) };
      const clients = Array.from({ length: 60 }, async (_, index) => {
        // A worker may not know the route yet.
        await waitUntil(async () => {
          const id = `${round}-${index}-${sent.length}`;
          sent.push(id);
          const headers = { "X-Request-Id": id, Connection: "close" };
          const response = await postChat(many, route, { body, headers });
          await response.text();
          return response.status === 200;
        });
      });
      await Promise.all(clients);
      many.signal("SIGTERM");
      expect(await many.exited).toBe(0);
    } finally {
      await many.stop();
    }
  }
  const names = readdirSync(folder).sort();
  expect(names).toEqual(["requests.jsonl", "requests.jsonl.1"]);
  const records = names.flatMap((name) => recordsIn(join(folder, name)));
  expect(records.map((record) => record.request_id).sort()).toEqual(sent.sort());
  const served = records.filter((record) => record.status === 200);
  expect(served.map((record) => record.bodies.request.includes("ppp"))).toEqual(Array(120).fill(true));
}, 60_000);
