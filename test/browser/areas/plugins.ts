// Plugin settings as a generated form and as JSON, and rate limit blocks.
import { expect, test } from "bun:test";
import { firstGatewayId, sendChatAs, type GetContext } from "../test-context.ts";

/** A custom plugin with a setting of each kind. */
export const GREETER = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "greeter",
    description: "Adds a greeting header.",
    stages: ["pre_request", "post_request"],
    settings: z.strictObject({
      greeting: z.string().min(3, "must be at least three letters").meta({ description: "The greeting text." }),
      loud: z.boolean().default(false),
      times: z.int().min(1).max(9).default(1),
      tone: z.enum(["plain", "warm"]).default("plain"),
      names: z.array(z.string()).default([]),
      headers: z.record(z.string(), z.string()).default({}),
      nested: z.strictObject({ depth: z.int() }).optional(),
    }),
    create: () => ({ pre_request() {} }),
  });`;

export function testPlugins(context: GetContext): void {
  test("configures a custom plugin by its generated form and as JSON", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    // An earlier area may have selected another gateway.
    await page.goto(`/console/gateways/${await firstGatewayId(context())}/plugins`);
    await ui.heading("Plugins").waitFor();
    await ui.expectAccessible();
    await ui.link("Add greeter").click();
    await ui.heading("Add greeter").waitFor();
    await ui.field("Greeting").fill("hi");
    await ui.field("Times").fill("3");
    await ui.field("Tone").selectOption({ label: "warm" });
    await page.getByLabel("Nested").check();
    await ui.field("Depth").fill("2");
    await ui.button("Add to names").click();
    await ui.field("Names 1").fill("Ann");
    await ui.expectAccessible();
    await ui.button("Add greeter").click();
    await page
      .locator("#field-settings-greeting-error")
      .getByText("must be at least three letters")
      .waitFor();
    await ui.field("Greeting").fill("hello");
    await ui.button("JSON").click();
    const json = page.getByLabel("Settings (JSON)");
    expect(JSON.parse(await json.inputValue())).toEqual({
      greeting: "hello",
      times: 3,
      tone: "warm",
      nested: { depth: 2 },
      names: ["Ann"],
    });
    await json.fill('{"greeting": "good morning", "loud": true}');
    await ui.expectAccessible();
    await ui.button("Form").click();
    expect(await ui.field("Greeting").inputValue()).toBe("good morning");
    expect(await page.getByLabel("Loud").isChecked()).toBe(true);
    await ui.button("Add greeter").click();
    await ui.waitForToast("Saved greeter");
    const gateway = (await gatehouse.api("GET", `/gateways/${await firstGatewayId(context())}`)).body;
    expect(gateway.required_plugins).toMatchObject([
      { name: "greeter", settings: { greeting: "good morning", loud: true } },
    ]);
    await ui.button("Remove greeter").click();
    await ui.dialog().getByRole("button", { name: "Remove" }).click();
    await ui.waitForToast("Removed greeter");
  });

  test("selects patterns and roles of code_sanitation, and shows where code was found", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await ui.visit("Plugins");
    await ui.link("Add code_sanitation").click();
    await ui.button("Add to languages").click();
    await ui.field("Language").selectOption({ label: "sql" });
    await ui.field("Sensitivity").selectOption({ label: "relaxed" });
    await ui.button("Add to exclude").click();
    await ui.field("Exclude 1").fill("sql.unionselect");
    await page.getByLabel("Body", { exact: true }).check();
    await page.getByLabel("Tool", { exact: true }).check();
    await ui.field("Action").selectOption({ label: "block" });
    await ui.expectAccessible();
    await ui.button("Add code_sanitation").click();
    await page
      .locator("#field-settings-languages-0-exclude-0--error")
      .getByText('did you mean "sql.union-select"?')
      .waitFor();
    await ui.field("Exclude 1").fill("sql.union-select");
    // Roles that are all unset mean every role, not none.
    await page.getByLabel("Tool", { exact: true }).uncheck();
    await ui.button("Add code_sanitation").click();
    await ui.waitForToast("Saved code_sanitation");
    const gateway = await firstGatewayId(context());
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}`);
    expect(body.required_plugins[0].settings).toMatchObject({
      languages: [{ language: "sql", sensitivity: "relaxed", exclude: ["sql.union-select"] }],
    });
    expect(body.required_plugins[0].settings.roles).toBeUndefined();
    const response = await fetch(`${gatehouse.proxyUrl}/pair/chat`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ messages: [{ role: "tool", content: "x'; DROP TABLE users; --" }] }),
    });
    expect(response.status).toBe(400);
    await ui.visit("Request log");
    await ui.row("400").first().getByRole("button").click();
    await ui
      .dialog()
      .getByText(/found sql\.[a-z-]+ in messages\[0\]\.content \d+-\d+ \(tool\)/)
      .waitFor();
    await page.keyboard.press("Escape");
    await ui.visit("Plugins");
    await ui.button("Remove code_sanitation").click();
    await ui.dialog().getByRole("button", { name: "Remove" }).click();
    await ui.waitForToast("Removed code_sanitation");
  });

  test("limits requests by user and by label, lists a block, and removes it", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await ui.visit("Plugins");
    await ui.link("Add rate_limiter").click();
    await page.getByLabel("Per user").check();
    await ui.field("Limit", page.getByRole("group", { name: "Per user" })).fill("1");
    await ui.field("Window", page.getByRole("group", { name: "Per user" })).fill("1h");
    await ui.field("Type").selectOption({ label: "block" });
    await ui.field("Label").fill("Team");
    await page.keyboard.press("Enter");
    const label = page.getByRole("group", { name: "Label Team" });
    await ui.field("Limit", label).fill("5");
    await ui.field("Window", label).fill("1h");
    await ui.button("Add rate_limiter").click();
    // The name of a label has no capital letters.
    await label.getByText("is not known; give global").waitFor();
    await ui.button("Remove per_label:Team").click();
    await ui.field("Label").fill("team");
    await ui.button("Add label").click();
    const team = page.getByRole("group", { name: "Label team" });
    await ui.field("Limit", team).fill("5");
    await ui.field("Window", team).fill("1h");
    await ui.expectAccessible();
    await ui.button("Add rate_limiter").click();
    await ui.waitForToast("Saved rate_limiter");
    const { body } = await gatehouse.api("GET", `/gateways/${await firstGatewayId(context())}`);
    expect(body.required_plugins[0].settings.limits).toEqual({
      per_user: { limit: 1, window: "1h" },
      "per_label:team": { limit: 5, window: "1h" },
    });
    expect(await sendChatAs("ann", context())).toBe(200);
    expect(await sendChatAs("ann", context())).toBe(403);
    await ui.visit("Blocks");
    await ui.row("ann").waitFor();
    await ui.expectAccessible();
    await ui.button(/^Unblock .*ann/).click();
    await ui.dialog().getByRole("button", { name: "Unblock" }).click();
    await ui.waitForToast("Removed the block");
    await page.getByText("No blocks").waitFor();
    await ui.expectAccessible();
    expect(await sendChatAs("ann", context())).toBe(200);
    await ui.visit("Plugins");
    await ui.button("Remove rate_limiter").click();
    await ui.dialog().getByRole("button", { name: "Remove" }).click();
    await ui.waitForToast("Removed rate_limiter");
  });
}
