// Sign-in with a real OpenID provider, whose pages are of another site: cookies that the browser sends or withholds.
import { expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { startGatehouseProcess } from "../../support/gatehouse-process.ts";
import { CLIENT, startOpenIdProvider } from "../../support/openid-provider.ts";
import { launchContext } from "../console-session.ts";
import { freePort } from "../../support/free-port.ts";

const GROUPS: Readonly<Record<string, readonly string[]>> = { carol: ["staff"] };

export function testOidcSignIn(getBrowser: () => Browser): void {
  test("signs in with OIDC, sends the Strict session cookie after the redirect, and signs out", async () => {
    // The provider compares the redirect URI, so the port must be known before the gateway starts. `localhost` is another site
    // than the provider's 127.0.0.1.
    const port = freePort();
    const publicUrl = `http://localhost:${port}`;
    const provider = await startOpenIdProvider({
      redirectUri: `${publicUrl}/api/auth/callback`,
      groupsOf: (user) => GROUPS[user] ?? [],
    });
    const gatehouse = await startGatehouseProcess({
      env: {
        ADMIN_PORT: String(port),
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: CLIENT.id,
        OIDC_CLIENT_SECRET: CLIENT.secret,
        OIDC_ROLES: "staff=viewer",
        ADMIN_PUBLIC_URL: publicUrl,
      },
    });
    await gatehouse.api("POST", "/gateways", { name: "acme" });
    const context = await launchContext(getBrowser(), publicUrl);
    try {
      const page = await context.newPage();
      await page.goto("/console/gateways");
      await page.getByLabel("Admin token").waitFor();
      await page.getByRole("link", { name: "Sign in with OIDC" }).click();
      await page.locator('input[name="login"]').fill("carol");
      await page.locator('input[name="password"]').fill("carol");
      await page.locator('button[type="submit"]').click();
      await page.getByRole("button", { name: "Continue" }).click();
      // Back on the page that the user came from, as the user, which needs the session cookie.
      await page.getByRole("heading", { name: "Gateways", level: 1 }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/console/gateways");
      await page.locator(".who").getByText("carol@example.com").waitFor();
      await page.getByRole("main").getByRole("link", { name: "acme" }).first().waitFor();
      expect(await page.getByRole("link", { name: "New gateway" }).count()).toBe(0);
      // Links to pages of a gateway lead there, and not to the page that creates the first one.
      const rules = page.getByRole("navigation").getByRole("link", { name: "Rules", exact: true });
      await page.getByRole("combobox", { name: "Gateway" }).waitFor();
      expect(await rules.getAttribute("href")).toMatch(/^\/console\/gateways\/[^/]+\/rules$/);
      const [cookie, ...others] = await context.cookies(publicUrl);
      expect(cookie).toMatchObject({ name: "gatehouse_session", sameSite: "Strict", httpOnly: true });
      expect(others).toEqual([]);
      // The session is that of the browser: another tab has it, and nothing is in the storage of the tab.
      const tab = await context.newPage();
      await tab.goto("/console");
      await tab.locator(".who").getByText("viewer").waitFor();
      expect(await tab.evaluate("sessionStorage.getItem('gatehouse.token')")).toBeNull();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("link", { name: "Sign in with OIDC" }).waitFor();
      await tab.reload();
      await tab.getByRole("link", { name: "Sign in with OIDC" }).waitFor();
      const { body } = await gatehouse.api("GET", "/audit?actor=carol@example.com");
      expect(body.audit_entries).toMatchObject([{ action: "sign_out" }, { action: "sign_in" }]);
    } finally {
      await context.close();
      await gatehouse.stop();
      provider.stop();
    }
  });
}
