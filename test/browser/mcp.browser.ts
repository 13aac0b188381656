// Console tests in Chromium of MCP servers, tools, and the tool playground, at both widths: `npm run test:browser`.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { FakeMcpServer } from "../../src/fake-provider/mcp-server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { StatelessClient } from "../support/mcp-fixtures.ts";
import { waitFor } from "../support/waiting.ts";
import {
  DESKTOP,
  hasChromium,
  launchBrowser,
  openConsole,
  PHONE,
  type ConsoleSession,
} from "./console-session.ts";

setDefaultTimeout(60_000);

describe.if(hasChromium)("MCP in the console", () => {
  const fake = new FakeMcpServer();
  let browser: Browser;
  let gatehouse: GatehouseProcess;
  let ui: ConsoleSession;
  let gateway: string;
  let key: string;

  beforeAll(async () => {
    [browser, gatehouse] = await Promise.all([launchBrowser(), startGatehouseProcess()]);
    gateway = (await gatehouse.api("POST", "/gateways", { name: "agents", require_api_key: true })).body.id;
    ui = await openConsole(browser, gatehouse, DESKTOP);
    await ui.signIn();
  });

  afterAll(async () => {
    await ui.close();
    await Promise.all([browser.close(), gatehouse.stop(), fake.stop()]);
  });

  /** Loads a page of the gateway. */
  const open = async (path: string, title: string) => {
    await ui.page.goto(`/console/gateways/${gateway}${path}`);
    await ui.heading(title).waitFor();
  };

  const expectAccessibleAtBothWidths = async () => {
    for (const { width, height } of [PHONE, DESKTOP]) {
      await ui.page.setViewportSize({ width, height });
      await ui.expectAccessible();
    }
  };

  const serverPath = async () => {
    const { mcp_servers } = (await gatehouse.api("GET", `/gateways/${gateway}/mcp-servers`)).body;
    const server = (mcp_servers as { name: string; id: string }[]).find(({ name }) => name === "fake");
    return `/mcp-servers/${server?.id}`;
  };

  /** Lists the tools as an agent, and waits until the definition of `echo` is stored with the status. */
  const listUntil = async (status: string) => {
    await new StatelessClient(`${gatehouse.proxyUrl}/mcp`, { "X-GW-API-Key": key }).request("tools/list");
    const path = `/gateways/${gateway}${await serverPath()}/tools`;
    await waitFor(async () => {
      const { tools } = (await gatehouse.api("GET", path)).body;
      const echo = (tools as { name: string; status: string }[]).find(({ name }) => name === "echo");
      return echo?.status === status ? true : null;
    });
  };

  test("a server, a service, and a rule are created, and the server is duplicated without its credential", async () => {
    const { page } = ui;
    await open("/mcp-servers", "MCP servers");
    await ui.link("New MCP server").first().click();
    await ui.field("Name").fill("fake");
    await ui.field("URL").fill(fake.url);
    await ui
      .field("If the definition of a tool changes")
      .selectOption({ label: "Withhold the tool until it is approved" });
    await ui.button("Add name").click();
    await page.getByLabel("Name 1").fill("X-Api-Key");
    await page.getByLabel("Value 1").fill("a-secret-of-the-server");
    await expectAccessibleAtBothWidths();
    await ui.button("Create MCP server").click();
    await ui.waitForToast("Saved MCP server “fake”");
    await page.getByRole("link", { name: "Duplicate fake" }).click();
    await page.getByText("Credentials are not copied.").waitFor();
    expect(await ui.field("Name").inputValue()).toBe("fake-copy");
    await page.getByLabel("Value 1").fill("another-secret");
    await ui.button("Create MCP server").click();
    await ui.waitForToast("Saved MCP server “fake-copy”");

    await open("/services/new", "New service");
    await ui.field("Name").fill("tools");
    await ui.field("Leads to").selectOption({ label: "MCP servers: tools for agents" });
    await page.getByLabel("fake", { exact: true }).check();
    await ui.button("Create service").click();
    await ui.waitForToast("Saved service “tools”");
    const { services } = (await gatehouse.api("GET", `/gateways/${gateway}/services`)).body;
    const rule = { path: "/mcp", methods: ["*"], service_id: services[0].id };
    expect((await gatehouse.api("POST", `/gateways/${gateway}/rules`, rule)).status).toBe(201);
    const create = (name: string, tools: readonly string[] | null) =>
      gatehouse.api("POST", "/iam/api-keys", { name, subject: gateway, tools });
    key = (await create("everything", null)).body.key;
    await create("limited", ["fake__get_*", "fake__echo"]);
  });

  test("the picture of routes shows the rule, the service, and the servers, which open in place", async () => {
    const { page } = ui;
    await open("/routes", "Routes");
    for (const name of [/^Rule \/mcp/, /^Service tools/, /^MCP server fake-copy/])
      await page.getByRole("button", { name }).waitFor();
    await expectAccessibleAtBothWidths();
    expect(await page.locator(".route-canvas path").count()).toBe(2);
    await page.getByRole("button", { name: /^MCP server fake, 127/ }).click();
    expect(await ui.field("URL", ui.dialog()).inputValue()).toBe(fake.url);
    await ui.dialog().getByRole("button", { name: "Cancel" }).click();
    await ui.dialog().waitFor({ state: "detached" });
  });

  test("tools are listed, and a changed definition is shown with what changed, and approved", async () => {
    const { page } = ui;
    await listUntil("new");
    fake.describeTool("echo", "Sends the text to another place.");
    await listUntil("withheld");
    await open(await serverPath(), "fake");
    const changed = page.getByRole("list", { name: "Changed definitions" });
    await changed.getByText("Returns the text.").waitFor();
    await changed.getByText("Sends the text to another place.").waitFor();
    // A withheld tool may not be called by any key.
    const cells = page.getByRole("table", { name: "API keys and tools" }).getByRole("row");
    await cells.filter({ hasText: "everything" }).getByText("Withheld until approved").waitFor();
    await expectAccessibleAtBothWidths();
    await ui.button("Approve echo").click();
    await ui.dialog().getByRole("button", { name: "Approve" }).click();
    await ui.waitForToast("Approved.");
    await changed.waitFor({ state: "detached" });
    await listUntil("approved");
  });

  test("a table shows which tools each key may call, and a key shows its tools before it is saved", async () => {
    const { page } = ui;
    await open(await serverPath(), "fake");
    const table = page.getByRole("table", { name: "API keys and tools" });
    const answersOf = async (name: string) => {
      const row = table.getByRole("row").filter({ hasText: name });
      await row.waitFor();
      return (await row.getByRole("cell").allInnerTexts()).map((text) => text.split(/\s/)[0]);
    };
    expect(await answersOf("everything")).toEqual(["Yes", "Yes", "Yes", "Yes", "Yes"]);
    const titles = await table.getByRole("columnheader").allInnerTexts();
    expect(titles).toEqual(["API key", "add", "echo", "fail", "get_weather", "slow"]);
    expect(await answersOf("limited")).toEqual(["No", "Yes", "No", "Yes", "No"]);
    await ui.field("Search tools").fill("weather");
    expect(await answersOf("limited")).toEqual(["Yes"]);

    await page.getByRole("link", { name: "limited" }).click();
    await ui.heading("limited").waitFor();
    const own = page.getByRole("table", { name: "Tools that the key may call" }).getByRole("row");
    await own.filter({ hasText: "fake__add" }).getByText("The key's tool list").waitFor();
    await ui.field("Allowed tools").fill("fake__a*");
    await own.filter({ hasText: "fake__add" }).getByText("Yes", { exact: true }).waitFor();
    await own.filter({ hasText: "fake__echo" }).getByText("No", { exact: true }).waitFor();
    await expectAccessibleAtBothWidths();
    await ui.field("Allowed tools").fill("fake__get_*\nfake__echo");
  });

  test("the playground calls tools with a form or JSON, and shows results, errors, and progress", async () => {
    const { page } = ui;
    await open("/tool-playground", "Tool playground");
    await page
      .getByText("Select an API key of this gateway, or create one, and list the tools again.")
      .waitFor();
    await expectAccessibleAtBothWidths();
    await ui.button("Create a key for one hour").click();
    await page.getByText("5 tools that this client may use.").waitFor();
    const result = page.getByRole("region", { name: "Result" });
    const text = result.getByLabel("Text", { exact: true });

    await ui.field("Tool").selectOption("add");
    await page.getByText("Adds two numbers.").waitFor();
    await ui.field("a").fill("2");
    await ui.field("b").fill("40");
    await expectAccessibleAtBothWidths();
    await ui.button("Call").click();
    await result.getByText("Done", { exact: true }).waitFor();
    expect(await text.innerText()).toBe("42");
    expect(JSON.parse(await result.getByLabel("Structured content").innerText())).toEqual({ sum: 42 });
    await expectAccessibleAtBothWidths();

    await page.getByLabel("Edit as JSON").check();
    await ui.field("Arguments as JSON").fill('{"a": 1');
    await page.getByText(/^Invalid JSON/).waitFor();
    expect(await ui.button("Call").isDisabled()).toBe(true);
    await ui.field("Arguments as JSON").fill('{"a": 1, "b": -3}');
    await page.keyboard.press("Control+Enter");
    await text.getByText("-2", { exact: true }).waitFor();

    await ui.field("Tool").selectOption("fail");
    await page.getByText("The tool takes no arguments.").waitFor();
    await ui.button("Call").click();
    await result.getByText("The tool reports that the call failed.").waitFor();
    await text.getByText("The tool has failed.").waitFor();

    await ui.field("Tool").selectOption("slow");
    await ui.field("ms").fill("60000");
    await ui.button("Call").click();
    await result.getByText("Progress: 1 of 2").waitFor();
    await ui.button("Stop").click();
    await result.getByText("Stopped", { exact: true }).waitFor();

    // The list of the playground is that of the key.
    await ui.field("API key").selectOption({ label: "Other (paste key)" });
    await ui.field("API key value").fill("gw_unknown");
    await ui.button("List tools").click();
    await page.getByText("The API key is unknown").waitFor();
    await ui.field("API key value").fill(key);
    await ui.button("List tools").click();
    await page.getByText("5 tools that this client may use.").waitFor();
    await ui.field("Tool").selectOption("echo");
    await ui.field("text").fill("<b>größe</b>");
    await ui.button("Call").click();
    await text.getByText("<b>größe</b>").waitFor();
    await ui.link("Open request").click();
    await ui.dialog().getByText("/mcp").first().waitFor();
  });

  test("issuers of tokens are added to the gateway, and removed", async () => {
    const { page } = ui;
    const stored = async () => (await gatehouse.api("GET", `/gateways/${gateway}`)).body.jwt_issuers;
    await open("", "agents");
    await ui.button("Add issuer").click();
    await ui.field("Issuer").fill("https://login.example.com");
    await ui.field("Audience").fill("https://gateway.example.com/mcp");
    await ui.field("Address of its keys").fill("http://login.example.com/keys");
    await ui.field("Claim with the tools").fill("mcp_tools");
    await ui.button("Add label").click();
    await page.getByLabel("Label 1").fill("team");
    await page.getByLabel("Claim 1").fill("department");
    await expectAccessibleAtBothWidths();
    await ui.button("Save").click();
    await page.locator("#field-jwt_issuers-0-jwks_url-error").waitFor();
    await ui.field("Address of its keys").fill("https://login.example.com/keys");
    await ui.button("Save").click();
    await ui.waitForToast("Saved gateway “agents”");
    expect(await stored()).toEqual([
      {
        issuer: "https://login.example.com",
        audience: "https://gateway.example.com/mcp",
        jwks_url: "https://login.example.com/keys",
        claims: { user: "sub", labels: { team: "department" }, tools: "mcp_tools" },
      },
    ]);
    await open("", "agents");
    await ui.button("Remove issuer 1").click();
    await ui.button("Save").click();
    await ui.waitForToast("Saved gateway “agents”");
    expect(await stored()).toEqual([]);
  });
});
