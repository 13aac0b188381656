// Telemetry of MCP services: metrics, request log, access log fields, and traces of requests and of what is sent to servers.
import { afterAll, describe, expect, test } from "bun:test";
import { postMcp, seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { startOtlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { readMetrics, type MetricsPage } from "../support/prometheus-text.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;
const receiver = startOtlpReceiver();
afterAll(() => receiver.stop());
const gatehouse = await useGatehouse({
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: "50" },
});
const hang = {
  run: async ({ signal }: { signal: AbortSignal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { content: [] };
  },
};
const servers = useMcpServers({
  one: {
    tools: { read: {}, write: {}, hang, broken: { run: () => ({ content: [], isError: true }) } },
  },
  silent: {},
});
servers.silent.isSilent = true;

async function scrape(): Promise<MetricsPage> {
  return readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
}

interface Logged {
  readonly mcp: Record<string, unknown> | null;
  readonly timings: { readonly upstream_ms: number };
}

async function logged(gateway: string, query = ""): Promise<Logged[]> {
  const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests?${query}`);
  return body.requests as Logged[];
}

const shared = await seedMcp(
  gatehouse,
  { files: { url: servers.one.url, tools: { deny: ["write"] } }, other: servers.one.url },
  { gateway: { name: "telemetry" } },
);
const client = new StatelessClient(shared.url);

describe("metrics", () => {
  test("count tool calls by server, tool and outcome, without names that clients invent", async () => {
    await client.request("tools/call", { name: "files__read", arguments: {} });
    await client.request("tools/call", { name: "other__broken", arguments: {} });
    await client.request("tools/call", { name: "files__write", arguments: {} });
    for (let index = 0; index < 5; index++)
      await client.request("tools/call", { name: `files__invented-${index}`, arguments: {} });
    const page = await scrape();
    const calls = (labels: Record<string, string>) =>
      page.sum("gatehouse_mcp_tool_calls_total", { gateway: "telemetry", ...labels });
    expect(calls({ server: "files", tool: "files__read", outcome: "ok" })).toBe(1);
    expect(calls({ server: "other", tool: "other__broken", outcome: "tool_error" })).toBe(1);
    expect(calls({ tool: "", outcome: "unknown" })).toBe(6);
    expect(calls({})).toBe(8);
    const requests = { gateway: "telemetry", server: "files", method: "tools/call" };
    expect(page.sum("gatehouse_mcp_requests_total", requests)).toBe(1);
    expect(page.sum("gatehouse_mcp_request_duration_seconds_count", requests)).toBe(1);
    expect(
      page.sum("gatehouse_mcp_tool_call_duration_seconds_count", {
        gateway: "telemetry",
        tool: "files__read",
      }),
    ).toBe(1);
    expect(
      page.sum("gatehouse_mcp_server_requests_total", { ...requests, server: "other", result: "200" }),
    ).toBe(1);
    expect(
      page.sum("gatehouse_mcp_listed_items", { gateway: "telemetry", server: "files", list: "tools" }),
    ).toBe(4);
    expect(JSON.stringify(page.series)).not.toContain("invented");
  });

  test("count silent servers, methods, sessions, and streams", async () => {
    const { url } = await seedMcp(
      gatehouse,
      {
        up: servers.one.url,
        down: { url: servers.silent.url, timeouts: { list: 100 } },
      },
      { gateway: { name: "sessions" } },
    );
    const session = await SessionClient.start(url);
    await session.request("tools/list");
    await session.request("no/such-method");
    const abort = new AbortController();
    const stream = await session.stream(abort.signal);
    await stream.body?.getReader().read();
    const gateway = "sessions";
    const open = await scrape();
    expect(open.sum("gatehouse_mcp_open_streams", { gateway })).toBe(1);
    abort.abort();
    await waitUntil(async () => (await scrape()).sum("gatehouse_mcp_open_streams", { gateway }) === 0);
    await fetch(url, { method: "DELETE", headers: session.allHeaders });
    await postMcp(url, { jsonrpc: "2.0", id: 1, method: "ping" }, { "Mcp-Session-Id": "gwm1abcd" });
    const page = await scrape();
    for (const event of ["started", "ended", "not_found"])
      expect(page.sum("gatehouse_mcp_sessions_total", { gateway, event })).toBe(1);
    for (const method of ["initialize", "tools/list"])
      expect(page.sum("gatehouse_mcp_silent_servers_total", { gateway, server: "down", method })).toBe(1);
    expect(page.sum("gatehouse_mcp_requests_total", { gateway, method: "other" })).toBe(1);
    expect(page.sum("gatehouse_mcp_requests_total", { gateway, method: "GET" })).toBe(1);
    expect(page.sum("gatehouse_mcp_request_duration_seconds_count", { gateway, method: "GET" })).toBe(0);
  });

  test("count tools whose definition has changed", async () => {
    const changing = { url: servers.one.url, pin: "hold", headers: { "X-Own": "1" } };
    const { url } = await seedMcp(gatehouse, { changing }, { gateway: { name: "pinned" } });
    await new StatelessClient(url).request("tools/list");
    servers.one.tools["read"] = { definition: { description: "Another one." } };
    const withheld = async () => {
      await new StatelessClient(url).request("tools/call", { name: "missing" });
      return (await scrape()).sum("gatehouse_mcp_changed_tools", { gateway: "pinned", state: "withheld" });
    };
    try {
      await waitUntil(async () => (await withheld()) === 1);
    } finally {
      servers.one.tools["read"] = {};
    }
  });
});

describe("the request log", () => {
  test("has method, tool, server, outcome and what was sent to servers, and finds requests by tool", async () => {
    const { url, gateway, servers: ids } = await seedMcp(gatehouse, { files: servers.one.url });
    await new StatelessClient(url).request("tools/call", { name: "read", arguments: {} });
    await new StatelessClient(url).request("tools/call", { name: "nothing", arguments: {} });
    const [found, ...others] = await logged(gateway, "tool=read");
    expect(others).toEqual([]);
    expect(found?.mcp).toMatchObject({
      method: "tools/call",
      tool: "read",
      server: { id: ids["files"], name: "files" },
      protocol_version: "2026-07-28",
      outcome: "ok",
      error: null,
      calls: [
        { server: "files", method: "tools/list", status: 200 },
        { server_id: ids["files"], server: "files", method: "tools/call", status: 200, fault: null },
      ],
    });
    expect(found?.timings.upstream_ms).toBeGreaterThan(0);
    const [unknown] = await logged(gateway, "tool=nothing");
    expect(unknown?.mcp).toMatchObject({ tool: "nothing", server: null, outcome: "unknown", error: -32602 });
  });

  test("has the bodies of a gateway with log_bodies", async () => {
    const { url, gateway } = await seedMcp(
      gatehouse,
      { files: servers.one.url },
      { gateway: { log_bodies: true } },
    );
    await new StatelessClient(url).request("tools/call", { name: "read", arguments: { path: "/etc/motd" } });
    const [found] = (await logged(gateway)) as (Logged & {
      bodies?: { request: string; response: string };
    })[];
    expect(found?.bodies?.request).toContain("/etc/motd");
    expect(found?.bodies?.response).toContain('"content":[{"type":"text"');
  });

  test("names a call that a limit rejected, and one that the client canceled", async () => {
    const limits = { per_tool: { limit: 1, window: "1h" } };
    const { url, gateway } = await seedMcp(
      gatehouse,
      { files: servers.one.url },
      {
        gateway: {
          name: "limited",
          required_plugins: [{ name: "rate_limiter", stage: "pre_request", settings: { limits } }],
        },
      },
    );
    const { key } = await seedKey(gatehouse, gateway, {});
    const limited = new StatelessClient(url, { "X-GW-API-Key": key });
    await limited.request("tools/call", { name: "read", arguments: {} });
    await limited.request("tools/call", { name: "read", arguments: {} });
    const [rejected] = await logged(gateway);
    expect(rejected?.mcp).toMatchObject({ tool: "read", outcome: "refused", calls: [] });
    const labels = { gateway: "limited", server: "files", tool: "read", outcome: "refused" };
    expect((await scrape()).sum("gatehouse_mcp_tool_calls_total", labels)).toBe(1);
    const session = await SessionClient.start(url, { headers: { "X-GW-API-Key": key } });
    const call = session.request("tools/call", { name: "hang" }, "x");
    await waitUntil(() => servers.one.received.some(({ params }) => params["name"] === "hang"));
    await session.post({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: "x" },
    });
    await call;
    const canceled = await waitFor(async () => (await logged(gateway, "tool=hang"))[0] ?? null);
    expect(canceled.mcp).toMatchObject({ outcome: "canceled", calls: [{}, { fault: "client_left" }] });
  });
});

describe("traces", () => {
  async function spansOf(requestId: string | null): Promise<[ReceivedSpan, ...ReceivedSpan[]]> {
    const own = await waitFor(
      () => receiver.spans().find((span) => span.attributes["gatehouse.request_id"] === requestId) ?? null,
    );
    return [own, ...receiver.spans().filter((span) => span.parentSpanId === own.spanId)];
  }

  test("have spans by the MCP conventions, and the server gets the context", async () => {
    const called = await client.request(
      "tools/call",
      { name: "files__read", arguments: {} },
      { headers: { traceparent: PARENT } },
    );
    const [own, ...calls] = await spansOf(called.headers.get("x-request-id"));
    expect(own).toMatchObject({ name: "tools/call files__read", traceId: TRACE });
    expect(own.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2026-07-28",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "files__read",
      "jsonrpc.request.id": expect.any(String),
      "gatehouse.mcp_server": "files",
      "http.response.status_code": 200,
    });
    const span = calls.find(({ name }) => name === "tools/call read");
    expect(span?.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "read",
      "gen_ai.operation.name": "execute_tool",
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(servers.one.url).port),
      "http.response.status_code": 200,
      "gatehouse.mcp_server": "files",
    });
    const received = servers.one.received.findLast(({ rpcMethod }) => rpcMethod === "tools/call");
    const context = `00-${TRACE}-${span?.spanId ?? ""}-01`;
    expect(received?.headers.get("traceparent")).toBe(context);
    expect(received?.params["_meta"]).toMatchObject({ traceparent: context });
  });

  test("continue the context in _meta, and report errors of tools", async () => {
    const called = await client.request(
      "tools/call",
      { name: "other__broken", arguments: {} },
      { meta: { traceparent: PARENT } },
    );
    const [own, ...calls] = await spansOf(called.headers.get("x-request-id"));
    expect(own).toMatchObject({ traceId: TRACE, parentSpanId: "00f067aa0ba902b7" });
    expect(own.attributes).toMatchObject({ "error.type": "tool_error" });
    expect(calls.at(-1)?.attributes).toMatchObject({ "error.type": "tool_error" });
  });

  test("do not name a span by a tool that no server offers", async () => {
    const called = await client.request("tools/call", { name: "files__made-up", arguments: {} });
    const [own] = await spansOf(called.headers.get("x-request-id"));
    expect(own.name).toBe("tools/call");
    expect(own.attributes).toMatchObject({
      "gen_ai.tool.name": "files__made-up",
      "rpc.response.status_code": "-32602",
    });
  });

  test("an untraced request passes its context on unchanged", async () => {
    const untraced = `00-${TRACE}-00f067aa0ba902b7-00`;
    await client.request(
      "tools/call",
      { name: "files__read", arguments: {} },
      { headers: { traceparent: untraced, tracestate: "a=b" } },
    );
    const received = servers.one.received.findLast(({ rpcMethod }) => rpcMethod === "tools/call");
    expect(received?.headers.get("traceparent")).toBe(untraced);
    expect(received?.headers.get("tracestate")).toBe("a=b");
  });
});
