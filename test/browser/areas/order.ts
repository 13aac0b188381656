// Order of plugins, rules, and targets: by dragging, and with buttons for the keyboard; and the switch of a plugin.
import { expect, test } from "bun:test";
import type { Route } from "playwright-core";
import type { GatehouseProcess } from "../../support/gatehouse-process.ts";
import type { SeededRoute } from "../../support/proxy-fixtures.ts";
import type { ConsoleSession } from "../console-session.ts";

interface OrderContext {
  readonly ui: ConsoleSession;
  readonly gatehouse: GatehouseProcess;
  readonly route: SeededRoute;
}

const LIMITER = { name: "rate_limiter", settings: { limits: { global: { limit: 100, window: "1m" } } } };
const SANITATION = {
  name: "code_sanitation",
  settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
};

export function testOrder(context: () => OrderContext): void {
  const plugins = async () => {
    const { gatehouse, route } = context();
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
    const list: { name: string; priority: number; enabled: boolean }[] = body.required_plugins;
    return list.map(({ name, priority, enabled }) => [priority, name, enabled]);
  };

  test("plugins are moved by keyboard and by dragging, and switched off in place", async () => {
    const { ui, gatehouse, route } = context();
    const { page } = ui;
    const required_plugins = [
      { ...LIMITER, stage: "pre_request", priority: 10 },
      { ...SANITATION, stage: "pre_request", priority: 20 },
    ];
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { required_plugins });
    await page.goto(`/console/gateways/${route.gateway}/plugins`);
    const up = page.getByRole("button", { name: "Move code_sanitation up" });
    await up.focus();
    await page.keyboard.press("Enter");
    await ui.waitForToast("Moved code_sanitation to position 1 of 2.");
    expect(await plugins()).toEqual([
      [10, "code_sanitation", true],
      [20, "rate_limiter", true],
    ]);
    // The focus stays at the moved plugin, which cannot move further up.
    await page.locator('button[aria-label="Move code_sanitation down"]:focus').waitFor();
    await ui.expectAccessible();

    await page
      .locator("tr", { hasText: "rate_limiter" })
      .locator(".drag-handle")
      .dragTo(page.locator("tr", { hasText: "code_sanitation" }));
    await ui.waitForToast("Moved rate_limiter to position 1 of 2.");
    expect(await plugins()).toEqual([
      [10, "rate_limiter", true],
      [20, "code_sanitation", true],
    ]);

    await page.getByRole("switch", { name: "rate_limiter is enabled" }).click();
    await page.getByRole("switch", { name: "rate_limiter is enabled", checked: false }).waitFor();
    expect((await plugins())[0]).toEqual([10, "rate_limiter", false]);
  });

  test("rules are moved by keyboard and by dragging, but not over a change that the list does not show", async () => {
    const { ui, gatehouse, route } = context();
    const { page } = ui;
    const rules = `/gateways/${route.gateway}/rules`;
    const stored = async (): Promise<string[]> =>
      (await gatehouse.api("GET", `${rules}?search=rule%201&sort=priority`)).body.rules.map(
        ({ path }: { path: string }) => path,
      );
    await page.goto(`/console${rules}?search=rule%201`);
    await ui.button("Change order").click();
    await page.locator(".drag-handle").first().waitFor();
    const [first = "", second = "", third = "", ...others] = await stored();
    await page.getByRole("button", { name: `Move ${third} up` }).focus();
    await page.keyboard.press("Enter");
    await ui.waitForToast(`Moved ${third} before ${second}.`);
    // The focus stays at the moved rule, also when the list is loaded again.
    await page.locator(`button[aria-label="Move ${third} up"]:focus`).waitFor();
    await page.keyboard.press("Enter");
    await ui.waitForToast(`Moved ${third} before ${first}.`);
    expect(await stored()).toEqual([third, first, second, ...others]);
    await ui.expectAccessible();
    await ui.row(third).locator(".drag-handle").dragTo(ui.row(second));
    await ui.waitForToast(`Moved ${third} after ${second}.`);
    expect(await stored()).toEqual([first, second, third, ...others]);

    const { id } = (await gatehouse.api("GET", `${rules}?search=${encodeURIComponent(second)}`)).body
      .rules[0];
    // Another operator changes the rule between the click and the request of the console.
    const change = async (request: Route) => {
      await gatehouse.api("PATCH", `${rules}/${id}`, { active: false });
      await request.continue();
    };
    await page.route(`**${rules}/${id}`, change, { times: 1 });
    await page.getByRole("button", { name: `Move ${second} up` }).click();
    await ui.waitForToast(`“${second}” was changed meanwhile. The list shows its current state.`);
    expect(await stored()).toEqual([first, second, third, ...others]);
  });

  test("targets of an upstream are moved, and their priorities follow the order", async () => {
    const { ui, gatehouse, route } = context();
    const { page } = ui;
    const path = `/gateways/${route.gateway}/upstreams/${route.upstream}`;
    const targets = [
      { provider: "openai", priority: 1 },
      { provider: "anthropic", priority: 2 },
      { provider: "mistral", priority: 3 },
    ];
    await gatehouse.api("PATCH", path, { targets });
    await page.goto(`/console${path}`);
    const target = (name: string) => page.getByRole("group", { name: new RegExp(`^Target \\d · ${name}`) });
    await target("mistral").getByRole("button", { name: "Move target 3 up" }).focus();
    await page.keyboard.press("Enter");
    await page.locator('button[aria-label="Move target 2 up"]:focus').waitFor();
    // Both targets have to be in view.
    await page.setViewportSize({ ...ui.screen, height: 2800 });
    await target("anthropic").locator(".drag-handle").dragTo(target("openai").locator(".drag-handle"));
    await ui.expectAccessible();
    await page.setViewportSize(ui.screen);
    await ui.button("Save").click();
    await ui.waitForToast("Saved upstream");
    const stored: { provider: string; priority: number }[] = (await gatehouse.api("GET", path)).body.targets;
    expect(stored.map(({ provider, priority }) => [provider, priority])).toEqual([
      ["anthropic", 1],
      ["openai", 2],
      ["mistral", 3],
    ]);
  });
}
