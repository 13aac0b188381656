// Console tests in Chromium that need records of their own: sign-in, lists, and setup. `npm run test:browser`.
import { describe, setDefaultTimeout } from "bun:test";
import { testLists } from "./areas/lists.ts";
import { testOidcSignIn } from "./areas/oidc-sign-in.ts";
import { testSetup } from "./areas/setup.ts";
import { hasChromium } from "./console-session.ts";
import { useFixtures } from "./fixtures.ts";

setDefaultTimeout(60_000);

describe.if(hasChromium)("console", () => {
  const fixtures = useFixtures();

  testOidcSignIn(() => fixtures().browser);

  describe("lists", () => testLists(() => fixtures().browser));

  testSetup(fixtures);
});
