// Deletions, history, rollback, and sign-out.
import { expect, test } from "bun:test";
import { sendChatAs, type GetContext } from "../test-context.ts";

export function testHistory(context: GetContext): void {
  let revisionBeforeDeletions = 0;

  test("deletes rules, services, and upstreams", async () => {
    const { ui, gatehouse } = context();
    revisionBeforeDeletions = (
      (await (await fetch(`${gatehouse.adminUrl}/readyz`)).json()) as { revision: number }
    ).revision;
    for (const [kind, name, singular] of [
      ["Rules", "/pair/chat", "rule"],
      ["Services", "paired", "service"],
      ["Upstreams", "pair", "upstream"],
    ] as const) {
      await ui.visit(kind);
      await ui.link(name).click();
      await ui.button("Delete").click();
      await ui.dialog().getByRole("button", { name: "Delete" }).click();
      await ui.waitForToast(`Deleted ${singular}`);
      await ui.heading(kind).waitFor();
      expect(await ui.link(name).count()).toBe(0);
    }
  });

  test("history shows changes, and a rollback restores them", async () => {
    const { ui } = context();
    const { page } = ui;
    await ui.visit("History");
    await ui.row("Active").getByText("upstream “pair”").waitFor();
    await ui.expectAccessible();
    await page.getByRole("combobox", { name: "Record type" }).selectOption("service");
    await ui.row("upstream “pair”").first().waitFor({ state: "detached" });
    await ui.row("service “paired”").first().waitFor();
    await page.getByRole("combobox", { name: "Record type" }).selectOption("");
    await ui.link(`Revision ${revisionBeforeDeletions + 1}`).click();
    await page.getByText("/pair/chat").first().waitFor();
    await ui.expectAccessible();
    await ui.link("← History").click();
    await ui.link(`Revision ${revisionBeforeDeletions}`).click();
    await ui.link("Roll back to this revision").click();
    // The preview: three records return, each in one block.
    await page.getByText("3 records. Credentials are masked.").waitFor();
    expect(await page.locator(".record-changes > li").filter({ hasText: "Create" }).count()).toBe(3);
    expect(await page.locator(".record-changes pre").count()).toBe(3);
    await ui.expectAccessible();
    await page.getByRole("combobox", { name: "Roll back" }).click();
    await page.getByRole("option", { name: "my gateway", exact: true }).click();
    await page.getByText("3 records. Credentials are masked.").waitFor();
    await ui.button("Roll back").click();
    await ui.dialog().getByText("Other gateways stay as they are.").waitFor();
    await ui.expectAccessible();
    await ui.dialog().getByRole("button", { name: "Roll back" }).click();
    await ui.waitForToast(`Rolled back to revision ${revisionBeforeDeletions}`);
    await ui.row("Active").getByText("Rollback").waitFor();
    await ui.visit("Rules");
    await ui.link("/pair/chat").waitFor();
    expect(await sendChatAs("carol", context())).toBe(200);
  });

  test("sign-out removes all stored data", async () => {
    const { ui } = context();
    if (ui.isPhone) await ui.button("Menu").click();
    await ui.button("Sign out").click();
    await ui.field("Admin token").waitFor();
    expect(
      await ui.page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length"),
    ).toBe(0);
    await ui.page.reload();
    await ui.field("Admin token").waitFor();
  });
}
