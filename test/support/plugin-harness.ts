// A running gateway, a fake provider, and the scripted plugins, for the tests of one file.
import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { rmSync } from "node:fs";
import {
  startFakeProvider,
  type FakeProvider,
  type RecordedRequest,
} from "../../src/fake-provider/server.ts";
import { startGatehouseOnSystemClock } from "./gatehouse-in-process.ts";
import type { RunningGatehouse } from "./gatehouse-process.ts";
import {
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  seedPlugins,
  type ChatCall,
  type Fields,
} from "./plugin-fixtures.ts";
import { onlyRequest, type SeededRoute } from "./proxy-fixtures.ts";

const START_MS = 60_000;
const MAX_BODY_BYTES = 1 << 20;

type RouteFields = NonNullable<Parameters<typeof seedPlugins>[3]>;

type Start<Gatehouse> = (options: { readonly env: Record<string, string> }) => Promise<Gatehouse>;

class PluginHarness<Gatehouse extends RunningGatehouse> {
  readonly #startGatehouse: Start<Gatehouse>;
  #gatehouse: Gatehouse | null = null;
  #provider: FakeProvider | null = null;
  #directory: string | null = null;

  constructor(startGatehouse: Start<Gatehouse>) {
    this.#startGatehouse = startGatehouse;
  }

  async start(plugins: Readonly<Record<string, string>>): Promise<void> {
    this.#directory = pluginsDirectory({ ...SCRIPTED_PLUGINS, ...plugins });
    const env = { PLUGINS_DIR: this.#directory, MAX_BODY_BYTES: String(MAX_BODY_BYTES) };
    [this.#gatehouse, this.#provider] = await Promise.all([
      this.#startGatehouse({ env }),
      startFakeProvider(),
    ]);
  }

  async stop(): Promise<void> {
    await this.#gatehouse?.stop();
    await this.#provider?.stop();
    if (this.#directory !== null) rmSync(this.#directory, { recursive: true, force: true });
  }

  get gatehouse(): Gatehouse {
    if (this.#gatehouse === null) throw new Error("the gateway is not started yet");
    return this.#gatehouse;
  }

  get provider(): FakeProvider {
    if (this.#provider === null) throw new Error("the provider is not started yet");
    return this.#provider;
  }

  /** Creates a gateway with these plugins and one route to the provider. */
  seed(plugins: readonly Fields[], fields: RouteFields = {}): Promise<SeededRoute> {
    return seedPlugins(this.gatehouse, this.provider, plugins, fields);
  }

  post(route: SeededRoute, call: ChatCall = {}): Promise<Response> {
    return postChat(this.gatehouse, route, call);
  }

  /** Creates a gateway with these plugins and posts one chat to it. */
  async call(plugins: readonly Fields[], call: ChatCall = {}, fields: RouteFields = {}): Promise<Response> {
    return this.post(await this.seed(plugins, fields), call);
  }

  /** The only request that the provider has received in this test. */
  get sentRequest(): RecordedRequest {
    return onlyRequest(this.provider);
  }
}

/** Starts the harness before the tests of a file and stops it after them. `plugins` are further plugin files. */
export function usePluginHarness(plugins: Readonly<Record<string, string>> = {}) {
  return usePluginHarnessOf(startGatehouseOnSystemClock, plugins);
}

/** Like `usePluginHarness`, with another kind of gateway. */
export function usePluginHarnessOf<Gatehouse extends RunningGatehouse>(
  startGatehouse: Start<Gatehouse>,
  plugins: Readonly<Record<string, string>>,
): PluginHarness<Gatehouse> {
  const harness = new PluginHarness(startGatehouse);
  beforeAll(() => harness.start(plugins), START_MS);
  afterAll(() => harness.stop());
  beforeEach(() => harness.provider.reset());
  return harness;
}

/** Expects an error response in the gateway's format, with the id of its request. */
export async function expectFailed(response: Response, status = 500, code = "plugin_failed"): Promise<void> {
  const body = (await response.json()) as Fields;
  expect({ status: response.status, code: body["code"] }).toEqual({ status, code });
  expect(body["request_id"]).toBe(response.headers.get("x-request-id"));
  expect(body["error"]).toBeString();
}

/** Code that appends a letter to a header of the request and of the response, which shows the order of the plugins. */
export function appendToTrail(letter: string): string {
  return (
    `const trail = context.forwardedHeaders.get("x-trail") ?? ""; ` +
    `context.setHeader("x-trail", trail + "${letter}"); context.setResponseHeader("X-Trail", trail + "${letter}");`
  );
}
