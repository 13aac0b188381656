// A real Chromium on the console of a started gateway, as a person would use it; and the watch over what must not happen
// meanwhile: an error in the browser's console, a call to another host, a serious fault of accessibility.
import { AxeBuilder } from "@axe-core/playwright";
import { existsSync } from "node:fs";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";

const PLACES = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = PLACES.find((place) => place !== "" && existsSync(place));

/** Whether there is a browser. In CI there must be; elsewhere a missing one is said loudly. */
export const hasChromium = executablePath !== undefined;
if (!hasChromium) {
  const sentence = "Chromium is not installed, so the console's tests are SKIPPED (apt-get install chromium)";
  if (process.env["CI"] === "true") throw new Error(`${sentence}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${sentence}\n\n`);
}

/** What a person waits for at most; generous, since the machine may be busy. */
const PATIENCE_MS = 15_000;

export function launchBrowser(): Promise<Browser> {
  // As root, as in most containers, Chromium runs only without its sandbox; the only pages are ours.
  return chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

export interface Screen {
  readonly name: string;
  readonly width: number;
  readonly height: number;
}

export const SCREENS: readonly Screen[] = [
  { name: "desktop", width: 1280, height: 800 },
  { name: "phone", width: 380, height: 760 },
];

export interface ConsoleOptions {
  readonly colorScheme?: "light" | "dark";
  readonly signedIn?: boolean;
}

export async function openConsole(
  browser: Browser,
  gatehouse: GatehouseProcess,
  screen: Screen,
  { colorScheme = "light", signedIn = false }: ConsoleOptions = {},
): Promise<ConsoleSession> {
  const { width, height } = screen;
  const context = await browser.newContext({
    baseURL: gatehouse.adminUrl,
    viewport: { width, height },
    colorScheme,
    locale: "en-GB",
    timezoneId: "Europe/Zurich",
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const session = new ConsoleSession(await context.newPage(), gatehouse, screen);
  await session.page.goto("/console");
  if (signedIn) await session.signIn();
  return session;
}

export class ConsoleSession {
  readonly page: Page;
  readonly gatehouse: GatehouseProcess;
  readonly screen: Screen;
  /** What must not happen, and did. */
  readonly faults: string[] = [];

  constructor(page: Page, gatehouse: GatehouseProcess, screen: Screen) {
    this.page = page;
    this.gatehouse = gatehouse;
    this.screen = screen;
    page.on("pageerror", (error) => this.faults.push(`thrown: ${error.message}`));
    page.on("console", (message) => {
      // Chromium itself notes every answer that is no success; the API's refusals are part of the tests.
      const isNote = message.text().startsWith("Failed to load resource");
      if (["error", "warning"].includes(message.type()) && !isNote) this.faults.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(gatehouse.adminUrl) && !/^(blob|data):/.test(url)) this.faults.push(`asked ${url}`);
    });
  }

  get isPhone(): boolean {
    return this.screen.width < 760;
  }

  async signIn(): Promise<void> {
    await this.field("Admin token").fill(this.gatehouse.token);
    await this.button("Sign in").click();
    await this.page.getByRole("navigation").or(this.button("Menu")).first().waitFor();
  }

  /** Follows a link of the navigation, which a phone shows behind a button. */
  async visit(title: string): Promise<void> {
    if (this.isPhone) await this.button("Menu").click();
    await this.page.getByRole("navigation").getByRole("link", { name: title, exact: true }).click();
    await this.heading(title).waitFor();
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole("heading", { name, level: 1 });
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole("main").getByRole("link", { name, exact: true });
  }

  /** By its label; the word "required" behind it is part of what is announced. */
  field(label: string, within: Page | Locator = this.page): Locator {
    const escaped = label.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    return within.getByLabel(new RegExp(`^${escaped}( required)?$`));
  }

  row(text: string | RegExp): Locator {
    return this.page.getByRole("row").filter({ hasText: text });
  }

  dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  /** Waits for the short message in the corner. */
  async isTold(text: string | RegExp): Promise<void> {
    await this.page.locator(".message").filter({ hasText: text }).first().waitFor();
  }

  /** The page as it stands has no serious fault of accessibility, and nothing sticks out of it sideways. */
  async isSound(): Promise<void> {
    // Reading its source again for every look would take most of the tests' time.
    const isThere = await this.page.evaluate("typeof axe === 'object'");
    const { violations } = await new AxeBuilder({
      page: this.page,
      ...(isThere === true && { axeSource: ";" }),
    })
      // The pages have no frames: the mode without them needs no second page.
      .setLegacyMode(true)
      .options({
        resultTypes: ["violations"],
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      })
      .analyze();
    const serious = violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
    const overflow = Number(await this.page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    if (overflow > 0) serious.push(`${overflow} pixels stick out to the right`);
    if (serious.length > 0) throw new Error(`${this.page.url()} is not sound:\n${serious.join("\n")}`);
  }

  async close(): Promise<void> {
    await this.page.context().close();
    if (this.faults.length > 0) throw new Error(`This must not happen, and did:\n${this.faults.join("\n")}`);
  }
}
