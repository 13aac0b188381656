// Live requests: the strip of requests over time, search by id, arrow keys, saved views, and what the log keeps.
import { expect, test } from "bun:test";
import { leaveGateway, type GetContext } from "../test-context.ts";

export function testLiveRequests(context: GetContext): void {
  let gateway: string;

  test("the request log has a strip that filters by time, and finds a request by its id", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    gateway = (await gatehouse.api("POST", "/gateways", { name: "live", subdomain: "live" })).body.id;
    const key = (await gatehouse.api("POST", "/iam/api-keys", { name: "live", subject: gateway })).body.key;
    const ids: (string | null)[] = [];
    for (let count = 0; count < 3; count++) {
      const response = await fetch(`${gatehouse.proxyUrl}/live/${count}`, {
        headers: { "X-GW-API-Key": key },
      });
      await response.text();
      ids.push(response.headers.get("X-Request-Id"));
    }
    await page.goto(`/console/gateways/${gateway}/requests`);
    await ui.row("/live/2").waitFor();
    await page.getByText("REQUEST_LOG_SIZE").waitFor();
    const strip = page.getByRole("group", { name: "Requests over time" });
    await strip
      .getByRole("button", { name: /[1-9] with status 4xx/ })
      .last()
      .click();
    expect(new URL(page.url()).searchParams.has("since")).toBe(true);
    await ui.row("/live/2").waitFor();
    await ui.expectAccessible();
    await ui.button(/^\S+ to \S+$/).click();
    expect(new URL(page.url()).searchParams.has("since")).toBe(false);
    await ui.field("Request id").fill(ids[1] ?? "");
    // What is typed stays when the list updates itself.
    await (await fetch(`${gatehouse.proxyUrl}/live/3`, { headers: { "X-GW-API-Key": key } })).text();
    await ui.row("/live/3").waitFor();
    await page.keyboard.press("Enter");
    await ui.row("/live/2").waitFor({ state: "detached" });
    expect(await ui.row("/live/1").count()).toBe(1);
    await ui.field("Request id").fill("");
    await page.keyboard.press("Enter");
    await ui.row("/live/2").waitFor();
  });

  test("arrow keys move between requests, in the list and in the details", async () => {
    const { ui } = context();
    const { page } = ui;
    const requests = page.getByRole("table", { name: "Requests" }).getByRole("button");
    await requests.first().focus();
    await page.keyboard.press("ArrowDown");
    expect(await requests.nth(1).evaluate((button) => button === button.ownerDocument.activeElement)).toBe(
      true,
    );
    await page.keyboard.press("Enter");
    await ui.dialog().getByRole("heading", { name: "GET /live/2" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await ui.dialog().getByRole("heading", { name: "GET /live/1" }).waitFor();
    await page.keyboard.press("Escape");
    await ui.dialog().waitFor({ state: "detached" });
  });

  test("a set of filters can be saved as a view, applied after a reload, and deleted", async () => {
    const { ui } = context();
    const { page } = ui;
    await page.getByRole("combobox", { name: "Status" }).selectOption("4xx");
    await ui.button("Save view").click();
    await ui.field("Name of the view").fill("Rejected");
    await ui.button("Save").click();
    await page.goto(`/console/gateways/${gateway}/requests`);
    await page.getByRole("combobox", { name: "Saved view" }).selectOption("Rejected");
    expect(new URL(page.url()).searchParams.get("status")).toBe("4xx");
    await ui.row("/live/2").waitFor();
    await ui.expectAccessible();
    await ui.button("Delete view").click();
    await page.getByRole("combobox", { name: "Saved view" }).waitFor({ state: "detached" });
    await leaveGateway(context(), gateway);
  });
}
