// Console tests in Chromium with 1,500 gateways, and of every page with long names: `npm run test:browser`.
import { describe, setDefaultTimeout } from "bun:test";
import { testScale } from "./areas/scale.ts";
import { hasChromium } from "./console-session.ts";
import { useFixtures } from "./fixtures.ts";

setDefaultTimeout(60_000);

describe.if(hasChromium)("console", () => {
  const fixtures = useFixtures();

  describe("with 1,500 gateways", () => testScale(() => fixtures().browser));
});
