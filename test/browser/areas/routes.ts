// The routes of a gateway as one picture.
import { expect, test } from "bun:test";
import { waitFor } from "../../support/waiting.ts";
import type { GetSetupContext } from "./setup.ts";

export function testRoutes(context: GetSetupContext): void {
  let gateway = "";

  test("the picture shows rules, services, upstreams, targets and virtual models with live traffic and health", async () => {
    const { ui, gatehouse, healthy, failing } = context();
    const { page } = ui;
    const target = (base_url: string, provider: string, priority: number) => ({
      provider,
      base_url,
      priority,
    });
    const targets = [target(failing.url, "broken", 1), target(healthy.url, "good", 2)];
    const document = {
      gateways: [
        {
          name: "pictured",
          require_api_key: false,
          upstreams: [{ name: "models", targets, health_checks: { threshold: 1000 } }],
          services: [{ name: "chat", upstream: "models" }],
          models: [{ name: "assistant", targets: [{ upstream: "models", model: "m" }] }],
          rules: [
            { name: "live", path: "/live/chat", methods: ["POST"], service: "chat" },
            { name: "idle", path: "/idle/chat", methods: ["POST"], service: "chat", active: false },
          ],
        },
      ],
    };
    expect((await gatehouse.api("POST", "/apply", document)).status).toBe(200);
    gateway = (await gatehouse.api("GET", "/gateways?name=pictured")).body.gateways[0].id;
    await page.goto(`/console/gateways/${gateway}/routes`);
    await ui.heading("Routes").waitFor();
    await page.getByText("2 rules. Traffic of the last 10 seconds.").waitFor();
    for (const name of [
      /^Rule \/live\/chat, live · POST/,
      /^Rule \/idle\/chat, idle · inactive/,
      /^Service chat/,
      /^Upstream models/,
    ])
      await page.getByRole("button", { name }).first().waitFor();
    const send = () =>
      fetch(`${gatehouse.proxyUrl}/live/chat`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ model: "assistant", messages: [{ role: "user", content: "Hello" }] }),
      }).then((response) => response.text());
    const expected = [
      /^Target broken.*Failing.*requests per second, 100% errors$/,
      /^Target good.*Healthy.*[\d.]+ requests per second$/,
      /^Service chat, [\d.]+ requests per second$/,
      /^Virtual model assistant, weighted, [\d.]+ requests per second$/,
    ];
    // Few requests: more retries than the retry budget allows would fail.
    await Promise.all([send(), send(), send()]);
    await waitFor(async () => {
      const counts = expected.map((name) => page.getByRole("button", { name }).count());
      return (await Promise.all(counts)).every((count) => count > 0) ? true : null;
    });
    if (!ui.isPhone) {
      expect(await page.locator(".route-canvas path").count()).toBe(7);
      expect(await page.locator(".route-canvas path.failing").count()).toBe(2);
      expect(await page.locator(".route-canvas path.off").count()).toBe(1);
    }
    await ui.expectAccessible();
  });

  test("a record is edited in place, by keyboard, and a change of another operator is a conflict", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const service = page.getByRole("button", { name: /^Service chat/ }).first();
    await service.focus();
    await page.keyboard.press("Enter");
    const drawer = ui.dialog();
    await ui.field("Name", drawer).fill("conversations");
    await ui.expectAccessible();
    // Escape asks before the input is lost.
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").getByText("Discard unsaved changes?").waitFor();
    await page.getByRole("button", { name: "Cancel" }).last().click();
    expect(await ui.field("Name", drawer.first()).inputValue()).toBe("conversations");
    const { services } = (await gatehouse.api("GET", `/gateways/${gateway}/services`)).body;
    await gatehouse.api("PATCH", `/gateways/${gateway}/services/${services[0].id}`, {
      description: "by another",
    });
    await drawer.getByRole("button", { name: "Save", exact: true }).click();
    await drawer.getByText("by another").first().waitFor();
    await drawer.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Discard" }).click();
    await drawer.waitFor({ state: "detached" });
    expect(await page.locator(".route-node:focus").getAttribute("aria-label")).toStartWith("Service chat");
    await page.keyboard.press("Enter");
    await ui.field("Name", drawer).fill("conversations");
    await drawer.getByRole("button", { name: "Save", exact: true }).click();
    await drawer.waitFor({ state: "detached" });
    await ui.heading("Routes").waitFor();
    await page
      .getByRole("button", { name: /^Service conversations/ })
      .first()
      .waitFor();
  });

  test("a target opens the form of its upstream, and a virtual model its own", async () => {
    const { ui } = context();
    const { page } = ui;
    await page
      .getByRole("button", { name: /^Target good/ })
      .first()
      .click();
    await ui.dialog().getByText("Upstream of good").waitFor();
    await ui.field("Base URL", ui.dialog()).first().waitFor();
    await ui.expectAccessible();
    await ui.dialog().getByRole("button", { name: "Cancel" }).click();
    await ui.dialog().waitFor({ state: "detached" });
    await page
      .getByRole("button", { name: /^Virtual model assistant/ })
      .first()
      .click();
    await ui.field("Strategy", ui.dialog()).selectOption({ label: "lowest-cost: lowest price" });
    await ui.dialog().getByRole("button", { name: "Save", exact: true }).click();
    await page
      .getByRole("button", { name: /^Virtual model assistant, lowest-cost/ })
      .first()
      .waitFor();
  });

  test("with 43 rules, the first ones are shown, and a search finds the others", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const base = `/gateways/${gateway}`;
    const [service] = (await gatehouse.api("GET", `${base}/services`)).body.services;
    await Promise.all(
      Array.from({ length: 41 }, (_, index) =>
        gatehouse.api("POST", `${base}/rules`, {
          name: `rule ${index}`,
          path: `/many/${index}/${"x".repeat(60)}`,
          methods: ["POST"],
          service_id: service.id,
        }),
      ),
    );
    await page.reload();
    await page.getByText("The first 40 of 43 rules. Search to find the others.").waitFor();
    await page.getByRole("searchbox", { name: "Search" }).fill("/many/40/");
    await page.getByText("1 of 43 rules.").waitFor();
    expect(await page.getByRole("button", { name: /^Rule / }).count()).toBe(1);
    await ui.expectAccessible();
    await page.getByRole("searchbox", { name: "Search" }).fill("nothing like this");
    await page.getByText("No matching rule").waitFor();
    await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`);
  });
}
