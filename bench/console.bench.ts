// `npm run bench console`: the overview of the console with 1,500 gateways, as a user meets it: a new page in Chromium, until its tables and charts are
// there.
import { launchBrowser, openConsole, hasChromium } from "../test/browser/console-session.ts";
import { startGatehouseProcess } from "../test/support/gatehouse-process.ts";
import { median, printTable } from "./report.ts";

const GATEWAYS = 1500;
const ROUNDS = 7;
const API_REQUESTS = `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/api/")).length`;
const SCREEN = { name: "desktop", width: 1440, height: 900 };

export async function benchConsole(): Promise<void> {
  if (!hasChromium) return;
  const gatehouse = await startGatehouseProcess();
  const browser = await launchBrowser();
  try {
    const gateways = Array.from({ length: GATEWAYS }, (_, index) => gatewayDocument(index));
    const { status, body } = await gatehouse.api("POST", "/apply", { gateways });
    if (status !== 200) throw new Error(JSON.stringify(body));
    const ui = await openConsole(browser, gatehouse, SCREEN);
    await ui.signIn();
    const { page } = ui;
    const times: number[] = [];
    const requests: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await page.goto("about:blank");
      const start = performance.now();
      await page.goto("/console", { waitUntil: "commit" });
      await ui.row("team-0000").first().waitFor();
      await page.locator(".chart canvas").first().waitFor();
      times.push(performance.now() - start);
      requests.push(Number(await page.evaluate(API_REQUESTS)));
    }
    printTable(`Overview of the console with ${GATEWAYS} gateways, in Chromium, ${ROUNDS} loads`, [
      { what: "until usable, p50", value: median(times), unit: "ms", atMost: 1000 },
      { what: "until usable, slowest", value: Math.max(...times), unit: "ms" },
      { what: "requests to the Admin API", value: Math.max(...requests), unit: "", atMost: 10 },
    ]);
  } finally {
    await browser.close();
    await gatehouse.stop();
  }
}

function gatewayDocument(index: number) {
  const name = `team-${String(index).padStart(4, "0")}`;
  return {
    name,
    upstreams: [
      { name, targets: [{ provider: "openai" }, { provider: "anthropic" }, { provider: "mistral" }] },
    ],
    services: [{ name, upstream: name }],
    rules: [{ name, methods: ["POST"], path: `/${name}/*`, service: name }],
  };
}
