// Sign-in, and the setup page that creates the first route.
import { expect, test } from "bun:test";
import type { GetContext } from "../test-context.ts";

export function testFirstRun(context: GetContext): void {
  test("rejects a wrong token and accepts a valid one", async () => {
    const { ui } = context();
    await ui.expectAccessible();
    // By keyboard only: the field gets the focus when the page opens.
    await ui.page.locator("input:focus").waitFor();
    await ui.page.keyboard.type("not.a.token");
    await ui.page.keyboard.press("Enter");
    await ui.page.getByText("does not accept this token").waitFor();
    await ui.expectAccessible();
    await ui.signIn();
    await ui.heading("Create your first route").waitFor();
  });

  test("creates the first route and streams a response in the playground", async () => {
    const { ui, gatehouse, healthy } = context();
    const { page } = ui;
    await page.getByText("npm run fake-provider").waitFor();
    await ui.expectAccessible();
    await page.getByText("Use another address").click();
    await ui.field("Base URL").fill("nonsense");
    await ui.button("Create route").click();
    // The gateway was created and the upstream was rejected. A retry continues with the upstream.
    await page.locator("#field-baseUrl-error").getByText("must be an absolute URL").waitFor();
    await ui.expectAccessible();
    await ui.field("Base URL").fill(healthy.url);
    await ui.button("Create route").click();
    await ui.heading("First route created").waitFor();
    const { gateways } = (await gatehouse.api("GET", "/gateways")).body;
    expect(gateways).toMatchObject([{ error_format: "auto" }]);
    const { rules } = (await gatehouse.api("GET", `/gateways/${gateways[0].id}/rules`)).body;
    expect(rules).toMatchObject([{ path: "/v1/*", methods: ["*"] }]);
    await page.getByLabel("API key", { exact: true }).getByText(/^gw_/).waitFor();
    await ui.expectAccessible();
    await ui.link("Try it in the playground").click();
    await ui.heading("Playground").waitFor();
    expect(await ui.field("Path").inputValue()).toBe("/v1/chat/completions");
    await ui.button("Send").click();
    await page.locator(".chat-response").getByText("Hello from the fake provider, word by word.").waitFor();
    await page.locator(".chat-response").getByText("Done", { exact: true }).waitFor();
    await page.locator(".stats").getByText("fake", { exact: true }).waitFor();
    await ui.expectAccessible();
    await ui.field("Client").selectOption("OpenAI SDK, Python");
    await page.getByLabel("Code for OpenAI SDK, Python").getByText("from openai import OpenAI").waitFor();
  });
}
