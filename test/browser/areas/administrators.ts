// Admin tokens, what a viewer sees, and the audit log.
import { expect, test } from "bun:test";
import { openConsole, type ConsoleSession } from "../console-session.ts";
import type { GetContext } from "../test-context.ts";

export function testAdministrators(context: GetContext): void {
  let viewerToken = "";

  test("creates an admin token, which is shown once", async () => {
    const { ui } = context();
    const { page } = ui;
    await ui.visit("Administrators");
    await page.getByText("No stored admin tokens").waitFor();
    await ui.link("New admin token").first().click();
    await ui.field("Name").fill("on-call dashboard");
    await ui.field("Role").selectOption({ index: 0 });
    await ui.expectAccessible();
    await ui.button("Create admin token").click();
    await page.getByText("It is shown only once.").waitFor();
    viewerToken = (await page.getByLabel("admin token", { exact: true }).innerText()).trim();
    expect(viewerToken).toMatch(/^admin_gw_/);
    await ui.button("Copy admin token").click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(viewerToken);
    await ui.expectAccessible();
    await ui.link("Back to administrators").click();
    await ui.row("on-call dashboard").getByText("viewer").waitFor();
    expect(await page.getByText(viewerToken).count()).toBe(0);
    await ui.expectAccessible();
  });

  test("a viewer sees who they are, and no editing", async () => {
    const viewer = await openAs(context, viewerToken);
    const { page } = viewer;
    try {
      if (viewer.isPhone) await viewer.button("Menu").click();
      await page.locator(".who").getByText("on-call dashboard").waitFor();
      await page.locator(".who").getByText("viewer").waitFor();
      const links = await page.getByRole("navigation").getByRole("link").allInnerTexts();
      expect(links.map((text) => text.trim())).not.toContain("Administrators");
      expect(links.map((text) => text.trim())).not.toContain("Audit");
      if (viewer.isPhone) await viewer.button("Menu").click();
      await viewer.visit("Rules");
      await viewer.link("/pair/chat").waitFor();
      expect(await viewer.link("New rule").count()).toBe(0);
      await viewer.link("/pair/chat").click();
      await page.getByText("This needs the role operator. Your role is viewer.").waitFor();
      expect(await viewer.field("Path").isDisabled()).toBe(true);
      for (const name of ["Save", "Delete"]) expect(await viewer.button(name).count()).toBe(0);
      await viewer.expectAccessible();
      await page.goto("/console/administrators");
      await page.getByText("This needs the role owner. Your role is viewer.").waitFor();
      await page.goto("/console/start");
      await page.getByText("Your role is viewer.").waitFor();
      expect(await viewer.button("Create route").count()).toBe(0);
    } finally {
      await viewer.close();
    }
  });

  test("revokes an admin token", async () => {
    const { ui, gatehouse } = context();
    await ui.button("Revoke on-call dashboard").click();
    await ui.dialog().getByRole("button", { name: "Revoke" }).click();
    await ui.waitForToast("Revoked admin token");
    await ui.row("on-call dashboard").getByText("Revoked").waitFor();
    const headers = { Authorization: `Bearer ${viewerToken}` };
    expect((await fetch(`${gatehouse.adminUrl}/api/v1/iam/me`, { headers })).status).toBe(401);
  });

  test("the audit log has filters, details, and the state of the chain", async () => {
    const { ui } = context();
    const { page } = ui;
    await ui.visit("Audit");
    await page.getByText(/^Verified to entry \d+\.$/).waitFor();
    await page.getByRole("combobox", { name: "Action" }).selectOption("revoke");
    await ui.row("Create").first().waitFor({ state: "detached" });
    await ui.row("admin token “on-call dashboard”").waitFor();
    await ui.expectAccessible();
    await page
      .getByRole("button", { name: /^Entry \d+$/ })
      .first()
      .click();
    await ui.dialog().getByText("token signed with SERVER_SECRET_KEY").waitFor();
    await ui.expectAccessible();
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "Administrator" }).fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByText("No entry matches these filters").waitFor();
    await page.goto("/console/audit?outcome=done");
    await page.getByText(/^1–25 of \d+$/).waitFor();
    await ui.button("Next page").click();
    await page.getByText(/^26–/).waitFor();
  });
}

async function openAs(context: GetContext, token: string): Promise<ConsoleSession> {
  const { ui, gatehouse } = context();
  const browser = ui.page.context().browser();
  if (browser === null) throw new Error("the browser is closed");
  const session = await openConsole(browser, gatehouse, ui.screen);
  await session.signIn(token);
  return session;
}
