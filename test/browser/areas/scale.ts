// The console with 1,500 gateways and names of 64 characters: on its own gateway process.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { startGatehouseProcess, type GatehouseProcess } from "../../support/gatehouse-process.ts";
import { testAccessibility } from "./accessibility.ts";
import { openConsole, type ConsoleSession } from "../console-session.ts";

const GATEWAYS = 1500;
/** Without a place to break the line. */
const LONG = "n".repeat(60);
const DESKTOP = { name: "desktop", width: 1440, height: 900 };

function gatewayDocument(index: number) {
  const number = String(index).padStart(4, "0");
  const name = `${LONG}${number}`;
  const targets = [{ provider: "openai", models: [`m${name.slice(1)}`] }];
  return {
    name,
    upstreams: [{ name, targets }],
    services: [{ name, upstream: name }],
    rules: [{ name, methods: ["POST"], path: `/${number}/${LONG}`, service: name }],
  };
}

export function testScale(browser: () => Browser): void {
  let gatehouse: GatehouseProcess;
  let ui: ConsoleSession;

  beforeAll(async () => {
    gatehouse = await startGatehouseProcess();
    const gateways = Array.from({ length: GATEWAYS }, (_, index) => gatewayDocument(index));
    const { status, body } = await gatehouse.api("POST", "/apply", { gateways });
    if (status !== 200) throw new Error(JSON.stringify(body));
    ui = await openConsole(browser(), gatehouse, DESKTOP);
    await ui.signIn();
    await ui.heading("Overview").waitFor();
  });

  afterAll(async () => {
    await ui.close();
    await gatehouse.stop();
  });

  test("the overview of 1,500 gateways takes at most 10 requests", async () => {
    const requests: string[] = [];
    ui.page.on("request", (request) => requests.push(request.url()));
    await ui.page.goto("/console");
    await ui.row(LONG).first().waitFor();
    const calls = requests.filter((url) => url.includes("/api/"));
    expect(calls.length).toBeLessThanOrEqual(10);
    // Nothing is loaded twice, which would happen if pages did not wait for the revision.
    expect(calls.filter((url) => url.endsWith("/gateways?limit=1"))).toHaveLength(1);
    expect(new Set(calls).size).toBe(calls.length);
    ui.page.removeAllListeners("request");
  });

  test("the switcher finds each of 1,500 gateways, shows the one of the page, and links lead to it", async () => {
    const { gateways } = (await gatehouse.api("GET", "/gateways?limit=1&offset=1400")).body;
    const { id, name } = gateways[0];
    await ui.page.goto(`/console/gateways/${id}/rules`);
    await ui.row("/1400/").waitFor();
    const link = ui.page.getByRole("navigation").getByRole("link", { name: "Upstreams", exact: true });
    expect(await link.getAttribute("href")).toBe(`/console/gateways/${id}/upstreams`);
    const switcher = ui.page.getByRole("combobox", { name: "Gateway" });
    expect(await switcher.inputValue()).toBe(name);
    await switcher.click();
    await switcher.fill("1234");
    await ui.page.getByRole("option", { name: /1234$/ }).waitFor();
    await switcher.press("ArrowDown");
    await switcher.press("Enter");
    await ui.row("/1234/").waitFor();
    expect(await switcher.inputValue()).toBe(`${LONG}1234`);
  });

  test("the list of gateways is searched, sorted, and paged by the server", async () => {
    await ui.page.goto("/console/gateways?sort=-name");
    await ui.row(/1499/).waitFor();
    await ui.page.getByText("1–50 of 1,500").waitFor();
    await ui.button("Next page").click();
    await ui.row(/1449/).waitFor();
    await ui.page.getByRole("searchbox", { name: "Search gateways" }).fill("0007");
    await ui.page.getByText("1–1 of 1").waitFor();
    await ui.link(`${LONG}0007`).waitFor();
  });

  test("history, a rollback, an export, and the form of an administrator find each of 1,500 gateways", async () => {
    const { page } = ui;
    const idOf = async (offset: number): Promise<string> =>
      (await gatehouse.api("GET", `/gateways?limit=1&sort=name&offset=${offset}`)).body.gateways[0].id;
    const choose = async (label: string, text: string) => {
      const input = page.locator("#page").getByRole("combobox", { name: label });
      await input.click();
      await input.fill(text);
      await page.getByRole("option", { name: `${LONG}${text}` }).waitFor();
      await page.keyboard.press("Enter");
      return input;
    };
    await page.goto("/console/history");
    const gateway = await choose("Gateway", "1321");
    await page.waitForURL(`**/history?gateway_id=${await idOf(1321)}`);
    expect(await gateway.inputValue()).toBe(`${LONG}1321`);
    await gateway.click();
    await page.getByRole("listbox").getByRole("option", { name: "Any", exact: true }).click();
    await page.waitForURL("**/history");
    await page.goto("/console/history/1/rollback");
    await choose("Roll back", "1499");
    await page.waitForURL(`**/rollback?gateway=${await idOf(1499)}`);
    await page.goto("/console/import-export");
    expect(await (await choose("Gateways", "1407")).inputValue()).toBe(`${LONG}1407`);

    await page.goto("/console/administrators/new");
    await ui.field("Name").fill("limited");
    for (const text of ["1456", "0003", "1234"]) await choose("Gateways", text);
    const chosen = page.getByRole("list", { name: "Selected: Gateways" }).getByRole("listitem");
    expect(await chosen.count()).toBe(3);
    // A gateway that is selected is not offered again.
    await page.locator("#field-gateways").fill("0003");
    await page.getByRole("listbox").waitFor();
    expect(await page.getByRole("option", { name: /0003$/ }).count()).toBe(0);
    await page.keyboard.press("Escape");
    await ui.button(`Remove ${LONG}1234`).click();
    await page.locator("#field-gateways:focus").waitFor();
    await ui.expectAccessible();
    await ui.button("Create admin token").click();
    await page.getByText("It is shown only once.").waitFor();
    const { admin_tokens } = (await gatehouse.api("GET", "/iam/admin-tokens?search=limited")).body;
    expect(admin_tokens[0].gateways).toEqual([await idOf(1456), await idOf(3)]);
  });

  testAccessibility(() => ({ ui, gatehouse }));
}
