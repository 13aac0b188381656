// Every page of the console, and dialogs, with names of 64 characters without a place to break the line: axe finds nothing
// serious, and no page is wider than the screen, at two widths and in both themes.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../../../src/fake-provider/server.ts";
import type { GatehouseProcess } from "../../support/gatehouse-process.ts";
import { isLong } from "../../support/long-form.ts";
import { StatelessClient } from "../../support/mcp-fixtures.ts";
import { ScriptedMcpServer } from "../../support/scripted-mcp-server.ts";
import { waitFor } from "../../support/waiting.ts";
import type { ConsoleSession } from "../console-session.ts";

type GetSession = () => { readonly ui: ConsoleSession; readonly gatehouse: GatehouseProcess };

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };
const LOOKS = [
  [WIDE, "light"],
  [NARROW, "dark"],
  [WIDE, "dark"],
  [NARROW, "light"],
] as const;

/** The long form runs axe four times on each of some thirty pages. */
const TIMEOUT_MS = 300_000;

const APP = readFileSync(join(import.meta.dir, "../../../console/app.tsx"), "utf8");
/** The patterns of all pages, such as `/gateways/:gateway/rules/:id`. */
const PATTERNS = [...APP.matchAll(/^ {2}\["(\/[^"]*)", \w+\],$/gm)].map(([, pattern = ""]) => pattern);

/** Returns a name of 64 characters. */
function long(name: string): string {
  return name.padEnd(64, "x");
}

/** Creates a record of every kind with long texts, sends requests, and returns the id of the gateway. */
async function seed(
  gatehouse: GatehouseProcess,
  provider: FakeProvider,
  tools: ScriptedMcpServer,
): Promise<string> {
  const create = async (path: string, body: object) => {
    const response = await gatehouse.api("POST", path, body);
    if (response.status >= 300) throw new Error(`${path}: ${JSON.stringify(response.body)}`);
    return response.body as { id: string; key: string };
  };
  const price = { model: long("model"), input_per_million: 2.5, output_per_million: 10 };
  await gatehouse.api("PUT", "/prices", { prices: [price] });
  const { id: gateway } = await create("/gateways", {
    name: long("gateway"),
    prices: [price],
    required_plugins: [
      {
        name: "rate_limiter",
        stage: "pre_request",
        settings: { limits: { per_user: { limit: 3, window: "1h" } } },
      },
    ],
  });
  const base = `/gateways/${gateway}`;
  const target = { base_url: provider.url, models: [long("model")], default_model: long("model") };
  const targets = [
    { ...target, provider: long("provider") },
    { ...target, base_url: "http://127.0.0.1:1", provider: long("unreachable"), weight: 1000 },
  ];
  const upstream = await create(`${base}/upstreams`, { name: long("upstream"), targets });
  const fields = { name: long("service"), upstream_id: upstream.id, description: long("description") };
  const service = await create(`${base}/services`, fields);
  const served = [{ upstream: upstream.id, model: long("model") }];
  await create(`${base}/models`, { name: long("name"), aliases: [long("alias")], targets: served });
  const path = `/${long("path")}`;
  const rule = { name: long("rule"), path, methods: ["POST"], service_id: service.id };
  const { id: ruleId } = await create(`${base}/rules`, rule);
  const key = await create("/iam/api-keys", { name: long("key"), subject: gateway, policies: [ruleId] });
  // Names of MCP servers have at most 63 characters.
  const server = { name: long("server").slice(1), url: tools.url, pin: "hold" };
  const { id: serverId } = await create(`${base}/mcp-servers`, server);
  const toolService = { name: long("tools"), type: "mcp", mcp_server_ids: [serverId] };
  const { id: toolServiceId } = await create(`${base}/services`, toolService);
  const toolPath = `/${long("tools")}`;
  await create(`${base}/rules`, { path: toolPath, methods: ["*"], service_id: toolServiceId });
  await showTools(gatehouse, toolPath, `${base}/mcp-servers/${serverId}/tools`, tools);
  await create("/iam/admin-tokens", { name: long("administrator"), role: "viewer" });
  const budget = { name: long("budget"), amount: 1_000_000, unit: "tokens", period: "month" };
  await create(`${base}/budgets`, budget);
  for (let turn = 0; turn < 6; turn++) {
    const response = await fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-GW-API-Key": key.key, "X-User-ID": long("user") },
      body: JSON.stringify({ model: long("model"), messages: [{ role: "user", content: "Hello" }] }),
    });
    await response.text();
  }
  return gateway;
}

/** Lists tools as an agent, changes one of them, and lists them again. */
async function showTools(
  gatehouse: GatehouseProcess,
  endpoint: string,
  path: string,
  tools: ScriptedMcpServer,
): Promise<void> {
  const untilStatus = async (status: string) => {
    // The limit of the gateway allows few requests.
    await new StatelessClient(gatehouse.proxyUrl + endpoint).request("tools/list");
    await waitFor(async () => {
      const [tool] = (await gatehouse.api("GET", path)).body.tools;
      return tool?.status === status ? true : null;
    });
  };
  await untilStatus("new");
  tools.tools = toolsDescribed(long("changed"));
  await untilStatus("withheld");
}

function toolsDescribed(description: string) {
  return { [long("tool")]: { definition: { description } } };
}

export function testAccessibility(context: GetSession): void {
  let provider: FakeProvider;
  const tools = new ScriptedMcpServer({ tools: toolsDescribed(long("description")) });
  const ids = new Map<string, string>();

  beforeAll(async () => {
    provider = await startFakeProvider({ name: "accessible" });
  });

  afterAll(async () => {
    await Promise.all([provider.stop(), tools.stop()]);
  });

  /** Returns the path of a page with the ids of stored records. */
  const pathOf = async (pattern: string): Promise<string> => {
    const base = `/gateways/${ids.get("gateway")}`;
    if (pattern.startsWith("/history/")) return pattern.replace(":id", String(ids.get("revision")));
    const path = pattern.replace("/gateways/:gateway", base);
    if (!path.includes(":id")) return path;
    const kind = path.split("/").at(3) ?? "";
    if (kind === "plugins") return path.replace(":id", "0");
    const list =
      kind === "keys" ? `/iam/api-keys?subject=${ids.get("gateway")}` : path.slice(0, path.indexOf("/:id"));
    const { body } = await context().gatehouse.api("GET", list);
    const records = Object.values(body as object).find((value) => Array.isArray(value)) as { id: string }[];
    return path.replace(":id", records[0]?.id ?? "new");
  };

  /** Shows a page without loading the console again, so that axe stays loaded. */
  const open = async (path: string): Promise<void> => {
    const { page } = context().ui;
    await page.evaluate(
      `history.pushState(null, "", "/console${path}"); dispatchEvent(new PopStateEvent("popstate"))`,
    );
    await page.locator("#page h1").waitFor();
    const loading = page.locator(".loading");
    while ((await loading.count()) > 0) await loading.first().waitFor({ state: "hidden" });
    await page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))");
  };

  let turn = 0;

  /**
   * Returns what axe finds on the current page in all looks. The short form runs axe in one of them in turn,
   * and looks for overflow at both widths.
   */
  const check = async (): Promise<string[]> => {
    const { ui } = context();
    const { page } = ui;
    const problems: string[] = [];
    const shown = turn++ % LOOKS.length;
    for (const [index, [size, theme]] of LOOKS.entries()) {
      const hasAxe = isLong || index === shown;
      if (!hasAxe && index >= LOOKS.length / 2) continue;
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: theme });
      const found = await (hasAxe ? ui.findViolations() : ui.findOverflow());
      const { pathname } = new URL(page.url());
      problems.push(...found.map((problem) => `${pathname} at ${size.width}, ${theme}: ${problem}`));
    }
    await page.setViewportSize(WIDE);
    return problems;
  };

  test(
    "every page passes axe and fits the screen with names of 64 characters",
    async () => {
      const { ui, gatehouse } = context();
      ids.set("gateway", await seed(gatehouse, provider, tools));
      ids.set("revision", (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision);
      expect(PATTERNS.length).toBeGreaterThan(25);
      const problems: string[] = [];
      for (const pattern of PATTERNS) {
        await open(await pathOf(pattern));
        problems.push(...(await check()));
      }
      expect(problems).toEqual([]);
      expect(ui.errors).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "dialogs, drawers, and menus pass axe and fit the screen with names of 64 characters",
    async () => {
      const { ui } = context();
      const { page } = ui;
      const base = `/gateways/${ids.get("gateway")}`;
      const problems: string[] = [];
      const checkDialog = async () => {
        await ui.dialog().waitFor();
        problems.push(...(await check()));
        await page.keyboard.press("Escape");
        await ui.dialog().waitFor({ state: "hidden" });
      };
      await open(`${base}/requests`);
      await ui.row("Failover").first().getByRole("button").click();
      await checkDialog();
      await open(base);
      await ui.button("Delete").click();
      await checkDialog();
      await open(`${base}/rules`);
      await page.getByRole("checkbox", { name: "Select all rows of this page" }).check();
      await ui.button("Delete").click();
      await checkDialog();
      await open(await pathOf("/gateways/:gateway/keys/:id"));
      await ui.button("Rotate").click();
      await checkDialog();
      await open("/audit");
      await page.locator("tbody").getByRole("button").first().click();
      await checkDialog();
      await page.getByRole("combobox", { name: "Gateway" }).click();
      await page.getByRole("option").first().waitFor();
      problems.push(...(await check()));
      await page.keyboard.press("Escape");
      await page.setViewportSize(NARROW);
      await ui.button("Menu").click();
      await ui.expectAccessible();
      await ui.button("Menu").click();
      expect(problems).toEqual([]);
    },
    TIMEOUT_MS,
  );
}
