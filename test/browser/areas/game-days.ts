// Game days: a list with states, and the button that stops one.
import { expect, test } from "bun:test";
import { leaveGateway, openPage, type GetContext } from "../test-context.ts";

export function testGameDays(context: GetContext): void {
  test("a game day is created with all of its fields, edited, and copied", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const { id: gateway } = (await gatehouse.api("POST", "/gateways", { name: "forms" })).body;
    const path = `/gateways/${gateway}/game-days`;
    const upstream = { name: "models", targets: [{ provider: "openai" }, { provider: "mistral" }] };
    const { targets } = (await gatehouse.api("POST", `/gateways/${gateway}/upstreams`, upstream)).body;
    const key = { name: "drill key", subject: gateway };
    const { id: keyId } = (await gatehouse.api("POST", "/iam/api-keys", key)).body;
    await openPage(context(), path, "Game days");
    await page.getByRole("link", { name: "New game day" }).first().click();
    await ui.heading("New game day").waitFor();
    await ui.field("Name").fill("slow and failing");
    await page.getByText("Rules, API keys, labels, models").click();
    await page.getByLabel("drill key", { exact: true }).check();
    await ui.field("Models").fill("gpt-*");
    await ui.button("Add label").click();
    await page.getByLabel("Label 1").fill("team");
    await page.getByRole("group", { name: "Labels" }).getByLabel("Value 1").fill("search");
    const affected = page.getByRole("group", { name: "Affected requests" });
    await ui.field("Share", affected).fill("29");
    await ui.field("Maximum", affected).fill("7");
    const first = page.getByRole("group", { name: "Fault 1" });
    await ui.field("Type", first).selectOption({ label: "status: An error response" });
    await ui.field("Status", first).fill("429");
    await ui.field("Retry-After", first).fill("9");
    await first.getByLabel("models: mistral").check();
    await ui.button("Add fault").click();
    const second = page.getByRole("group", { name: "Fault 2" });
    await ui.field("Type", second).selectOption({ label: "slow: A pause before each event" });
    await ui.field("Duration", second).fill("many");
    await ui.field("First attempts", second).fill("2");
    await ui.field("Failover", page.getByRole("group", { name: "Expected" })).fill("50");
    await ui.expectAccessible();
    await ui.button("Create game day").click();
    await page.locator("#field-faults-1-ms-error").waitFor();
    await ui.field("Duration", second).fill("250");
    await ui.button("Move fault 2 up").click();
    await ui.button("Create game day").click();
    await ui.waitForToast("Saved game day “slow and failing”");
    const stored = async () => (await gatehouse.api("GET", path)).body.game_days;
    expect(await stored()).toMatchObject([
      {
        match: {
          keys: [keyId],
          labels: { team: "search" },
          models: ["gpt-*"],
          headers: { "x-game-day": "*" },
          share: 0.29,
        },
        max_requests: 7,
        faults: [
          { type: "slow", ms: 250, attempts: 2, target_ids: [] },
          { type: "status", status: 429, retry_after: 9, target_ids: [targets[1].id], ms: null },
        ],
        abort_if: { requests: "others", error_ratio: 0.05 },
        expect: { success_ratio: 0.99, failover_ratio: 0.5 },
      },
    ]);
    await page.getByRole("link", { name: "slow and failing", exact: true }).click();
    await page.getByLabel("Stop by itself").uncheck();
    await ui.button("Save").click();
    await ui.waitForToast("Saved game day");
    const [{ match, faults, abort_if }] = await stored();
    expect(abort_if).toBeNull();
    await ui.button("Stop slow and failing").click();
    await ui.button("Stop").last().click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    // A gateway has at most one game day that is active.
    await page.getByRole("link", { name: "Duplicate slow and failing" }).click();
    await ui.button("Create game day").click();
    await ui.row("slow and failing copy").getByText("Running").waitFor();
    const copy = (await stored()).find((each: { name: string }) => each.name === "slow and failing copy");
    expect(copy).toMatchObject({ match, faults, abort_if, starts_at: copy.created_at });
    await leaveGateway(context(), gateway as string);
  });

  test("a game day is listed with its state, and stopped", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const { id: gateway } = (await gatehouse.api("POST", "/gateways", { name: "drills" })).body;
    const path = `/gateways/${gateway}/game-days`;
    await openPage(context(), path, "Game days");
    await page.getByText("gatehouse game-day run FILE").waitFor();
    const created = await gatehouse.api("POST", path, {
      name: "refused connections",
      ends_at: new Date(Date.now() + 600_000).toISOString(),
      faults: [{ type: "refuse" }, { type: "slow", ms: 50 }],
    });
    expect(created.status).toBe(201);
    await page.getByText("refuse, slow").waitFor();
    await page.getByText("Running", { exact: true }).waitFor();
    await ui.expectAccessible();
    await ui.button("Stop refused connections").click();
    await ui.button("Stop").last().click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    await page.getByText("min_requests").waitFor();
    expect((await gatehouse.api("GET", path)).body.game_days).toMatchObject([{ enabled: false }]);
    await leaveGateway(context(), gateway as string);
  });
}
