// A rejected token, and a gateway that does not respond.
import { expect, test } from "bun:test";
import { rejectWrites, type GetContext } from "../test-context.ts";

export function testConnection(context: GetContext): void {
  test("a rejected token does not lose form input", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await ui.visit("Services");
    await ui.link("New service").click();
    await ui.field("Name").fill("half-filled");
    await rejectWrites(page);
    await ui.button("Create service").click();
    await ui.dialog().getByText("Sign in again").waitFor();
    await page.unroute("**/api/v1/**");
    await ui.expectAccessible();
    await ui.field("Admin token").fill(gatehouse.token);
    await ui.dialog().getByRole("button", { name: "Sign in" }).click();
    await ui.dialog().waitFor({ state: "hidden" });
    expect(await ui.field("Name").inputValue()).toBe("half-filled");
    // Leaving the page with unsaved input requires confirmation.
    if (ui.isPhone) await ui.button("Menu").click();
    await page.getByRole("navigation").getByRole("link", { name: "Rules" }).click();
    await ui.dialog().getByRole("button", { name: "Discard" }).click();
    await ui.heading("Rules").waitFor();
  });

  test("shows when the gateway does not respond and when it is back", async () => {
    const { ui } = context();
    const { page } = ui;
    await ui.visit("Rules");
    await page.context().setOffline(true);
    await page.getByRole("alert").getByText("The gateway does not respond").waitFor();
    await ui.expectAccessible();
    // Every part of a page that fails to load has the same cause, which is reported once.
    await ui.visit("Services");
    await page.getByText("This is loaded when the gateway responds again").waitFor();
    expect(await page.getByRole("alert").filter({ hasText: /./ }).count()).toBe(1);
    await ui.visit("Rules");
    await page.context().setOffline(false);
    await page.getByRole("alert").getByText("The gateway does not respond").waitFor({ state: "hidden" });
    await ui.link("/pair/chat").waitFor();
  });
}
