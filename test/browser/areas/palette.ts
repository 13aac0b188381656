// The command palette: records, requests, pages, actions, and documentation, by keyboard and on a phone.
import { expect, test } from "bun:test";
import type { GatehouseProcess } from "../../support/gatehouse-process.ts";
import type { SeededRoute } from "../../support/proxy-fixtures.ts";
import { waitUntil } from "../../support/waiting.ts";
import type { ConsoleSession } from "../console-session.ts";

interface PaletteContext {
  readonly ui: ConsoleSession;
  readonly gatehouse: GatehouseProcess;
  readonly route: SeededRoute;
}

const PHONE = { width: 390, height: 844 };

/** Leaves the desktop screen as it was. */
export function testPalette(context: () => PaletteContext): void {
  const input = () => context().ui.page.getByRole("combobox", { name: "Search everything" });
  const option = (name: string | RegExp) => context().ui.page.getByRole("option", { name }).first();
  const openPalette = async () => {
    await context().ui.page.keyboard.press("Control+k");
    await input().waitFor();
  };

  test("the palette opens records and requests of any gateway by keyboard, and the focus follows", async () => {
    const { ui, gatehouse, route } = context();
    await ui.page.goto("/console");
    await ui.heading("Overview").waitFor();
    await openPalette();
    await option("Rules").waitFor();
    await ui.expectAccessible();
    await input().fill("gamma");
    await option(/gamma.*API key/).waitFor();
    const { page } = ui;
    while (!(await page.locator('[aria-selected="true"]').innerText()).includes("API key"))
      await page.keyboard.press("ArrowDown");
    const active = await input().getAttribute("aria-activedescendant");
    expect(await page.locator(`#${active}`).getAttribute("aria-selected")).toBe("true");
    await ui.expectAccessible();
    await page.keyboard.press("Enter");
    await ui.heading("gamma").waitFor();
    expect(page.url()).toContain(`/gateways/${route.gateway}/keys/`);
    await page.locator("h1:focus").waitFor();

    const response = await fetch(`${gatehouse.proxyUrl}/v1/chat`, { method: "POST", body: "{}" });
    const requestId = response.headers.get("x-request-id") ?? "";
    await waitUntil(
      async () => (await gatehouse.api("GET", `/search?q=${requestId}`)).body.results.length === 1,
    );
    await openPalette();
    await input().fill(requestId);
    await option(/POST \/v1\/chat/).waitFor();
    await page.keyboard.press("Enter");
    await ui.dialog().getByText(requestId).first().waitFor();
    await page.keyboard.press("Escape");
  });

  test("the palette runs actions, opens pages and documentation, and returns the focus when it is closed", async () => {
    const { ui, route } = context();
    const { page } = ui;
    await page.goto(`/console/gateways/${route.gateway}/services`);
    await page.getByRole("searchbox", { name: "Search services" }).focus();
    await openPalette();
    await page.keyboard.press("Escape");
    await input().waitFor({ state: "hidden" });
    await page.locator('input[type="search"]:focus').waitFor();

    await openPalette();
    await input().fill("dark");
    await option("Theme: dark").click();
    await page.locator('html[data-theme="dark"]').waitFor();
    await page.locator('input[type="search"]:focus').waitFor();
    await openPalette();
    await input().fill("theme sys");
    await option("Theme: as the system").click();
    await page.locator("html:not([data-theme])").waitFor();

    await openPalette();
    await input().fill("new ru");
    await option("New rule").waitFor();
    await page.keyboard.press("Enter");
    await ui.heading("New rule").waitFor();

    await openPalette();
    await input().fill("upstream_timeout");
    await option(/upstream_timeout/).waitFor();
    await input().fill("no such thing anywhere");
    await page.getByText("Nothing matches “no such thing anywhere”.").waitFor();
    await input().fill("api reference rules");
    await option(/API reference: rules/).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/api/docs#rules");
    await page.goBack();
  });

  test("unsaved input is not lost by the palette", async () => {
    const { ui, route } = context();
    await ui.page.goto(`/console/gateways/${route.gateway}/services/new`);
    await ui.field("Name").fill("unsaved");
    await openPalette();
    await input().fill("history");
    await option("History").click();
    await ui.dialog().getByText("Discard unsaved changes?").waitFor();
    await ui.page.keyboard.press("Escape");
    await ui.dialog().waitFor({ state: "hidden" });
    expect(await ui.field("Name").inputValue()).toBe("unsaved");
    await ui.page.locator("#field-name:focus").waitFor();
    await ui.field("Name").fill("");
  });

  test("a phone shows the current gateway and has a button for the palette", async () => {
    const { ui, route } = context();
    const { page } = ui;
    await page.setViewportSize(PHONE);
    await page.goto(`/console/gateways/${route.gateway}/services`);
    await page.locator(".phone-gateway").getByText("acme").waitFor();
    await ui.button("Search everything").click();
    await input().fill("gamma");
    await option(/gamma.*Service/).waitFor();
    await ui.expectAccessible();
    await option(/gamma.*Service/).click();
    await ui.heading("gamma").waitFor();
    await page.setViewportSize(ui.screen);
  });
}
