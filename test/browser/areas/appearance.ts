// Theme and density: applied at once and before the first paint, and kept in this browser.
import { expect, test } from "bun:test";
import type { GetContext } from "../test-context.ts";

export function testAppearance(context: GetContext): void {
  test("theme and density are switched, kept, and applied before the first paint", async () => {
    const { ui } = context();
    const { page } = ui;
    const open = async () => {
      if (ui.isPhone) await ui.button("Menu").click();
      await page.getByText("Appearance").click();
    };
    const background = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    await ui.visit("Services");
    const light = await background();
    await open();
    await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
    const dark = await background();
    expect(dark).not.toBe(light);
    await page.getByRole("combobox", { name: "Density" }).selectOption("compact");
    await ui.expectAccessible();
    // Without the modules of the console, only the script that blocks the first paint has run.
    await page.route("**/chunk-*.js", (route) => route.abort());
    await page.reload();
    expect(await background()).toBe(dark);
    await page.unroute("**/chunk-*.js");
    await page.reload();
    await ui.heading("Services").waitFor();
    await ui.expectAccessible();
    await open();
    await page.getByRole("combobox", { name: "Density" }).selectOption("");
    await page.getByRole("combobox", { name: "Theme" }).selectOption("");
    expect(await background()).toBe(light);
    expect(await page.evaluate("localStorage.length")).toBe(0);
    // Later areas open the menu themselves.
    if (ui.isPhone) await ui.button("Menu").click();
  });
}
