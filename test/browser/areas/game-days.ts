// Game days: a list with states, and the button that stops one.
import { expect, test } from "bun:test";
import { leaveGateway, openPage, type GetContext } from "../test-context.ts";

export function testGameDays(context: GetContext): void {
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
