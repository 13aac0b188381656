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
    expect(requests.filter((url) => url.includes("/api/")).length).toBeLessThanOrEqual(10);
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

  testAccessibility(() => ({ ui, gatehouse }));
}
