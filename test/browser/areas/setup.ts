// Setting up a gateway: on its own gateway process, on both screens.
import { afterAll, beforeAll, describe } from "bun:test";
import type { Browser } from "playwright-core";
import type { FakeProvider } from "../../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../../support/gatehouse-process.ts";
import { openConsole, SCREENS, type ConsoleSession } from "../console-session.ts";
import { testImportExport } from "./import-export.ts";
import { testProviderSetup } from "./provider-setup.ts";
import { testRoutes } from "./routes.ts";
import { testVirtualModels } from "./virtual-models.ts";

interface SetupContext {
  readonly ui: ConsoleSession;
  readonly gatehouse: GatehouseProcess;
  readonly healthy: FakeProvider;
  readonly failing: FakeProvider;
  /** Id of the gateway, which has no records at first. */
  readonly gateway: string;
}

export type GetSetupContext = () => SetupContext;

export function testSetup(
  providers: () => { browser: Browser; healthy: FakeProvider; failing: FakeProvider },
): void {
  describe.each(SCREENS.map((screen) => [screen.name, screen] as const))("setup on a %s", (_, screen) => {
    let gatehouse: GatehouseProcess;
    let ui: ConsoleSession;
    let gateway: string;
    const context = () => ({ ui, gatehouse, gateway, ...providers() });

    beforeAll(async () => {
      gatehouse = await startGatehouseProcess();
      gateway = (await gatehouse.api("POST", "/gateways", { name: "acme" })).body.id;
      ui = await openConsole(providers().browser, gatehouse, screen);
      await ui.signIn();
    });

    afterAll(async () => {
      await ui.close();
      await gatehouse.stop();
    });

    testProviderSetup(context);
    testImportExport(context);
    testRoutes(context);
    testVirtualModels(context);
  });
}
