// The browser and the fake providers that the test files of the console share.
import { afterAll, beforeAll } from "bun:test";
import type { Browser } from "playwright-core";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { launchBrowser } from "./console-session.ts";

interface Fixtures {
  browser: Browser;
  /** Streams a response. */
  healthy: FakeProvider;
  /** Always responds with 503. */
  failing: FakeProvider;
}

/** Starts them before the tests of the current group, and stops them afterwards. Call the result within a test. */
export function useFixtures(): () => Fixtures {
  let fixtures: Fixtures;

  beforeAll(async () => {
    const [browser, healthy, failing] = await Promise.all([
      launchBrowser(),
      startFakeProvider({ name: "good" }),
      startFakeProvider({ name: "broken" }),
    ]);
    healthy.behave({ text: "Hello from the fake provider, word by word.", chunkDelayMs: 5 });
    failing.behave({ status: 503 });
    fixtures = { browser, healthy, failing };
  });

  afterAll(async () => {
    const { browser, healthy, failing } = fixtures;
    await browser.close();
    await Promise.all([healthy.stop(), failing.stop()]);
  });

  return () => fixtures;
}
