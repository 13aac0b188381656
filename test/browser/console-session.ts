// Drives the console of a running gateway in Chromium. Fails on errors in the browser console, requests to other hosts,
// and serious accessibility violations.
import { AxeBuilder } from "@axe-core/playwright";
import { existsSync } from "node:fs";
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from "playwright-core";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";

const CANDIDATES = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = CANDIDATES.find((path) => path !== "" && existsSync(path));

/** Whether Chromium is installed. It is required in CI; elsewhere the tests are skipped with a warning. */
export const hasChromium = executablePath !== undefined;
if (!hasChromium) {
  const fix = "Install it (apt-get install chromium) or set CHROMIUM to its path.";
  if (process.env["CI"] === "true") throw new Error(`Chromium is not installed. ${fix}`);
  process.stderr.write(`\n!!! Chromium is not installed: console tests are SKIPPED. ${fix}\n\n`);
}

/** Timeout of each step. Generous, because the machine may be busy. */
const TIMEOUT_MS = 40_000;

export function launchBrowser(): Promise<Browser> {
  // As root, which is usual in containers, Chromium requires --no-sandbox. It only opens our own pages.
  return chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

/** The elements of the navigation, its size, and its colors. Which link is the current one, and the gateway, do not count. */
const NAVIGATION_LOOK = `(() => {
  const sidebar = document.querySelector(".sidebar");
  if (sidebar === null) return "";
  const { backgroundColor, color, fontSize } = getComputedStyle(sidebar);
  const elements = sidebar.outerHTML.replaceAll(/ (aria-current|href)="[^"]*"/g, "");
  return [elements, innerWidth, sidebar.offsetWidth, backgroundColor, color, fontSize].join("|");
})()`;

export interface Screen {
  readonly name: string;
  readonly width: number;
  readonly height: number;
}

export const DESKTOP: Screen = { name: "desktop", width: 1280, height: 800 };
export const PHONE: Screen = { name: "phone", width: 380, height: 760 };
export const SCREENS: readonly Screen[] = [DESKTOP, PHONE];

interface ConsoleOptions {
  readonly colorScheme?: "light" | "dark";
}

export async function openConsole(
  browser: Browser,
  gatehouse: GatehouseProcess,
  screen: Screen,
  { colorScheme = "light" }: ConsoleOptions = {},
): Promise<ConsoleSession> {
  const context = await launchContext(browser, gatehouse.adminUrl, screen, colorScheme);
  const session = new ConsoleSession(await context.newPage(), gatehouse, screen);
  await session.page.goto("/console");
  return session;
}

/** Opens a context without pages: separate cookies and storage. */
export async function launchContext(
  browser: Browser,
  baseURL: string,
  { width, height }: Pick<Screen, "width" | "height"> = { width: 1280, height: 800 },
  colorScheme: "light" | "dark" = "light",
): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL,
    viewport: { width, height },
    colorScheme,
    locale: "en-GB",
    timezoneId: "Europe/Zurich",
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  return context;
}

export class ConsoleSession {
  readonly page: Page;
  readonly gatehouse: GatehouseProcess;
  readonly screen: Screen;
  /** Errors that were observed since the session started. */
  readonly errors: string[] = [];
  /** Looks of the navigation in which axe has found nothing. */
  readonly #checkedNavigations = new Set<string>();

  constructor(page: Page, gatehouse: GatehouseProcess, screen: Screen) {
    this.page = page;
    this.gatehouse = gatehouse;
    this.screen = screen;
    page.on("pageerror", (error) => this.errors.push(`thrown: ${error.message}`));
    page.on("console", (message) => {
      // Chromium logs every error response. The tests provoke some on purpose.
      const isErrorResponse = message.text().startsWith("Failed to load resource");
      if (["error", "warning"].includes(message.type()) && !isErrorResponse) this.errors.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(gatehouse.adminUrl) && !/^(blob|data):/.test(url))
        this.errors.push(`request to ${url}`);
    });
  }

  get isPhone(): boolean {
    return this.screen.width < 760;
  }

  async signIn(token = this.gatehouse.token): Promise<void> {
    await this.field("Admin token").fill(token);
    await this.button("Sign in").click();
    await this.page.getByRole("navigation").or(this.button("Menu")).first().waitFor();
  }

  /** Opens a page from the navigation, which is behind a menu button on a phone. */
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

  /** Finds a field by its label. Its accessible name may end with "required". */
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

  /** Waits for a toast with this text. */
  async waitForToast(text: string | RegExp): Promise<void> {
    await this.page.locator(".toast").filter({ hasText: text }).first().waitFor();
  }

  /** Checks the page for serious accessibility violations and for horizontal overflow. */
  async expectAccessible(): Promise<void> {
    const found = await this.findViolations();
    if (found.length > 0) throw new Error(`${this.page.url()} has violations:\n${found.join("\n")}`);
  }

  /**
   * Returns serious accessibility violations, and horizontal overflow. The navigation is the same on most pages and takes up to
   * nine tenths of the time of axe, so it is checked again only if it looks different.
   */
  async findViolations(): Promise<string[]> {
    const navigation = String(await this.page.evaluate(NAVIGATION_LOOK));
    const isKnown = this.#checkedNavigations.has(navigation);
    const found = await this.#runAxe(isKnown ? ".sidebar" : undefined);
    if (found.length === 0) this.#checkedNavigations.add(navigation);
    return [...found, ...(await this.findOverflow())];
  }

  async #runAxe(exclude?: string): Promise<string[]> {
    // Injecting the axe source again for every check would take most of the test time.
    const isLoaded = await this.page.evaluate("typeof axe === 'object'");
    const axe = new AxeBuilder({
      page: this.page,
      ...(isLoaded === true && { axeSource: ";" }),
    })
      // The pages have no frames. Legacy mode avoids opening a second page for them.
      .setLegacyMode(true)
      .options({
        resultTypes: ["violations"],
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      });
    if (exclude !== undefined) axe.exclude(exclude);
    const { violations } = await axe.analyze();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  }

  /** Returns by how much the page is wider than the screen, and the innermost elements that are. */
  async findOverflow(): Promise<string[]> {
    const overflow = Number(await this.page.evaluate("document.documentElement.scrollWidth - innerWidth"));
    if (overflow <= 0) return [];
    const elements = String(
      await this.page.evaluate(`[...document.querySelectorAll("body *")]
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
        .filter((element, _, all) => !all.some((other) => other !== element && element.contains(other)))
        .slice(0, 3).map((element) => element.outerHTML.slice(0, 160)).join(" | ")`),
    );
    return [`overflow: the page is ${overflow} pixels wider than the screen: ${elements}`];
  }

  async close(): Promise<void> {
    await this.page.context().close();
    if (this.errors.length > 0) throw new Error(`The browser reported errors:\n${this.errors.join("\n")}`);
  }
}
