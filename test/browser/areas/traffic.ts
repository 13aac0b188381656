// Request log, Explain, overview, usage, and prices.
import { expect, test } from "bun:test";
import { firstGatewayId, sendChatAs, type GetContext } from "../test-context.ts";

export function testTraffic(context: GetContext): void {
  test("the request log shows a failover live, its details, and its explanation", async () => {
    const { ui } = context();
    const { page } = ui;
    await ui.visit("Request log");
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByLabel("Only failovers").check();
    await page.getByText("No requests match the filters").waitFor();
    expect(await sendChatAs("bob", context())).toBe(200);
    const failover = ui.row("broken → good");
    await failover.getByText("Failover").waitFor();
    await ui.expectAccessible();
    await ui.button("Pause").click();
    await sendChatAs("bob", context());
    await page.getByText("Paused, 1 new").waitFor();
    expect(await failover.count()).toBe(1);
    await ui.button("Resume").click();
    await failover.nth(1).waitFor();
    await failover.first().getByRole("button").click();
    await ui.dialog().getByText("Attempts: 2").waitFor();
    const operation = ui.dialog().locator('dt:text-is("Operation") + dd');
    expect(await operation.textContent()).toBe("chat");
    await ui
      .dialog()
      .getByRole("row", { name: /1\. broken/ })
      .getByText("503")
      .waitFor();
    await ui.dialog().getByRole("list", { name: "Timing" }).getByText("Send response").waitFor();
    await ui.expectAccessible();
    await ui.dialog().getByRole("link", { name: "Explain" }).click();
    await ui.heading("Explain").waitFor();
    expect(await ui.field("Path").inputValue()).toBe("/pair/chat");
    await ui.button("Explain").click();
    await page.getByText("The request would be sent to a provider.").waitFor();
    await ui.row("/pair/chat").getByText("Selected", { exact: true }).waitFor();
    await ui.expectAccessible();
    await ui.field("Path").fill("/nowhere");
    await ui.button("Explain").click();
    await page.getByText("rule_not_found").waitFor();
  });

  test("the overview shows traffic, target health, and rejected requests", async () => {
    const { ui, gatehouse } = context();
    await fetch(`${gatehouse.proxyUrl}/pair/chat`, { headers: { "X-GW-API-Key": `gw_${"x".repeat(43)}` } });
    await ui.visit("Overview");
    await ui.page.getByRole("img", { name: /Requests per second.*highest [1-9]/ }).waitFor();
    await ui.row("good").getByText("Healthy").waitFor();
    await ui.row("invalid_api_key").waitFor();
    await ui.expectAccessible();
  });

  test("usage shows requests by key and model, costs after a price is set, and exports CSV", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await gatehouse.api("PUT", "/prices", { prices: [{ model: "fake*", input: "1000", output: "2000" }] });
    await ui.visit("Playground");
    await ui.button("Send").click();
    await page.locator(".chat-response").getByText("Done", { exact: true }).waitFor();
    await page.locator(".stats").getByText("$").waitFor();
    await ui.visit("Request log");
    await ui.row("fake-model").first().getByRole("button").click();
    await ui
      .dialog()
      .getByText(/first byte after .*, first token after [\d.,]+ m?s/)
      .waitFor();
    await ui.dialog().getByText("Time per output token").waitFor();
    await ui.dialog().getByRole("list", { name: "Timing" }).getByText("First token").waitFor();
    await ui.expectAccessible();
    await ui.dialog().getByRole("button", { name: "Close" }).click();
    const key = { name: "labeled", subject: await firstGatewayId(context()), labels: { team: "search" } };
    const created = await gatehouse.api("POST", "/iam/api-keys", key);
    expect(await sendChatAs("carol", context(), { "X-GW-API-Key": created.body.key })).toBe(200);
    await ui.visit("Overview");
    await page.getByRole("region", { name: "Last 5 minutes" }).getByText("First token").waitFor();
    await ui.visit("Usage");
    const used = page.getByRole("table", { name: "Usage by model" });
    await used.getByText("fake-model").waitFor();
    await page.locator('summary[aria-label="Columns of Usage by model"]').click();
    await page.getByRole("checkbox", { name: "Incomplete" }).uncheck();
    await used.locator("th", { hasText: "Incomplete" }).waitFor({ state: "detached" });
    await ui.expectAccessible();
    await page.getByRole("checkbox", { name: "Incomplete" }).check();
    await page.keyboard.press("Escape");
    await page.getByRole("table", { name: "Usage by rule" }).getByText("/pair/chat").waitFor();
    await ui.button("Provider").click();
    await page.getByRole("table", { name: "Usage by provider" }).getByText("good").waitFor();
    await ui.button("Label team").click();
    await page.getByRole("table", { name: "Usage by label team" }).getByText("search").waitFor();
    const totals = page.getByRole("region", { name: "Totals" });
    await totals.getByText("none in the 14 days before").first().waitFor();
    await totals.getByText(/^≥\s\$|^\$/).waitFor();
    await ui.button("Per hour").click();
    await page.getByRole("img", { name: /^Tokens per hour, last 7 days\. .*highest [1-9]/ }).waitFor();
    await ui.expectAccessible();
    await ui.button("Per day").click();
    await ui.button("Cost").click();
    await page.getByText("Cost per day, by model").waitFor();
    await ui.expectAccessible();
    const [download] = await Promise.all([page.waitForEvent("download"), ui.button("Export CSV").click()]);
    const csv = await Bun.file(await download.path()).text();
    expect(csv).toStartWith("day,api_key,");
    expect(csv).toContain(",fake-model,");
  });
}
