// Requests of the request log: their explanation, and the list on the page.
import { expect, test } from "bun:test";
import { firstGatewayId, type GetContext } from "../test-context.ts";

export function testRecordedRequests(context: GetContext): void {
  test("a recorded request is explained on arrival, with the API key that it had", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const gateway = `/gateways/${await firstGatewayId(context())}`;
    const [service] = (await gatehouse.api("GET", `${gateway}/services`)).body.services;
    const [upstream] = (await gatehouse.api("GET", `${gateway}/upstreams`)).body.upstreams;
    const model = upstream.targets[0].models[0] ?? "recorded-model";
    const fields = { path: "/recorded/*", methods: ["POST"], service_id: service.id, require_api_key: true };
    const rule = (await gatehouse.api("POST", `${gateway}/rules`, fields)).body.id;
    // The console has never seen this key.
    const key = { name: "recorded", subject: await firstGatewayId(context()) };
    const created = (await gatehouse.api("POST", "/iam/api-keys", key)).body;
    const sent = await fetch(`${gatehouse.proxyUrl}/recorded/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-GW-API-Key": created.key },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
    });
    expect([sent.status, typeof (await sent.text())]).toEqual([200, "string"]);
    await ui.visit("Request log");
    await ui.row("/recorded/").first().getByRole("button").click();
    await ui.dialog().getByRole("link", { name: "Explain" }).click();
    await page.getByText("The request would be sent to a provider.").waitFor();
    await page.getByText("the API key is valid for this rule").waitFor();
    await page.getByText("The body was not recorded").waitFor();
    expect(await ui.field("API key").locator("option:checked").textContent()).toBe("recorded");
    expect(await ui.field("Body").inputValue()).toContain(model);
    await ui.expectAccessible();
    await ui.field("API key").selectOption({ label: "None" });
    await ui.button("Explain").click();
    await page.getByText("api_key_required").waitFor();
    await gatehouse.api("DELETE", `${gateway}/rules/${rule}`);
  });

  test("the list cuts no time, marks what it cuts, and gets the focus back from a closed request", async () => {
    const { ui } = context();
    const { page } = ui;
    await ui.visit("Request log");
    const row = ui.row("/v1/chat/completions").first();
    const opener = row.getByRole("button");
    await opener.focus();
    await page.keyboard.press("Enter");
    await ui.dialog().getByText("Attempts").first().waitFor();
    await page.keyboard.press("Escape");
    await ui.dialog().waitFor({ state: "hidden" });
    await row.locator("button:focus").waitFor();
    if (ui.isPhone) return;
    // The widest time of a 12-hour clock, and a long code.
    const cut = await page.evaluate(`(() => {
      const { cells } = document.querySelector("table[aria-label=Requests] tbody tr");
      const [time, status] = [cells[0].firstElementChild, cells[2].firstElementChild];
      time.textContent = "12:58:58 PM";
      status.textContent = "upstream_response_too_large_and_more_of_it";
      const { overflow, textOverflow } = getComputedStyle(status);
      const isCut = time.scrollWidth > time.clientWidth || cells[0].scrollWidth > cells[0].clientWidth;
      return { isCut, overflow, textOverflow };
    })()`);
    expect(cut).toEqual({ isCut: false, overflow: "hidden", textOverflow: "ellipsis" });
    await page.reload();
  });
}
