// Prices: of a gateway, of the installation, and built-in ones; which is in effect and why; models without a price.
import { expect, test } from "bun:test";
import { leaveGateway, openPage, type GetContext } from "../test-context.ts";

type Context = ReturnType<GetContext>;

/** Creates a gateway that has sent one request to a model without a price. */
async function seed({ gatehouse, healthy }: Context): Promise<string> {
  const create = async (path: string, body: unknown) => (await gatehouse.api("POST", path, body)).body.id;
  const prices = [
    { model: "lab-*", input: "1", output: "2" },
    { model: "lab-small", input: "0.5" },
  ];
  const gateway = await create("/gateways", { name: "priced", prices, require_api_key: false });
  const targets = [{ provider: "good", base_url: healthy.url, models: ["unknown-1"] }];
  const upstream_id = await create(`/gateways/${gateway}/upstreams`, { name: "only", targets });
  const service_id = await create(`/gateways/${gateway}/services`, { name: "only", upstream_id });
  await create(`/gateways/${gateway}/rules`, { service_id, path: "/priced/chat", methods: ["POST"] });
  const response = await fetch(`${gatehouse.proxyUrl}/priced/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: "unknown-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return gateway;
}

export function testPrices(context: GetContext): void {
  test("prices of a gateway are added, edited, and deleted; the page says which is in effect and why", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await gatehouse.api("DELETE", "/prices");
    const gateway = await seed(context());
    const stored = async () => (await gatehouse.api("GET", `/gateways/${gateway}`)).body.prices;
    await openPage(context(), `/gateways/${gateway}/prices`, "Prices");
    const unpriced = page.getByRole("table", { name: "Models without a price" });
    await unpriced.getByText("unknown-1").waitFor();
    await page.getByText(/Built-in prices were collected on \d{4}-\d\d-\d\d from/).waitFor();
    await ui.row("lab-small").getByText("Never used: lab-* comes before it").waitFor();
    await ui.expectAccessible();

    await page.getByLabel("Model", { exact: true }).fill("unknown-1");
    await page.getByText("No price matches").waitFor();
    await ui.link("Add price of unknown-1").click();
    expect(await ui.field("Model").inputValue()).toBe("unknown-1");
    await ui.field("Input").fill("much");
    await ui.button("Create price").click();
    await page.locator("#field-input-error").getByText("must be a decimal such as").waitFor();
    await ui.field("Input").fill("0.25");
    await ui.field("Output").fill("2");
    await ui.field("Cache write, 1 h").fill("3");
    await ui.field("More tokens than").fill("200000");
    await ui.field("Input, large").fill("5");
    await ui.field("Reasoning, large").fill("6.5");
    await ui.field("Context window").fill("400000");
    await ui.expectAccessible();
    await ui.button("Create price").click();
    await ui.waitForToast("Saved the price of “unknown-1”");
    expect((await stored())[2]).toEqual({
      ...{ model: "unknown-1", input: "0.25", output: "2", cache_write_1h: "3", context_window: 400_000 },
      above: { tokens: 200_000, input: "5", reasoning: "6.5" },
    });
    await ui.row("unknown-1").getByText("above 200,000 tokens: input $5.00").waitFor();
    expect(await unpriced.count()).toBe(0);

    await ui.field("Search prices").fill("gpt-4.1-mini-2025");
    await ui.row("gpt-4.1-mini*").waitFor();
    await ui.row("unknown-1").waitFor({ state: "detached" });
    await ui.link("Override gpt-4.1-mini*").click();
    await ui.field("Model").fill("gpt-4.1-mini-2025");
    await ui.field("Input").fill("0.01");
    await ui.button("Create price").click();
    await ui.waitForToast("Saved the price of “gpt-4.1-mini-2025”");
    await page.getByLabel("Model", { exact: true }).fill("gpt-4.1-mini-2025");
    await page.getByText("From gpt-4.1-mini-2025, of this gateway: the first match of this list.").waitFor();
    await page.getByText("Not used: gpt-4.1-mini*, built into the gateway").waitFor();
    await page.getByLabel("Model", { exact: true }).fill("gpt-4.1-mini");
    await page.getByText("No price of this gateway or of the installation matches.").waitFor();

    await ui.button("Delete lab-*").click();
    await ui.dialog().getByRole("button", { name: "Delete" }).click();
    await ui.waitForToast("Deleted the price of “lab-*”");
    await ui.link("Edit lab-small").click();
    await ui.heading("Price of lab-small").waitFor();
    await ui.field("Model").fill("unknown-1");
    await ui.button("Save").click();
    await page.locator("#field-model-error").getByText("is given twice").waitFor();
    await ui.field("Model").fill("lab*");
    await ui.field("Input").fill("");
    await ui.field("Per request", page).first().fill("0.01");
    await ui.button("Save").click();
    await ui.waitForToast("Saved the price of “lab*”");
    expect((await stored())[0]).toEqual({ model: "lab*", per_request: "0.01" });
    await leaveGateway(context(), gateway);
  });

  test("prices of the installation apply to all gateways", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await openPage(context(), "/prices", "Prices of the installation");
    await ui.link("New price").click();
    await ui.field("Model").fill("fake*");
    await ui.field("Input").fill("1000");
    await ui.button("Create price").click();
    await ui.waitForToast("Saved the price of “fake*”");
    const { prices, builtin } = (await gatehouse.api("GET", "/prices")).body;
    expect({ prices, builtin }).toEqual({ prices: [{ model: "fake*", input: "1000" }], builtin: false });
    await ui.row("fake*").getByText("Installation", { exact: true }).waitFor();
    await ui.expectAccessible();
    await ui.button("Delete fake*").click();
    await ui.dialog().getByRole("button", { name: "Delete" }).click();
    await ui.row("fake*").waitFor({ state: "detached" });
    expect((await gatehouse.api("GET", "/prices")).body.builtin).toBe(true);
    await page.getByText("The installation's were changed").waitFor({ state: "detached" });
  });
}
