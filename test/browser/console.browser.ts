// Console tests in Chromium on a desktop and on a phone screen: `npm run test:browser`.
// Each screen has its own gateway. The areas run in order and build on the records of earlier ones.
import { afterAll, beforeAll, describe, setDefaultTimeout } from "bun:test";
import type { Browser } from "playwright-core";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { testAdministrators } from "./areas/administrators.ts";
import { testAppearance } from "./areas/appearance.ts";
import { testBudgets } from "./areas/budgets.ts";
import { testCharts } from "./areas/charts.ts";
import { testConnection } from "./areas/connection.ts";
import { testFirstRun } from "./areas/first-run.ts";
import { testHistory } from "./areas/history.ts";
import { testOidcSignIn } from "./areas/oidc-sign-in.ts";
import { testLists } from "./areas/lists.ts";
import { testLiveRequests } from "./areas/live-requests.ts";
import { testPlayground } from "./areas/playground.ts";
import { GREETER, testPlugins } from "./areas/plugins.ts";
import { testPrices } from "./areas/prices.ts";
import { testRecordedRequests } from "./areas/recorded-requests.ts";
import { testRecords } from "./areas/records.ts";
import { testScale } from "./areas/scale.ts";
import { testSetup } from "./areas/setup.ts";
import { testTraffic } from "./areas/traffic.ts";
import { testUnsavedInput } from "./areas/unsaved-input.ts";
import { hasChromium, launchBrowser, openConsole, SCREENS, type ConsoleSession } from "./console-session.ts";

setDefaultTimeout(60_000);

describe.if(hasChromium)("console", () => {
  let browser: Browser;
  let healthy: FakeProvider;
  let failing: FakeProvider;

  beforeAll(async () => {
    [browser, healthy, failing] = await Promise.all([
      launchBrowser(),
      startFakeProvider({ name: "good" }),
      startFakeProvider({ name: "broken" }),
    ]);
    healthy.behave({ text: "Hello from the fake provider, word by word.", chunkDelayMs: 5 });
    failing.behave({ status: 503 });
  });

  afterAll(async () => {
    await browser.close();
    await Promise.all([healthy.stop(), failing.stop()]);
  });

  testOidcSignIn(() => browser);

  describe("with 1,500 gateways", () => testScale(() => browser));

  describe("lists", () => testLists(() => browser));

  testSetup(() => ({ browser, healthy, failing }));

  describe.each(SCREENS.map((screen) => [screen.name, screen] as const))("on a %s", (_, screen) => {
    let gatehouse: GatehouseProcess;
    let ui: ConsoleSession;
    const context = () => ({ ui, gatehouse, healthy, failing });

    beforeAll(async () => {
      const plugins = pluginsDirectory({ "greeter.ts": GREETER });
      gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: plugins } });
      ui = await openConsole(browser, gatehouse, screen);
    });

    afterAll(async () => {
      await ui.close();
      await gatehouse.stop();
    });

    testFirstRun(context);
    testRecords(context);
    testTraffic(context);
    testRecordedRequests(context);
    testUnsavedInput(context);
    testCharts(context);
    testLiveRequests(context);
    testPlugins(context);
    testConnection(context);
    testAdministrators(context);
    testAppearance(context);
    testBudgets(context);
    testPrices(context);
    testPlayground(context);
    testHistory(context);
  });
});
