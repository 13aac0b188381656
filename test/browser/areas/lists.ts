// Lists of records: search, sort, pages, column choice, actions on several records, toggles, and copies. On its own gateway
// process, because it needs many records.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { create } from "../../support/admin-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../../support/gatehouse-process.ts";
import { seedRoute, type SeededRoute } from "../../support/proxy-fixtures.ts";
import { openConsole, type ConsoleSession } from "../console-session.ts";
import { testOrder } from "./order.ts";
import { testPalette } from "./palette.ts";

const DESKTOP = { name: "desktop", width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const RULES = 60;

const numbered = (index: number) => String(index).padStart(2, "0");

export function testLists(browser: () => Browser): void {
  let gatehouse: GatehouseProcess;
  let ui: ConsoleSession;
  let route: SeededRoute;

  const api = async (path: string) => (await gatehouse.api("GET", `/gateways/${route.gateway}/${path}`)).body;
  const open = (path: string) => ui.page.goto(`/console/gateways/${route.gateway}/${path}`);
  const search = (what: string) => ui.page.getByRole("searchbox", { name: `Search ${what}` });

  beforeAll(async () => {
    gatehouse = await startGatehouseProcess();
    const credentials = { header_name: "Authorization", header_value: "Bearer sk-test-0123456789abcdef" };
    const targets = [{ provider: "openai", base_url: "http://127.0.0.1:9", credentials }];
    route = await seedRoute(gatehouse, {
      gateway: { name: "acme" },
      upstream: { targets },
      rule: { path: "/v1/chat" },
    });
    const path = `/gateways/${route.gateway}`;
    await Promise.all(
      Array.from({ length: RULES - 1 }, (_, index) =>
        create(gatehouse, `${path}/rules`, {
          path: `/many/${numbered(index)}`,
          name: `rule ${numbered(index)}`,
          methods: ["POST"],
          service_id: route.service,
        }),
      ),
    );
    for (const name of ["alpha", "beta", "gamma"]) {
      await create(gatehouse, `${path}/services`, { name, upstream_id: route.upstream });
      await create(gatehouse, `${path}/upstreams`, { name, targets });
      await create(gatehouse, "/iam/api-keys", { name, subject: route.gateway, labels: { team: name } });
    }
    ui = await openConsole(browser(), gatehouse, DESKTOP);
    await ui.signIn();
    await ui.heading("Overview").waitFor();
  });

  afterAll(async () => {
    await ui.close();
    await gatehouse.stop();
  });

  test("rules are searched, sorted, and paged by the server, and the address keeps it", async () => {
    await open("rules");
    await ui.page.getByText(`1–50 of ${RULES}`).waitFor();
    await ui.page.getByRole("columnheader", { name: "Path" }).getByRole("button").click();
    await ui.row("/many/00").waitFor();
    await ui.button("Next page").click();
    await ui.row("/v1/chat").waitFor();
    await ui.page.reload();
    await ui.row("/v1/chat").waitFor();
    await search("rules").fill("RULE 5");
    await ui.page.getByText("1–9 of 9").waitFor();
    await search("rules").fill("nothing like this");
    await ui.page.getByText("No rules match “nothing like this”.").waitFor();
    await ui.expectAccessible();
  });

  test.each([
    ["services", "services"],
    ["upstreams", "upstreams"],
    ["keys", "API keys"],
  ])("the list of %s is searched and sorted by name, descending too", async (path, what) => {
    await open(`${path}?sort=-name`);
    await ui.row("gamma").waitFor();
    const names = await ui.page.getByRole("rowheader").allInnerTexts();
    expect(names.indexOf("gamma")).toBeLessThan(names.indexOf("alpha"));
    await search(what).fill("bet");
    await ui.page.getByText("1–1 of 1").waitFor();
    await ui.row("beta").waitFor();
  });

  test("hidden columns stay hidden after a reload, and the choice closes on Escape", async () => {
    await open("services");
    const header = ui.page.getByRole("columnheader", { name: "Description" });
    await header.waitFor();
    await ui.page.getByText("Columns", { exact: true }).click();
    const choice = ui.page.getByRole("checkbox", { name: "Description" });
    await choice.uncheck();
    await header.waitFor({ state: "detached" });
    await ui.expectAccessible();
    await ui.page.keyboard.press("Escape");
    await choice.waitFor({ state: "hidden" });
    await ui.page.reload();
    await ui.row("alpha").waitFor();
    expect(await header.count()).toBe(0);
  });

  test("one confirmation deletes several records, names their number, and reports failures by name", async () => {
    // The one that fails is the first, so that the others show that the action continues.
    await open("services?sort=-name");
    for (const name of ["chat", "beta", "alpha"])
      await ui.page.getByRole("checkbox", { name: `Select ${name}` }).check();
    await ui.page.getByText("3 selected").waitFor();
    await ui.button("Delete").click();
    const dialog = ui.dialog();
    await dialog.getByRole("heading", { name: "Delete 3 services?" }).waitFor();
    await dialog.getByRole("button", { name: "Delete 3" }).click();
    await dialog.getByText("2 of 3 are done. 1 failed:").waitFor();
    await dialog
      .getByRole("listitem")
      .filter({ hasText: /^chat: .*is used by/ })
      .waitFor();
    await ui.expectAccessible();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await ui.row("alpha").waitFor({ state: "detached" });
    expect((await api("services")).count).toBe(2);
    expect(await ui.page.getByRole("checkbox", { name: "Select chat" }).isChecked()).toBe(true);
  });

  test("several rules are disabled at once, and a switch enables one in place", async () => {
    await open("rules?search=rule%200");
    await ui.page.getByText("1–10 of 10").waitFor();
    await ui.page.getByRole("checkbox", { name: "Select all rows of this page" }).check();
    await ui.button("Disable").click();
    await ui.dialog().getByRole("button", { name: "Disable 10" }).click();
    await ui.waitForToast("Disabled 10 rules.");
    const stored = async () => (await api("rules?search=rule%200&sort=path")).rules;
    expect((await stored()).every(({ active }: { active: boolean }) => !active)).toBe(true);
    const toggle = ui.page.getByRole("switch", { name: "/many/03 is active", checked: false });
    await toggle.focus();
    await ui.page.keyboard.press("Space");
    await ui.page.locator('[role=switch][aria-checked="true"]').waitFor();
    expect((await stored())[3].active).toBe(true);
    await ui.expectAccessible();
  });

  test("a switch does not overwrite a change that the list does not show", async () => {
    await open("rules?search=rule%2004");
    const toggle = ui.page.getByRole("switch");
    await toggle.waitFor();
    const [rule] = (await api("rules?search=rule%2004")).rules;
    // The list reloads when it hears of a new revision: the click is sent before that.
    await ui.page.route("**/readyz", (request) => request.abort());
    const path = `/gateways/${route.gateway}/rules/${rule.id}`;
    await gatehouse.api("PATCH", path, { name: "rule 04 of others" });
    await toggle.click();
    await ui.waitForToast("“/many/04” was changed meanwhile. The list shows its current state.");
    await ui.row("rule 04 of others").waitFor();
    expect((await gatehouse.api("GET", path)).body.active).toBe(false);
    await ui.page.unroute("**/readyz");
  });

  test("a copy of a record opens as a form with its values and another name", async () => {
    await open("keys");
    await ui.page.getByRole("link", { name: "Duplicate beta" }).click();
    await ui.heading("New API key").waitFor();
    expect(await ui.field("Name").inputValue()).toBe("beta copy");
    await ui.button("Create API key").click();
    await ui.page.getByLabel("API key", { exact: true }).waitFor();
    const { api_keys } = (await gatehouse.api("GET", "/iam/api-keys?search=beta%20copy")).body;
    expect(api_keys[0].labels).toEqual({ team: "beta" });

    await open(`rules/${route.rule}`);
    await ui.link("Duplicate").click();
    await ui.heading("New rule").waitFor();
    await ui.field("Path").fill("/v1/copied");
    expect(await ui.field("Name").inputValue()).toBe("/v1/chat copy");
    await ui.button("Create rule").click();
    await ui.waitForToast("Saved rule “/v1/copied”");
    expect((await api("rules?search=%2Fv1%2Fcopied")).rules[0].service_id).toBe(route.service);

    await open(`upstreams/${route.upstream}`);
    await ui.link("Duplicate").click();
    await ui.heading("New upstream").waitFor();
    await ui.page.getByText("Credentials are not copied. Enter them again.").waitFor();
    expect(await ui.page.locator("form").innerHTML()).not.toContain("***");
    await ui.expectAccessible();
  });

  test("admin tokens are searched, sorted, and revoked together", async () => {
    for (const name of ["tab one", "tab two", "other"])
      await create(gatehouse, "/iam/admin-tokens", { name, role: "viewer" });
    await ui.page.goto("/console/administrators?sort=-name");
    await ui.row("tab two").waitFor();
    const names = await ui.page.getByRole("rowheader").allInnerTexts();
    expect(names.map((name) => name.trim())).toEqual(["tab two", "tab one", "other"]);
    await search("admin tokens").fill("tab");
    await ui.page.getByText("1–2 of 2").waitFor();
    await ui.page.getByRole("checkbox", { name: "Select all rows of this page" }).check();
    await ui.page
      .getByRole("group", { name: "Selected rows" })
      .getByRole("button", { name: "Revoke" })
      .click();
    await ui.dialog().getByRole("button", { name: "Revoke 2" }).click();
    await ui.waitForToast("Revoked 2 admin tokens.");
    await ui.row("tab one").getByText("Revoked").waitFor();
    await ui.expectAccessible();
  });

  test("blocks are searched, sorted, and removed together", async () => {
    const settings = {
      limits: { per_user: { limit: 1, window: "1h" } },
      actions: { type: "block" },
    };
    const required_plugins = [{ name: "rate_limiter", stage: "pre_request", settings }];
    const limited = await seedRoute(gatehouse, {
      gateway: { name: "limited", subdomain: "limited", required_plugins },
      upstream: { targets: [{ provider: "openai", base_url: "http://127.0.0.1:9" }] },
      rule: { path: "/limited" },
    });
    const headers = { "Content-Type": "application/json", Host: "limited.localhost" };
    for (const user of ["zoe", "ann", "bob"])
      for (let turn = 0; turn < 2; turn++)
        await fetch(`${gatehouse.proxyUrl}/limited`, {
          method: "POST",
          headers: { ...headers, "X-User-ID": user },
          body: "{}",
        });
    await ui.page.goto(`/console/gateways/${limited.gateway}/blocks?sort=subject`);
    await ui.page.getByText("1–3 of 3").waitFor();
    const clients = await ui.page.getByRole("rowheader").allInnerTexts();
    expect(clients.map((client) => client.trim().slice(-3))).toEqual(["ann", "bob", "zoe"]);
    await ui.page.getByRole("checkbox", { name: /^Select .*ann$/ }).check();
    await ui.page.getByRole("checkbox", { name: /^Select .*zoe$/ }).check();
    await ui.page
      .getByRole("group", { name: "Selected rows" })
      .getByRole("button", { name: "Unblock" })
      .click();
    await ui.dialog().getByRole("button", { name: "Unblock 2" }).click();
    await ui.waitForToast("Removed 2 blocks.");
    await ui.page.getByText("1–1 of 1").waitFor();
    await search("blocks").fill("nobody");
    await ui.page.getByText("No blocks match “nobody”.").waitFor();
    await ui.expectAccessible();
  });

  test("history and the audit log are searched and sorted by the server", async () => {
    const revisions = ui.page.getByRole("row").filter({ has: ui.page.getByRole("rowheader") });
    await ui.page.goto("/console/history");
    await search("history").fill("TAB");
    await ui.page.getByText("No revision matches these filters.").waitFor();
    await search("history").fill("Gamma");
    await ui.page.getByText("1–3 of 3").waitFor();
    await ui.page.getByRole("columnheader", { name: "Revision" }).getByRole("button").click();
    await revisions.first().getByText("service “gamma”").waitFor();
    await ui.page.getByRole("columnheader", { name: "Revision" }).getByRole("button").click();
    await revisions.first().getByText("API key “gamma”").waitFor();
    await ui.expectAccessible();
    await ui.page.goto("/console/audit?sort=created_at");
    await ui.page.getByRole("rowheader").first().getByText("1", { exact: true }).waitFor();
    await search("audit log").fill("tab one");
    await ui.page.getByText("1–2 of 2").waitFor();
    await revisions.first().getByText("Create").waitFor();
    await ui.expectAccessible();
  });

  test.each([
    ["history", "/history", "Revisions", "Administrator"],
    ["the audit log", "/audit", "Audit log", "Address"],
    ["the request log", "requests", "Requests", "Cost"],
    ["the list of plugins", "plugins", "Plugins of this gateway", "Priority"],
    ["the list of targets", "overview", "Targets", "In flight"],
  ])("%s remembers its hidden columns", async (_, path, table, column) => {
    const { page } = ui;
    if (path === "plugins") {
      const settings = { limits: { global: { limit: 100, window: "1m" } } };
      const required_plugins = [{ name: "rate_limiter", stage: "pre_request", settings }];
      await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { required_plugins });
    }
    if (path === "requests")
      await (await fetch(`${gatehouse.proxyUrl}/v1/chat`, { method: "POST", body: "{}" })).text();
    await (path.startsWith("/") ? page.goto(`/console${path}`) : open(path));
    const header = page
      .getByRole("table", { name: table, exact: true })
      .getByRole("columnheader", { name: column });
    const choose = async (isShown: boolean) => {
      await page.locator(`summary[aria-label="Columns of ${table}"]`).click();
      await page.getByRole("checkbox", { name: column }).setChecked(isShown);
      await header.waitFor({ state: isShown ? "visible" : "detached" });
    };
    await header.waitFor();
    await choose(false);
    await page.reload();
    await page.getByRole("table", { name: table, exact: true }).waitFor();
    expect(await header.count()).toBe(0);
    await choose(true);
  });

  test("lists are usable on a phone", async () => {
    await ui.page.setViewportSize(PHONE);
    for (const [path, row] of [
      ["rules", "/v1/chat"],
      ["services", "gamma"],
      ["upstreams", "gamma"],
      ["keys", "gamma"],
    ] as const) {
      await open(path);
      await ui.row(row).waitFor();
      await ui.expectAccessible();
    }
    await ui.page.setViewportSize(DESKTOP);
  });

  testPalette(() => ({ ui, gatehouse, route }));
  testOrder(() => ({ ui, gatehouse, route }));
}
