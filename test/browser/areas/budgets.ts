// Budgets: form with messages at its fields, list with bars, state with top spenders, adjust, and reset.
import { expect, test } from "bun:test";
import { leaveGateway, openPage, type GetContext } from "../test-context.ts";

type Context = ReturnType<GetContext>;

async function seed({ gatehouse, healthy }: Context): Promise<{ gateway: string; key: string }> {
  const create = async (path: string, body: unknown) => (await gatehouse.api("POST", path, body)).body;
  const prices = [{ model: "metered", per_request: "0.1" }];
  const { id: gateway } = await create("/gateways", { name: "money", prices, require_api_key: true });
  const targets = [{ provider: "good", base_url: healthy.url, default_model: "metered" }];
  const upstream = await create(`/gateways/${gateway}/upstreams`, { name: "only", targets });
  const service = await create(`/gateways/${gateway}/services`, { name: "only", upstream_id: upstream.id });
  await create(`/gateways/${gateway}/rules`, {
    service_id: service.id,
    path: "/money/chat",
    methods: ["POST"],
  });
  const labels = { team: "search" };
  const { key } = await create("/iam/api-keys", { name: "search app", subject: gateway, labels });
  return { gateway, key };
}

async function send({ gatehouse }: Context, key: string): Promise<number> {
  const response = await fetch(`${gatehouse.proxyUrl}/money/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
    body: JSON.stringify({ model: "metered", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}

export function testBudgets(context: GetContext): void {
  test("a budget per team is created, used up, adjusted exactly, and reset", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const { gateway, key } = await seed(context());
    await openPage(context(), `/gateways/${gateway}/budgets`, "Budgets");
    await page.getByText("No budgets yet").waitFor();
    await ui.expectAccessible();

    await ui.link("New budget").first().click();
    await ui.field("Name").fill("each team");
    await ui.field("Amount").fill("a lot");
    await ui.field("Applies to").selectOption({ label: "Label of API keys" });
    await ui.field("Label").fill("team");
    await ui.field("Time zone").fill("Mars/Base");
    await ui.field("Report at").fill("50, many");
    await ui.button("Create budget").click();
    await page.locator("#field-amount-error").getByText("must be a decimal").waitFor();
    await page.locator("#field-timezone-error").getByText("must be an IANA time zone").waitFor();
    await page.locator("#field-warn_at-error").getByText("must be a number").waitFor();
    await ui.expectAccessible();
    await ui.field("Amount").fill("0.3");
    await ui.field("Time zone").fill("Europe/Berlin");
    await ui.field("Report at").fill("50, 80%");
    await page.getByText("Models, webhook, unknown prices, store failures").click();
    await ui.field("Models").fill("meter*");
    await ui.field("Webhook").fill("ftp://hooks.example.com");
    await ui.button("Create budget").click();
    await page.locator("#field-webhook-error").getByText("must start with http:// or https://").waitFor();
    await ui.field("Webhook").fill("");
    await ui.button("Create budget").click();
    await ui.waitForToast("Saved budget “each team”");
    const { budgets } = (await gatehouse.api("GET", `/gateways/${gateway}/budgets`)).body;
    expect(budgets).toMatchObject([
      {
        ...{ name: "each team", unit: "usd", amount: "0.3", period: "month", timezone: "Europe/Berlin" },
        ...{ scope: "label", label: "team", value: null, each: true, models: ["meter*"] },
        ...{ mode: "enforce", warn_at: [0.5, 0.8], webhook: null },
      },
    ]);

    expect([await send(context(), key), await send(context(), key)]).toEqual([200, 200]);
    await page.reload();
    const row = ui.row("each team");
    await row.getByText("Each value of label team").waitFor();
    await row.getByText("Highest: search, $0.20").waitFor();
    await row.getByRole("img", { name: "$0.20 of $0.30 spent, $0.00 reserved" }).waitFor();
    await ui.expectAccessible();

    await ui.link("each team").click();
    await ui.heading("each team").waitFor();
    await page.getByText("$0.30 per month. Each value of label team.").waitFor();
    const spender = ui.row("search");
    await spender.getByRole("img", { name: "$0.20 of $0.30 spent" }).waitFor();
    await ui.expectAccessible();
    await ui.button("Adjust search").click();
    const dialog = ui.dialog();
    await ui.field("Add to what is spent", dialog).fill("a bit");
    await dialog.getByRole("button", { name: "Adjust", exact: true }).click();
    await dialog.getByText("must be a decimal").waitFor();
    await ui.field("Add to what is spent", dialog).fill("0.1");
    // In floating point, 0.2 + 0.1 is 0.30000000000000004.
    await dialog.getByText("Spent: $0.20 → $0.30.").waitFor();
    await ui.expectAccessible();
    await dialog.getByRole("button", { name: "Adjust", exact: true }).click();
    await dialog.getByText("This overwrites a recorded figure: $0.20 recorded as spent.").waitFor();
    await ui.expectAccessible();
    await dialog.getByRole("button", { name: "Overwrite", exact: true }).click();
    await ui.waitForToast("Adjusted budget “each team”");
    await spender.getByRole("img", { name: "$0.30 of $0.30 spent" }).waitFor();
    expect(await send(context(), key)).toBe(402);
    await ui.button("Reset search").click();
    await dialog.getByText("This cannot be undone").waitFor();
    await dialog.getByText("This loses: $0.30 recorded as spent.").waitFor();
    await dialog.getByRole("button", { name: "Reset", exact: true }).click();
    await page.getByText("Nothing is spent in this period.").waitFor();
    expect(await send(context(), key)).toBe(200);
  });

  test("a budget in tokens is edited and deleted in the list", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const gateways = (await gatehouse.api("GET", "/gateways?name=money")).body.gateways;
    const gateway = gateways[0].id;
    const path = `/gateways/${gateway}/budgets`;
    const body = { name: "all tokens", unit: "tokens", amount: 2_000_000, period: "total", mode: "warn" };
    const { id } = (await gatehouse.api("POST", path, body)).body;
    await gatehouse.api("POST", `${path}/${id}/adjust`, { amount: 500_000 });
    await openPage(context(), `/gateways/${gateway}/budgets/${id}`, "all tokens");
    await page.getByRole("img", { name: "500,000 tokens of 2,000,000 tokens spent" }).waitFor();
    await page.getByText("1,500,000 tokens").waitFor();
    await ui.link("Edit budget").click();
    expect(await ui.field("Amount").inputValue()).toBe("2000000");
    await ui.field("Amount").fill("1000000");
    await ui.field("Applies to").selectOption({ label: "API keys" });
    await ui.field("Amount for").selectOption({ label: "One API key" });
    await ui.field("API key").selectOption({ label: "search app" });
    await ui.button("Save").click();
    await ui.waitForToast("Saved budget “all tokens”");
    await ui.row("all tokens").getByText("API key search app").waitFor();
    await ui.field("Search budgets").fill("tokens");
    await ui.row("each team").waitFor({ state: "detached" });
    await ui.field("Select all tokens").check();
    await ui.button("Delete").click();
    await ui.dialog().getByRole("button", { name: "Delete 1" }).click();
    await page.getByText("No budgets match “tokens”.").waitFor();
    const { count } = (await gatehouse.api("GET", path)).body;
    expect(count).toBe(1);
    await leaveGateway(context(), gateway);
  });
}
