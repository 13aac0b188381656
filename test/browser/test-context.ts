// What the test areas share: the browser session and the gateway of the current screen, and the fake providers.
import type { Page } from "playwright-core";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import type { ConsoleSession } from "./console-session.ts";

interface TestContext {
  ui: ConsoleSession;
  gatehouse: GatehouseProcess;
  /** Streams a response. */
  healthy: FakeProvider;
  /** Always responds with 503. */
  failing: FakeProvider;
}

/** Returns the context. Call it within a test: the context is complete only after `beforeAll`. */
export type GetContext = () => TestContext;

export async function firstGatewayId({ gatehouse }: TestContext): Promise<string> {
  return (await gatehouse.api("GET", "/gateways")).body.gateways[0].id;
}

/** Deletes a gateway that an area has created, and selects the first one again, which later areas use. */
export async function leaveGateway(context: TestContext, gateway: string): Promise<void> {
  const { ui, gatehouse } = context;
  await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`);
  const { gateways } = (await gatehouse.api("GET", "/gateways")).body;
  // Without another gateway, the area runs alone.
  if (gateways.length === 0) return;
  await ui.page.goto(`/console/gateways/${gateways[0].id}/overview`);
  await ui.heading("Overview").waitFor();
}

/** Loads a page of the console, and signs in if no earlier area has. */
export async function openPage({ ui }: TestContext, path: string, title: string): Promise<void> {
  await ui.page.goto(`/console${path}`);
  const token = ui.field("Admin token");
  await ui.heading(title).or(token).first().waitFor();
  if (await token.isVisible()) await ui.signIn();
  await ui.heading(title).waitFor();
}

/** Responds to writes as if the token were not accepted any more. What the page reads by itself must not open the sign-in first. */
export async function rejectWrites(page: Page): Promise<void> {
  await page.route("**/api/v1/**", (route) =>
    route.request().method() === "GET"
      ? route.continue()
      : route.fulfill({ status: 401, json: { error: "The token is not accepted.", code: "unauthorized" } }),
  );
}

/** Sends a chat request over the rule with two targets and returns its status. */
export async function sendChatAs(
  user: string,
  { gatehouse }: TestContext,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await fetch(`${gatehouse.proxyUrl}/pair/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": user, ...headers },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}
