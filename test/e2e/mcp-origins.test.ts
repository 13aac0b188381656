// The origins and the names that MCP endpoints accept: a script of another website must not reach them through a browser of the same machine.
import { afterAll, describe, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";

const env = { PUBLIC_URL: "https://ai.example.com/base", BASE_DOMAIN: "tools.example.com" };
const gateways = {
  loopback: await startGatehouseInProcess({ env }),
  public: await startGatehouseInProcess({ env: { ...env, HOST: "0.0.0.0" } }),
};
afterAll(async () => {
  for (const gatehouse of Object.values(gateways)) await gatehouse.stop();
});
const servers = useMcpServers({ one: {} });
const routes = {
  loopback: await seedMcp(gateways.loopback, { one: servers.one.url }),
  public: await seedMcp(gateways.public, { one: servers.one.url }),
};

/** Resolves to the status of a list with these header fields; PORT in them is that of the listener. */
async function statusOf(listener: keyof typeof gateways, fields: Record<string, string>, admin = false) {
  const { proxyUrl, adminUrl } = gateways[listener];
  const url = new URL(admin ? adminUrl : proxyUrl);
  url.hostname = "127.0.0.1";
  url.pathname = routes[listener].path;
  const headers = Object.entries(fields).map(([name, value]) => [name, value.replace("PORT", url.port)]);
  const client = new StatelessClient(url.href, Object.fromEntries(headers) as Record<string, string>);
  const { status, error } = await client.request("tools/list");
  if (status !== 200) expect(error).toMatchObject({ data: { code: "cross_site_request" } });
  return status;
}

describe("an origin", () => {
  test.each([
    ["https://ai.example.com", 200, 200],
    ["http://ai.example.com", 403, 403],
    ["https://ai.example.com:8443", 403, 403],
    ["http://localhost:PORT", 200, 403],
    ["https://localhost:PORT", 200, 403],
    ["http://127.0.0.1:PORT", 200, 403],
    ["http://[::1]:PORT", 200, 403],
    ["http://localhost:1", 403, 403],
    ["http://localhost", 403, 403],
    ["http://localhost.attacker.example:PORT", 403, 403],
    ["null", 403, 403],
  ])("%s is %i on a loopback address, and %i on others", async (origin, onLoopback, onPublic) => {
    const statuses = [
      await statusOf("loopback", { Origin: origin }),
      await statusOf("public", { Origin: origin }),
    ];
    expect(statuses).toEqual([onLoopback, onPublic]);
  });

  test("is not compared with the Host", async () => {
    const headers = { Origin: "http://a.tools.example.com", Host: "a.tools.example.com" };
    for (const listener of ["loopback", "public"] as const)
      expect(await statusOf(listener, headers)).toBe(403);
  });

  test("of this machine has the port of the listener that is used", async () => {
    expect(await statusOf("loopback", { Origin: "http://[::1]:PORT" }, true)).toBe(200);
    const { port } = new URL(gateways.loopback.proxyUrl);
    expect(await statusOf("loopback", { Origin: `http://localhost:${port}` }, true)).toBe(403);
  });
});

describe("a Host", () => {
  test.each([
    ["localhost:PORT", 200],
    ["LOCALHOST", 200],
    ["127.0.0.1:9000", 200],
    ["[::1]", 200],
    ["ai.example.com", 200],
    ["ai.example.com.:8443", 200],
    ["tools.example.com", 200],
    ["acme.tools.example.com", 200],
    ["evil.example", 403],
    ["nottools.example.com", 403],
    ["localhost.evil.example", 403],
    ["evil.localhost", 403],
    ["10.0.0.1", 403],
  ])("%s is %i on a loopback address", async (host, onLoopback) => {
    const statuses = [
      await statusOf("loopback", { Host: host }),
      await statusOf("loopback", { Host: host }, true),
      await statusOf("public", { Host: host }),
    ];
    expect(statuses).toEqual([onLoopback, onLoopback, 200]);
  });
});
