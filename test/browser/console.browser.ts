// The console driven as a person would, in Chromium, on a desktop and on a phone: `npm run test:browser`.
// Each screen has a gateway of its own and goes its way in order, as one would.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { hasChromium, launchBrowser, openConsole, SCREENS, type ConsoleSession } from "./console-session.ts";

setDefaultTimeout(60_000);

/** A custom plugin whose form has a field of every kind. */
const GREETER = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "greeter",
    description: "Greets by a header.",
    stages: ["pre_request", "post_request"],
    settings: z.strictObject({
      greeting: z.string().min(3, "must be at least three letters").meta({ description: "What is said." }),
      loud: z.boolean().default(false),
      times: z.int().min(1).max(9).default(1),
      tone: z.enum(["plain", "warm"]).default("plain"),
      names: z.array(z.string()).default([]),
      headers: z.record(z.string(), z.string()).default({}),
      nested: z.strictObject({ depth: z.int() }).optional(),
    }),
    create: () => ({ pre_request() {} }),
  });`;

describe.if(hasChromium)("the console", () => {
  let browser: Browser;
  let good: FakeProvider;
  let broken: FakeProvider;

  beforeAll(async () => {
    [browser, good, broken] = await Promise.all([
      launchBrowser(),
      startFakeProvider({ name: "good" }),
      startFakeProvider({ name: "broken" }),
    ]);
    good.behave({ text: "Hello from the stand-in, word by word.", chunkDelayMs: 5 });
    broken.behave({ status: 503 });
  });

  afterAll(async () => {
    await browser.close();
    await Promise.all([good.stop(), broken.stop()]);
  });

  describe.each(SCREENS.map((screen) => [screen.name, screen] as const))("on a %s", (_, screen) => {
    let gatehouse: GatehouseProcess;
    let ui: ConsoleSession;

    beforeAll(async () => {
      const plugins = pluginsDirectory({ "greeter.ts": GREETER });
      gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: plugins } });
      ui = await openConsole(browser, gatehouse, screen);
    });

    afterAll(async () => {
      await ui.close();
      await gatehouse.stop();
    });

    test("signing in: a wrong token is refused in words, the right one is taken", async () => {
      await ui.isSound();
      // By keyboard alone: the field has the focus when the page opens.
      await ui.page.keyboard.type("not.a.token");
      await ui.page.keyboard.press("Enter");
      await ui.page.getByText("does not accept this token").waitFor();
      await ui.isSound();
      await ui.signIn();
      await ui.heading("Set up the first route").waitFor();
    });

    test("from nothing to a streamed answer", async () => {
      const { page } = ui;
      await page.getByText("npm run fake-provider").waitFor();
      await ui.isSound();
      await page.getByText("It runs elsewhere").click();
      await ui.field("Address").fill("nonsense");
      await ui.button("Create the route").click();
      // The gateway was made, the upstream refused: the fault stands at its field, and a second try goes on from there.
      await page.locator("#field-address-fault").getByText("must be an absolute URL").waitFor();
      await ui.isSound();
      await ui.field("Address").fill(good.url);
      await ui.button("Create the route").click();
      await ui.heading("The first route is there").waitFor();
      expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(1);
      await page.getByLabel("the API key", { exact: true }).getByText(/^gw_/).waitFor();
      await ui.isSound();
      await ui.link("Try it in the playground").click();
      await ui.heading("Playground").waitFor();
      await ui.button("Send").click();
      await page.locator(".answer").getByText("Hello from the stand-in, word by word.").waitFor();
      await page.locator(".answer").getByText("Done", { exact: true }).waitFor();
      await page.locator(".figures").getByText("stand-in", { exact: true }).waitFor();
      await ui.isSound();
      for (const language of ["Python", "TypeScript", "curl"]) {
        await ui.button(language).click();
        await page.getByLabel(`the call as ${language}`, { exact: true }).getByText("X-GW-API-Key").waitFor();
      }
    });

    test("a gateway is made, changed and deleted", async () => {
      await ui.visit("Gateways");
      await ui.isSound();
      await ui.link("New gateway").click();
      await ui.field("Name").fill("second");
      await ui.field("Subdomain").fill("not a label");
      await ui.button("Create gateway").click();
      await ui.page.locator("#field-subdomain-fault").getByText("must be a DNS label").waitFor();
      expect(await ui.field("Subdomain").getAttribute("aria-invalid")).toBe("true");
      await ui.isSound();
      await ui.field("Subdomain").fill("second");
      await ui.button("Create gateway").click();
      await ui.isTold("Saved the gateway “second”");
      await ui.link("second").click();
      await ui.field("Name").fill("renamed");
      await ui.button("Save").click();
      await ui.link("renamed").click();
      await ui.button("Delete").click();
      await ui.isSound();
      await ui.dialog().getByRole("button", { name: "Delete" }).click();
      await ui.isTold("Deleted the gateway “renamed”");
      expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(1);
    });

    test("a gateway with parts names them, and goes only when its name is typed", async () => {
      await ui.visit("Gateways");
      await ui.link("my gateway").click();
      await ui.button("Delete").click();
      await ui.dialog().getByRole("button", { name: "Delete" }).click();
      await ui
        .dialog()
        .getByText(/upstream "models"/)
        .waitFor();
      const confirm = ui.dialog().getByRole("button", { name: "Delete everything" });
      expect(await confirm.isDisabled()).toBe(true);
      await ui
        .dialog()
        .getByLabel(/to go on/)
        .fill("my gateway");
      expect(await confirm.isDisabled()).toBe(false);
      await ui.isSound();
      await ui.page.keyboard.press("Escape");
      await ui.dialog().waitFor({ state: "hidden" });
    });

    test("an upstream is made with two targets and changed; a target's fault stands at its field", async () => {
      const { page } = ui;
      await ui.visit("Upstreams");
      await ui.isSound();
      await ui.link("New upstream").click();
      await ui.field("Name").fill("pair");
      const first = page.getByRole("group", { name: /^Target 1/ });
      await ui.field("Provider", first).fill("broken");
      await ui.field("Address", first).fill(broken.url);
      await ui.field("Default model", first).fill("model-a");
      await ui.field("Weight", first).fill("many");
      await first.getByRole("button", { name: "Add a credential" }).click();
      await ui.field("Credential", first).fill("Bearer sk-0123456789abcdef");
      await ui.button("Add a target").click();
      const second = page.getByRole("group", { name: /^Target 2/ });
      await ui.field("Provider", second).fill("good");
      await ui.field("Address", second).fill(good.url);
      await ui.field("Models", second).fill("model-a\nmodel-b");
      await ui.field("Priority", second).fill("2");
      // The first target stays in, however often it fails: every request shall fail over.
      await ui.field("After failures in a row").fill("1000");
      await ui.isSound();
      await ui.button("Create upstream").click();
      await first.getByText("must be a number, not a string").waitFor();
      await page.waitForFunction("document.activeElement?.getAttribute('role') === 'alert'");
      await page.getByRole("link", { name: "targets[0].weight" }).click();
      expect(await page.evaluate("document.activeElement.id")).toBe("field-targets-0-weight");
      await ui.field("Weight", first).fill("5");
      await ui.button("Create upstream").click();
      await ui.isTold("Saved the upstream “pair”");
      await ui.link("pair").click();
      expect(await ui.field("Credential", page).first().inputValue()).toBe("Bea***cdef");
      await ui.field("Algorithm").selectOption({ label: "random: by weight" });
      await ui.button("Save").click();
      await ui.isTold("Saved the upstream “pair”");
      const { upstreams } = (await gatehouse.api("GET", `/gateways/${await gatewayId()}/upstreams`)).body;
      expect(upstreams[1]).toMatchObject({ name: "pair", algorithm: "random" });
      expect(upstreams[1].targets.map((target: { models: string[] }) => target.models)).toEqual([
        [],
        ["model-a", "model-b"],
      ]);
    });

    test("a service is made, changed, and its upstream is not deleted under it", async () => {
      await ui.visit("Services");
      await ui.isSound();
      await ui.link("New service").click();
      await ui.field("Name").fill("paired");
      await ui.field("Upstream").selectOption({ label: "pair" });
      await ui.isSound();
      await ui.button("Create service").click();
      await ui.isTold("Saved the service “paired”");
      await ui.link("paired").click();
      await ui.field("Description").fill("Two targets, one of them broken.");
      await ui.button("Save").click();
      await ui.page.getByText("Two targets, one of them broken.").waitFor();
      await ui.visit("Upstreams");
      await ui.link("pair").click();
      await ui.button("Delete").click();
      await ui.dialog().getByRole("button", { name: "Delete" }).click();
      await ui
        .dialog()
        .getByText(/service "paired"/)
        .waitFor();
      await ui.isSound();
      await ui.dialog().getByRole("button", { name: "Close" }).last().click();
    });

    test("a rule is made and changed; its fault stands at its field", async () => {
      await ui.visit("Rules");
      await ui.isSound();
      await ui.link("New rule").click();
      await ui.field("Path").fill("/api/mine");
      await ui.field("Service").selectOption({ label: "paired" });
      await ui.button("Create rule").click();
      await ui.page
        .locator("#field-path-fault")
        .getByText("must not claim the reserved prefix /api")
        .waitFor();
      await ui.isSound();
      await ui.field("Path").fill("/pair/chat");
      await ui.page.getByLabel("PUT", { exact: true }).check();
      await ui.button("Create rule").click();
      await ui.link("/pair/chat").click();
      await ui.page.getByLabel("PUT", { exact: true }).uncheck();
      await ui.page.getByText("Keys, headers, forwarding").click();
      await ui.field("API key").selectOption({ label: "optional" });
      await ui.isSound();
      await ui.button("Save").click();
      await ui.isTold("Saved the rule “/pair/chat”");
      const { rules } = (await gatehouse.api("GET", `/gateways/${await gatewayId()}/rules`)).body;
      expect(rules[1]).toMatchObject({ path: "/pair/chat", methods: ["POST"], require_api_key: false });
    });

    test("an API key is made and shown once, changed, rotated and revoked", async () => {
      const { page } = ui;
      await ui.visit("API keys");
      await ui.isSound();
      await ui.link("New API key").click();
      await ui.field("Name").fill("app");
      await page.getByLabel("/pair/chat", { exact: true }).check();
      await ui.field("Ends").fill("2020-01-01T00:00");
      await ui.button("Create API key").click();
      await page.locator("#field-expires_at-fault").waitFor();
      await ui.isSound();
      await ui.field("Ends").fill("2035-01-01T00:00");
      await ui.button("Create API key").click();
      const shown = page.getByLabel("the API key", { exact: true });
      const first = await shown.innerText();
      expect(first).toMatch(/^gw_[\w-]{43}$/);
      await ui.isSound();
      await ui.button(/^Copy: the API key/).click();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(first);
      await ui.link("To the list").click();
      await ui.link("app").click();
      await ui.field("Name").fill("application");
      await ui.button("Save").click();
      await ui.link("application").click();
      await ui.button("Rotate").click();
      await ui.dialog().getByRole("button", { name: "Rotate" }).click();
      expect(await shown.innerText()).not.toBe(first);
      await ui.link("To the list").click();
      await ui.link("application").click();
      await ui.button("Revoke").click();
      await ui.dialog().getByRole("button", { name: "Revoke" }).click();
      await ui.isTold("Revoked the API key “application”");
      await ui.row("application").getByText("revoked").waitFor();
    });

    test("live requests show a failover as it happens; one opened tells all, and is explained", async () => {
      const { page } = ui;
      await ui.visit("Live requests");
      await page.getByText("live", { exact: true }).waitFor();
      await page.getByLabel("Only failovers").check();
      await page.getByText("No request fits the filters").waitFor();
      expect(await chatAs("bob")).toBe(200);
      const failover = ui.row("broken → good");
      await failover.getByText("failover").waitFor();
      await ui.isSound();
      await ui.button("Pause").click();
      await chatAs("bob");
      await page.getByText("paused, 1 new").waitFor();
      expect(await failover.count()).toBe(1);
      await ui.button("Go on").click();
      await failover.nth(1).waitFor();
      await failover.first().getByRole("button").click();
      await ui.dialog().getByText("Attempts: 2").waitFor();
      await ui
        .dialog()
        .getByRole("row", { name: /1\. broken/ })
        .getByText("503")
        .waitFor();
      await ui.dialog().getByRole("list", { name: "Where the time went" }).getByText("Answer sent").waitFor();
      await ui.isSound();
      await ui.dialog().getByRole("link", { name: "Explain it" }).click();
      await ui.heading("Explain").waitFor();
      expect(await ui.field("Path").inputValue()).toBe("/pair/chat");
      await ui.button("Explain").click();
      await page.getByText("It would go to a provider.").waitFor();
      await ui.row("/pair/chat").getByText("serves", { exact: true }).waitFor();
      await ui.isSound();
      await ui.field("Path").fill("/nowhere");
      await ui.button("Explain").click();
      await page.getByText("rule_not_found").waitFor();
    });

    test("the overview tells traffic, the health of targets and what was refused", async () => {
      await fetch(`${gatehouse.proxyUrl}/pair/chat`, { headers: { "X-GW-API-Key": `gw_${"x".repeat(43)}` } });
      await ui.visit("Overview");
      await ui.page.getByRole("img", { name: /Requests a second.*highest [1-9]/ }).waitFor();
      await ui.row("good").getByText("healthy").waitFor();
      await ui.row("invalid_api_key").waitFor();
      await ui.isSound();
    });

    test("usage is told by key and model, in dollars once there is a price, and saved as CSV", async () => {
      const { page } = ui;
      await ui.visit("Usage");
      await ui.link("Prices").click();
      await ui.button("Add a price").click();
      await ui.field("Model, line 1").fill("stand-in*");
      await ui.field("In, line 1").fill("1000");
      await ui.field("Out, line 1").fill("much");
      await ui.button("Save").click();
      await page.getByText("must be a number, not a string").first().waitFor();
      await ui.isSound();
      await ui.field("Out, line 1").fill("2000");
      await ui.button("Save").click();
      await ui.isTold("Saved the prices");
      await ui.visit("Playground");
      await ui.button("Send").click();
      await page.locator(".answer").getByText("Done", { exact: true }).waitFor();
      await page.locator(".figures").getByText("$").waitFor();
      await ui.visit("Usage");
      const used = page.getByRole("table", { name: "Usage by model" });
      await used.getByText("stand-in-1").waitFor();
      await ui.button("Cost").click();
      await page.getByText("Cost a day, by model").waitFor();
      await ui.isSound();
      const [download] = await Promise.all([page.waitForEvent("download"), ui.button("Save as CSV").click()]);
      const csv = await Bun.file(await download.path()).text();
      expect(csv).toStartWith("day,api_key,");
      expect(csv).toContain(",stand-in-1,");
    });

    test("a custom plugin is set up by the form that its schema draws, and as JSON", async () => {
      const { page } = ui;
      await ui.visit("Plugins");
      await ui.isSound();
      await ui.link("Add greeter").click();
      await ui.heading("Add greeter").waitFor();
      await ui.field("Greeting").fill("hi");
      await ui.field("Times").fill("3");
      await ui.field("Tone").selectOption({ label: "warm" });
      await page.getByLabel("Nested").check();
      await ui.field("Depth").fill("2");
      await ui.button("Add to names").click();
      await ui.field("Names 1").fill("Ann");
      await ui.isSound();
      await ui.button("Add greeter").click();
      await page
        .locator("#field-settings-greeting-fault")
        .getByText("must be at least three letters")
        .waitFor();
      await ui.field("Greeting").fill("hello");
      await ui.button("JSON").click();
      const json = page.getByLabel("Settings as JSON");
      expect(JSON.parse(await json.inputValue())).toEqual({
        greeting: "hello",
        times: 3,
        tone: "warm",
        nested: { depth: 2 },
        names: ["Ann"],
      });
      await json.fill('{"greeting": "good morning", "loud": true}');
      await ui.isSound();
      await ui.button("Form").click();
      expect(await ui.field("Greeting").inputValue()).toBe("good morning");
      expect(await page.getByLabel("Loud").isChecked()).toBe(true);
      await ui.button("Add greeter").click();
      await ui.isTold("Saved greeter");
      const gateway = (await gatehouse.api("GET", `/gateways/${await gatewayId()}`)).body;
      expect(gateway.required_plugins).toMatchObject([
        { name: "greeter", settings: { greeting: "good morning", loud: true } },
      ]);
      await ui.button("Remove greeter").click();
      await ui.dialog().getByRole("button", { name: "Remove" }).click();
      await ui.isTold("Removed greeter");
    });

    test("a block is listed and lifted", async () => {
      const { page } = ui;
      await ui.visit("Plugins");
      await ui.link("Add rate_limiter").click();
      await page.getByLabel("Per user").check();
      await ui.field("Limit", page.getByRole("group", { name: "Per user" })).fill("1");
      await ui.field("Window", page.getByRole("group", { name: "Per user" })).fill("1h");
      await ui.field("Type").selectOption({ label: "block" });
      await ui.isSound();
      await ui.button("Add rate_limiter").click();
      await ui.isTold("Saved rate_limiter");
      expect(await chatAs("ann")).toBe(200);
      expect(await chatAs("ann")).toBe(403);
      await ui.visit("Blocks");
      await ui.row("ann").waitFor();
      await ui.isSound();
      await ui.button(/^Lift the block of .*ann/).click();
      await ui.dialog().getByRole("button", { name: "Lift" }).click();
      await ui.isTold("Lifted the block");
      await page.getByText("Nobody is blocked").waitFor();
      await ui.isSound();
      expect(await chatAs("ann")).toBe(200);
      await ui.visit("Plugins");
      await ui.button("Remove rate_limiter").click();
      await ui.dialog().getByRole("button", { name: "Remove" }).click();
      await ui.isTold("Removed rate_limiter");
    });

    test("a token that is refused meanwhile costs no form", async () => {
      const { page } = ui;
      await ui.visit("Services");
      await ui.link("New service").click();
      await ui.field("Name").fill("half-filled");
      await page.route("**/api/v1/**", (route) =>
        route.fulfill({ status: 401, json: { error: "The token is not accepted.", code: "unauthorized" } }),
      );
      await ui.button("Create service").click();
      await ui.dialog().getByText("Sign in again").waitFor();
      await page.unroute("**/api/v1/**");
      await ui.isSound();
      await ui.field("Admin token").fill(gatehouse.token);
      await ui.dialog().getByRole("button", { name: "Sign in" }).click();
      await ui.dialog().waitFor({ state: "hidden" });
      expect(await ui.field("Name").inputValue()).toBe("half-filled");
      // Leaving it is asked about.
      if (ui.isPhone) await ui.button("Menu").click();
      await page.getByRole("navigation").getByRole("link", { name: "Rules" }).click();
      await ui.dialog().getByRole("button", { name: "Leave" }).click();
      await ui.heading("Rules").waitFor();
    });

    test("a gateway that does not answer is told at once, and its return too", async () => {
      const { page } = ui;
      await ui.visit("Rules");
      await page.context().setOffline(true);
      await page.getByRole("alert").getByText("The gateway does not answer").waitFor();
      await ui.isSound();
      await page.context().setOffline(false);
      await page.getByRole("alert").getByText("The gateway does not answer").waitFor({ state: "hidden" });
      await ui.link("/pair/chat").waitFor();
    });

    let revisionBeforeDeletions = 0;

    test("rules, services and upstreams are deleted", async () => {
      revisionBeforeDeletions = (
        (await (await fetch(`${gatehouse.adminUrl}/readyz`)).json()) as { revision: number }
      ).revision;
      for (const [kind, name, singular] of [
        ["Rules", "/pair/chat", "rule"],
        ["Services", "paired", "service"],
        ["Upstreams", "pair", "upstream"],
      ] as const) {
        await ui.visit(kind);
        await ui.link(name).click();
        await ui.button("Delete").click();
        await ui.dialog().getByRole("button", { name: "Delete" }).click();
        await ui.isTold(`Deleted the ${singular}`);
        await ui.heading(kind).waitFor();
        expect(await ui.link(name).count()).toBe(0);
      }
    });

    test("the history shows what was changed, and rolling back brings it back", async () => {
      const { page } = ui;
      await ui.visit("History");
      await ui.row("in force").getByText("upstream “pair”").waitFor();
      await ui.isSound();
      await ui.link(`Revision ${revisionBeforeDeletions + 1}`).click();
      await page.getByText("/pair/chat").first().waitFor();
      await ui.isSound();
      await ui.link("← History").click();
      await ui.link(`Revision ${revisionBeforeDeletions}`).click();
      await ui.button("Roll back to this").click();
      await ui.isSound();
      await ui.dialog().getByRole("button", { name: "Roll back" }).click();
      await ui.isTold(`Rolled back to revision ${revisionBeforeDeletions}`);
      await ui.row("in force").getByText("rollback").waitFor();
      await ui.visit("Rules");
      await ui.link("/pair/chat").waitFor();
      expect(await chatAs("carol")).toBe(200);
    });

    test("signing out leaves nothing behind", async () => {
      if (ui.isPhone) await ui.button("Menu").click();
      await ui.button("Sign out").click();
      await ui.field("Admin token").waitFor();
      expect(
        await ui.page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length"),
      ).toBe(0);
      await ui.page.reload();
      await ui.field("Admin token").waitFor();
    });

    async function gatewayId(): Promise<string> {
      return (await gatehouse.api("GET", "/gateways")).body.gateways[0].id;
    }

    /** The status of a chat over the rule with two targets. */
    async function chatAs(user: string): Promise<number> {
      const answer = await fetch(`${gatehouse.proxyUrl}/pair/chat`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-User-ID": user },
        body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
      });
      await answer.text();
      return answer.status;
    }
  });
});
