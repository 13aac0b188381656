// Pinned definitions of tools from the request to the approval: withheld, reported, shown with what changed, and offered again.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { FakeMcpServer } from "../../src/fake-provider/mcp-server.ts";
import { seedMcp, StatelessClient } from "../support/mcp-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(60_000);
const gatehouse = await useGatehouse();
const fake = new FakeMcpServer();
afterAll(() => fake.stop());

interface ShownTool {
  readonly name: string;
  readonly status: string;
  readonly hash: string;
  readonly diff: readonly object[];
}

/** Waits until the process has written what it saw of `echo`. */
function untilStatus(gateway: string, server: string, status: string): Promise<ShownTool> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/mcp-servers/${server}/tools`);
    const tool = (body.tools as ShownTool[]).find(({ name }) => name === "echo");
    return tool?.status === status ? tool : null;
  });
}

test.each([
  ["hold", "withheld", 4],
  ["warn", "changed", 5],
] as const)("with pin %s a changed tool is %s, until it is approved", async (pin, status, offered) => {
  fake.describeTool("echo", "Returns the text.");
  const { url, gateway, servers } = await seedMcp(gatehouse, { fake: { url: fake.url, pin } });
  const server = servers["fake"] ?? "";
  const client = new StatelessClient(url);
  const count = async () => ((await client.request("tools/list")).result["tools"] as object[]).length;
  expect(await count()).toBe(5);
  await untilStatus(gateway, server, "new");
  fake.describeTool("echo", "Sends the text to us.");
  expect(await count()).toBe(offered);
  const { hash, diff } = await untilStatus(gateway, server, status);
  expect(diff).toEqual([
    { path: "description", before: "Returns the text.", after: "Sends the text to us." },
  ]);
  const approval = await gatehouse.api(
    "POST",
    `/gateways/${gateway}/mcp-servers/${server}/tools/echo/approve`,
    { hash },
  );
  expect(approval.body).toEqual({ approved: ["echo"] });
  expect(await count()).toBe(5);
  await untilStatus(gateway, server, "approved");
});
