// Forms with unsaved input: changes of other operators, and ways to leave the page.
import { expect, test } from "bun:test";
import { firstGatewayId, rejectWrites, type GetContext } from "../test-context.ts";

export function testUnsavedInput(context: GetContext): void {
  /** Creates a service and opens its page with a changed description, which is not saved. */
  const openChangedService = async () => {
    const { ui, gatehouse } = context();
    const services = `/gateways/${await firstGatewayId(context())}/services`;
    const upstreams = (await gatehouse.api("GET", services.replace("services", "upstreams"))).body.upstreams;
    const service = { name: "shared", upstream_id: upstreams[0].id, description: "first" };
    const path = `${services}/${(await gatehouse.api("POST", services, service)).body.id}`;
    // From another page, so that the list is loaded again.
    await ui.visit("Upstreams");
    await ui.visit("Services");
    await ui.link("shared").click();
    await ui.field("Description").fill("mine");
    return { path, service };
  };

  test("a record that another operator changed is not overwritten after a reconnect or a sign-in", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const { path, service } = await openChangedService();
    await gatehouse.api("PATCH", path, { description: "theirs" });
    // The page loads its data again after a reconnect and after a sign-in. The form must keep its ETag.
    await page.context().setOffline(true);
    await page.getByRole("alert").getByText("The gateway does not respond").waitFor();
    await page.context().setOffline(false);
    await page.getByRole("alert").getByText("The gateway does not respond").waitFor({ state: "hidden" });
    await rejectWrites(page);
    await ui.button("Save").click();
    await ui.field("Admin token").fill(gatehouse.token);
    await page.unroute("**/api/v1/**");
    const reloaded = page.waitForResponse((response) => response.url().endsWith(path));
    await ui.dialog().getByRole("button", { name: "Sign in" }).click();
    await reloaded;
    await ui.button("Save").click();
    const conflict = page.getByRole("alert").filter({ hasText: "was changed by someone else" });
    const change = conflict.getByRole("row", { name: /description/ });
    await change.getByText("theirs").waitFor();
    await change.getByText("mine").waitFor();
    expect((await gatehouse.api("GET", path)).body.description).toBe("theirs");
    await ui.expectAccessible();
    await ui.button("Load theirs").click();
    await conflict.waitFor({ state: "hidden" });
    expect(await ui.field("Description").inputValue()).toBe("theirs");
    // Nothing is unsaved now, so that the page can be left without confirmation.
    await ui.visit("Services");

    await ui.link("shared").click();
    await ui.field("Description").fill("mine");
    await gatehouse.api("PATCH", path, { name: "renamed" });
    await ui.button("Save").click();
    await conflict.getByRole("row", { name: /name/ }).getByText("renamed").waitFor();
    await ui.button("Keep mine and save over it").click();
    await ui.waitForToast("Saved service “shared”");
    expect((await gatehouse.api("GET", path)).body).toMatchObject({ ...service, description: "mine" });
    await gatehouse.api("DELETE", path);
  });

  test("Back, Escape at the sign-in, and closing the tab ask before unsaved input is lost", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const { path } = await openChangedService();
    const address = page.url();
    const discard = ui.dialog().getByRole("heading", { name: "Discard unsaved changes?" });
    const goBack = (steps = 1) => page.evaluate(`history.go(-${steps})`);
    const goBackAndStay = async (steps: number) => {
      const before = page.url();
      await goBack(steps);
      await discard.waitFor();
      await ui.button("Cancel").click();
      await discard.waitFor({ state: "hidden" });
      expect(page.url()).toBe(before);
    };
    await goBackAndStay(1);
    // The link to the content adds an entry to the history, which is of the same page.
    await page.getByRole("link", { name: "Skip to content" }).press("Enter");
    await page.waitForURL(`${address}#page`);
    await goBackAndStay(2);
    await goBack();
    await page.waitForURL(address);
    expect(await ui.field("Description").inputValue()).toBe("mine");

    await rejectWrites(page);
    await ui.button("Save").click();
    await ui.field("Admin token").waitFor();
    await page.unroute("**/api/v1/**");
    const escapeAndStay = async () => {
      await page.keyboard.press("Escape");
      await discard.waitFor();
      await page.keyboard.press("Escape");
      await discard.waitFor({ state: "hidden" });
    };
    await escapeAndStay();
    // Chromium closes a dialog at repeated Escapes.
    await escapeAndStay();
    await ui.field("Admin token").fill(gatehouse.token);
    await ui.dialog().getByRole("button", { name: "Sign in" }).click();
    await ui.dialog().waitFor({ state: "hidden" });
    expect(await ui.field("Description").inputValue()).toBe("mine");

    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe("beforeunload");
    await question.dismiss();

    await goBack();
    await discard.waitFor();
    await ui.button("Discard").click();
    await ui.heading("Services").waitFor();
    await gatehouse.api("DELETE", path);
  });
}
