// The picker of providers and “Test connection” in the form of an upstream.
import { expect, test } from "bun:test";
import type { GetSetupContext } from "./setup.ts";

export function testProviderSetup(context: GetSetupContext): void {
  test("the picker has the providers of the Admin API in groups, and a choice fills in the target", async () => {
    const { ui, gatehouse, gateway } = context();
    const { page } = ui;
    await page.goto(`/console/gateways/${gateway}/upstreams/new`);
    const picker = page.getByRole("group", { name: "Choose a provider" });
    await picker.waitFor();
    await ui.expectAccessible();
    const { providers } = (await gatehouse.api("GET", "/providers")).body;
    const titles = providers.map(({ title }: { title: string }) => title);
    expect((await picker.locator(".provider-tile span").allInnerTexts()).toSorted()).toEqual(
      [...titles, "Any other server"].toSorted(),
    );
    const clouds = picker.getByRole("group", { name: "Clouds" });
    expect(await clouds.locator(".provider-tile span").allInnerTexts()).toEqual([
      "Azure OpenAI",
      "Amazon Bedrock",
    ]);

    // By keyboard: the focus moves to the address, which every customer of this cloud has another one of.
    await clouds.getByRole("button", { name: "Amazon Bedrock" }).focus();
    await page.keyboard.press("Enter");
    await picker.waitFor({ state: "detached" });
    await page.locator("#field-targets-0-base_url:focus").waitFor();
    expect(await ui.field("Base URL").getAttribute("placeholder")).toContain("bedrock-runtime");
    expect(await ui.field("Provider").inputValue()).toBe("bedrock");
    await ui.field("Secret access key").waitFor();

    await ui.button("Choose another provider").click();
    await page.locator(".provider-tile:focus").getByText("Amazon Bedrock").waitFor();
    await picker.getByRole("button", { name: "Azure OpenAI" }).click();
    expect(await ui.field("Credential header").inputValue()).toBe("api-key");
    await ui.button("Choose another provider").click();
    await picker.getByRole("button", { name: "Anthropic" }).click();
    expect(await ui.field("Credential header").inputValue()).toBe("x-api-key");
    expect(await ui.field("Base URL").getAttribute("placeholder")).toBe("https://api.anthropic.com");
    await ui.button("Choose another provider").click();
    await picker.getByRole("button", { name: "Ollama" }).click();
    expect(await ui.field("Base URL").inputValue()).toBe("http://localhost:11434");
    await ui.button("Add credential").waitFor();
    await ui.expectAccessible();
  });

  test("Test connection shows the result of each check beside the button", async () => {
    const { ui, healthy, failing } = context();
    const { page } = ui;
    const result = page.locator(".test-result");
    await ui.button("Choose another provider").click();
    await page.getByRole("button", { name: "Azure OpenAI" }).click();
    await ui.field("Credential", page).first().fill("a-key-0123456789");
    await ui.button("Test connection").click();
    await result.getByText(/^Not tested: .*base_url/).waitFor();
    await ui.field("Base URL").fill(failing.url);
    await ui.button("Test connection").click();
    await result.getByText("The connection does not work").waitFor();
    await result.getByText("Response failed.", { exact: true }).waitFor();
    await ui.expectAccessible();
    await ui.field("Provider").fill("my-models");
    await result.getByText("The target was changed after this test.").waitFor();
    await ui.field("Base URL").fill(healthy.url);
    await ui.button("Test connection").click();
    await result.getByText("The connection works").waitFor();
    await result.getByText("Address passed.").waitFor();
    await result.getByText("Credential not checked: the server sends").waitFor();
    await ui.expectAccessible();
  });

  test("a stored target is tested with its stored credential, which the form shows masked", async () => {
    const { ui, healthy } = context();
    const { page } = ui;
    await ui.field("Name").fill("models");
    await ui.button("Create upstream").click();
    await ui.waitForToast("Saved upstream “models”");
    await ui.link("models").click();
    expect(await ui.field("Credential", page).first().inputValue()).toContain("***");
    healthy.reset();
    await ui.button("Test connection").click();
    await page.locator(".test-result").getByText("The connection works").waitFor();
    expect(healthy.requests[0]?.header("api-key")).toBe("a-key-0123456789");
    healthy.behave({ text: "Hello from the fake provider, word by word.", chunkDelayMs: 5 });
  });
}
