// Console tests in Chromium on a phone screen: `npm run test:browser`.
import { PHONE } from "./console-session.ts";
import { testScreen } from "./screen.ts";

testScreen(PHONE);
