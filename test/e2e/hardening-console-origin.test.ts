// Responses of providers on the admin listener cannot run in the console's origin, and other sites cannot use the Admin API.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { FakeMcpServer } from "../../src/fake-provider/mcp-server.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";
import { seedMcp, StatelessClient } from "../support/mcp-fixtures.ts";
import { CHAT, rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

let provider: FakeProvider;
let gatehouse: RunningGatehouse;
let path: string;
const tools = new FakeMcpServer();
let toolPath: string;

beforeAll(async () => {
  provider = await startFakeProvider();
  gatehouse = await startGatehouseOnSystemClock();
  const route = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider)] },
    rule: { methods: ["GET", "POST"] },
  });
  ({ path } = route);
  toolPath = (await seedMcp(gatehouse, { fake: tools.url }, { gateway: route.gateway })).path;
});
afterAll(async () => {
  await Promise.all([gatehouse.stop(), provider.stop(), tools.stop()]);
});
beforeEach(() => provider.reset());

const adminUrl = () => gatehouse.adminUrl;

describe("the data plane on the admin listener", () => {
  test("responses are inert documents: sandboxed, without scripts, not sniffed", async () => {
    provider.behave({
      headers: [
        ["Content-Type", "text/html"],
        ["Content-Security-Policy", "default-src *"],
        ["Service-Worker-Allowed", "/"],
        ["Clear-Site-Data", '"*"'],
        ["Set-Cookie", "__Host-gatehouse_session=x; Path=/; Secure"],
        ["Strict-Transport-Security", "max-age=31536000; includeSubDomains"],
        ["Alt-Svc", 'h3=":443"'],
        ["NEL", "{}"],
        ["Report-To", "{}"],
      ],
      body: "<script>steal()</script>",
    });
    const response = await rawJson(adminUrl(), path, CHAT, [["Sec-Fetch-Dest", "empty"]]);
    expect(response.status).toBe(200);
    expect(response.all("content-security-policy")).toEqual(["sandbox; default-src 'none'"]);
    expect(response.all("x-content-type-options")).toEqual(["nosniff"]);
    expect(response.all("service-worker-allowed")).toEqual([]);
    for (const name of [
      "clear-site-data",
      "set-cookie",
      "strict-transport-security",
      "alt-svc",
      "nel",
      "report-to",
    ])
      expect(response.all(name)).toEqual([]);
  });

  test("errors of the data plane are sandboxed as well", async () => {
    const response = await rawCall(adminUrl(), { method: "GET", target: "/no-rule" });
    expect(response.status).toBe(404);
    expect(response.header("content-security-policy")).toBe("sandbox; default-src 'none'");
  });

  test.each([
    "document",
    "iframe",
    "frame",
    "embed",
    "object",
    "script",
    "worker",
    "sharedworker",
    "serviceworker",
    "style",
    "image",
  ])("a request of a browser for a %s is rejected before it reaches a provider", async (destination) => {
    for (const method of ["GET", "POST"]) {
      const headers = [["Sec-Fetch-Dest", destination]] as [string, string][];
      const response = await rawCall(adminUrl(), { method, target: path, headers });
      expect(response.status).toBe(403);
      expect(response.json()).toMatchObject({ code: "cross_site_request" });
    }
    expect(provider.requests).toEqual([]);
  });

  test("the proxy listener serves any client", async () => {
    const response = await rawJson(gatehouse.proxyUrl, path, CHAT, [["Sec-Fetch-Dest", "document"]]);
    expect(response.status).toBe(200);
  });

  test("ADMIN_FALLTHROUGH=false turns it off", async () => {
    const alone = await startGatehouseOnSystemClock({ env: { ADMIN_FALLTHROUGH: "false" } });
    const route = await seedRoute(alone, { upstream: { targets: [targetAt(provider)] } });
    expect((await rawJson(alone.adminUrl, route.path, CHAT)).status).toBe(404);
    expect((await rawJson(alone.proxyUrl, route.path, CHAT)).status).toBe(200);
    await alone.stop();
  });
});

describe("MCP endpoints on the admin listener", () => {
  const port = () => new URL(adminUrl()).port;
  const list = (url: string, headers: Record<string, string>) =>
    new StatelessClient(url + toolPath, headers).request("tools/list");

  test("serve the console: its Origin is that of the listener", async () => {
    for (const host of [`127.0.0.1:${port()}`, `localhost:${port()}`, "[::1]:8080"]) {
      const { status } = await list(adminUrl(), { Origin: `http://${host}`, Host: host });
      expect({ host, status }).toEqual({ host, status: 200 });
    }
    const behindTls = { Origin: "https://console.example.com", Host: "console.example.com" };
    expect((await list(adminUrl(), behindTls)).status).toBe(200);
  });

  test.each([
    ["another site", () => ({ Origin: "https://attacker.example" })],
    ["another port of the same host", () => ({ Origin: "http://127.0.0.1:1" })],
    ["a sandboxed document", () => ({ Origin: "null" })],
    [
      "a name that an attacker points at this address",
      () => ({ Origin: `http://attacker.example:${port()}`, Host: `attacker.example:${port()}` }),
    ],
  ])("reject scripts of %s", async (_, headers) => {
    const { status, error } = await list(adminUrl(), headers());
    expect({ status, error }).toMatchObject({ status: 403, error: { data: { code: "cross_site_request" } } });
  });

  test("the proxy listener has no console", async () => {
    const page = { Origin: "https://console.example.com", Host: "console.example.com" };
    expect((await list(gatehouse.proxyUrl, page)).status).toBe(403);
  });
});

describe("the Admin API", () => {
  const create = (headers: Record<string, string>) =>
    fetch(`${adminUrl()}/api/v1/gateways`, {
      method: "POST",
      headers: { Authorization: `Bearer ${gatehouse.token}`, "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ name: "made" }),
    });

  test.each([
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
    { Origin: "https://attacker.example" },
    { Origin: "null" },
  ])("rejects a write with %j", async (headers) => {
    const response = await create(headers);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "cross_site_request" });
  });

  test.each([{ "Sec-Fetch-Site": "same-origin" }, { "Sec-Fetch-Site": "none" }, {}])(
    "takes a write with %j",
    async (headers) => {
      expect((await create(headers as unknown as Record<string, string>)).status).toBe(201);
    },
  );

  test("takes a write whose Origin is its own", async () => {
    expect((await create({ Origin: gatehouse.adminUrl })).status).toBe(201);
  });
});
