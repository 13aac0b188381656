// Console tests in Chromium on a desktop screen: `npm run test:browser`.
import { DESKTOP } from "./console-session.ts";
import { testScreen } from "./screen.ts";

testScreen(DESKTOP);
