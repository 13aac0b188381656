// The areas of the console on one screen, with a gateway of its own. They run in order and build on the records of earlier ones.
import { afterAll, beforeAll, describe, setDefaultTimeout } from "bun:test";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { testAdministrators } from "./areas/administrators.ts";
import { testAppearance } from "./areas/appearance.ts";
import { testBudgets } from "./areas/budgets.ts";
import { testGameDays } from "./areas/game-days.ts";
import { testCharts } from "./areas/charts.ts";
import { testConnection } from "./areas/connection.ts";
import { testFirstRun } from "./areas/first-run.ts";
import { testHistory } from "./areas/history.ts";
import { testLiveRequests } from "./areas/live-requests.ts";
import { testPlayground } from "./areas/playground.ts";
import { GREETER, testPlugins } from "./areas/plugins.ts";
import { testPrices } from "./areas/prices.ts";
import { testRecordedRequests } from "./areas/recorded-requests.ts";
import { testRecords } from "./areas/records.ts";
import { testTraffic } from "./areas/traffic.ts";
import { testUnsavedInput } from "./areas/unsaved-input.ts";
import { hasChromium, openConsole, type ConsoleSession, type Screen } from "./console-session.ts";
import { useFixtures } from "./fixtures.ts";

export function testScreen(screen: Screen): void {
  setDefaultTimeout(60_000);

  describe.if(hasChromium)(`console on a ${screen.name}`, () => {
    const fixtures = useFixtures();
    let gatehouse: GatehouseProcess;
    let ui: ConsoleSession;
    const context = () => ({ ui, gatehouse, ...fixtures() });

    beforeAll(async () => {
      const plugins = pluginsDirectory({ "greeter.ts": GREETER });
      gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: plugins } });
      ui = await openConsole(fixtures().browser, gatehouse, screen);
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
    testGameDays(context);
    testPrices(context);
    testPlayground(context);
    testHistory(context);
  });
}
