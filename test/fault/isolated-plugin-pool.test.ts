// Isolated plugins whose requests loop or exit beside other requests of the same plugin and gateway: only their own requests fail.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import {
  asynchronous,
  logRecords,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  seedPlugins,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { CHAT, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const TEST_MS = 120_000;
/** Does what the request asks for. */
const MISBEHAVE = `
  const what = context.headers.get("x-do");
  if (what === "loop") { host.log("warn", "loop begins"); while (true) {} }
  if (what === "exit") process.exit(0);
  if (what === "exit later") { await new Promise((resolve) => setTimeout(resolve, 300)); process.exit(0); }
  if (what === "wait") { host.log("warn", "wait begins"); await new Promise((resolve) => setTimeout(resolve, 1500)); }
  if (what === "count") { await host.counters.admit([]); host.log("warn", "count begins"); await new Promise((resolve) => setTimeout(resolve, 1500)); }
  context.setResponseHeader("X-Ran", "1");`;

/** Inspects texts: the code in its settings is a hook, for requests and for the texts of responses. */
const GUARD = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "guard",
    description: "Runs the code in its settings.",
    stages: ["pre_request", "pre_response"],
    needs: ["body", "text"],
    settings: z.strictObject({ request: z.string(), response: z.string() }),
    create({ request, response }, host) {
      const hookOf = (code) => {
        const hook = new Function("context", "host", "return (async () => {" + code + "})()");
        return (context) => hook(context, host);
      };
      return { pre_request: hookOf(request), response_text: hookOf(response) };
    },
  });`;
const guard = (fields: { request?: string; response?: string }, entry: Fields) => ({
  name: "guard",
  stage: "pre_request",
  on_error: "continue",
  settings: { request: "", response: "", ...fields },
  ...entry,
});

let provider: FakeProvider;
let gatehouse: GatehouseProcess;
const directory = pluginsDirectory({ ...SCRIPTED_PLUGINS, "guard.ts": GUARD });

beforeAll(async () => {
  provider = await startFakeProvider();
  gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: directory } });
}, TEST_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

const seed = (isolation: string, fields: Fields = {}) =>
  seedPlugins(gatehouse, provider, [
    scripted("pre_request", asynchronous(MISBEHAVE), { isolation, ...fields }),
  ]);

const ask = (route: SeededRoute, what: string, tag = "") =>
  postChat(gatehouse, route, { headers: { "x-do": what, "x-tag": tag } });

const outcomeOf = async (response: Response) => {
  const body = (await response.json()) as { readonly code?: string };
  return [response.status, body.code ?? response.headers.get("x-ran")];
};
const SERVED = [200, "1"];
const crashesOf = (route: SeededRoute) =>
  logRecords(gatehouse).filter(
    ({ msg, gateway_id }) => msg === "isolated plugin crashed" && gateway_id === route.gateway,
  );
const logged = (message: string) =>
  logRecords(gatehouse).filter(({ msg }) => String(msg).includes(message)).length;

/** Starts requests, and resolves when their hooks have begun. */
async function begun(message: string, start: () => Promise<Response>[]): Promise<Promise<Response>[]> {
  const before = logged(message);
  const started = start();
  await waitFor(() => (logged(message) >= before + started.length ? true : null));
  return started;
}

describe.each(["worker", "process"])("isolation %s", (isolation) => {
  test(
    "requests beside one that loops are served, and those that come meanwhile",
    async () => {
      const route = await seed(isolation);
      expect(await outcomeOf(await ask(route, "nothing"))).toEqual(SERVED);
      const waiting = await begun("wait begins", () => [ask(route, "wait"), ask(route, "wait", "2")]);
      const [looping] = await begun("loop begins", () => [ask(route, "loop")]);
      const others = Array.from({ length: 10 }, () => ask(route, "nothing"));
      for (const other of [...others, ...waiting]) expect(await outcomeOf(await other)).toEqual(SERVED);
      expect(await outcomeOf((await looping) ?? new Response())).toEqual([500, "plugin_failed"]);
    },
    TEST_MS,
  );

  test(
    "requests beside one that exits are served, and its bytes are quarantined although on_error is continue",
    async () => {
      const route = await seed(isolation, { on_error: "continue" });
      const waiting = await begun("wait begins", () => [ask(route, "wait"), ask(route, "wait", "2")]);
      const exiting = ask(route, "exit");
      const others = Array.from({ length: 10 }, () => ask(route, "nothing"));
      for (const other of [...others, ...waiting]) expect(await outcomeOf(await other)).toEqual(SERVED);
      expect(await outcomeOf(await exiting)).toEqual([503, "plugin_quarantined"]);
      // Beside the others, and alone. The last one may be logged after the response.
      const crashes = 2;
      await waitFor(() => (crashesOf(route).length >= crashes ? true : null));
      const again = await ask(route, "exit");
      expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await outcomeOf(again)).toEqual([503, "plugin_quarantined"]);
      expect(crashesOf(route)).toHaveLength(crashes);
      expect(await outcomeOf(await ask(route, "exit later", "other bytes"))).toEqual([
        503,
        "plugin_quarantined",
      ]);
      // The body has crashed the plugin in two different requests: other headers do not help.
      const all = crashesOf(route).length;
      expect(await outcomeOf(await ask(route, "exit", "a third"))).toEqual([503, "plugin_quarantined"]);
      expect(crashesOf(route)).toHaveLength(all);
      const body = { ...CHAT, user: "another body" };
      expect(await outcomeOf(await postChat(gatehouse, route, { body }))).toEqual(SERVED);
    },
    TEST_MS,
  );

  test(
    "a hook that has counted is not repeated, and its request fails",
    async () => {
      const route = await seed(isolation);
      const counting = await begun("count begins", () => [ask(route, "count")]);
      expect(await outcomeOf(await ask(route, "exit"))).toEqual([503, "plugin_quarantined"]);
      const before = logged("count begins");
      expect(await outcomeOf((await counting[0]) ?? new Response())).toEqual([500, "plugin_failed"]);
      expect(logged("count begins")).toBe(before);
    },
    TEST_MS,
  );

  describe("a guard is not switched off by on_error continue", () => {
    const ends = (code: string) => `if (context.headers.has("x-end")) { ${code} }`;
    /** A service that the guard asks before it ends; the hook is not repeated then. */
    const ASK = `await context.callService("helper", { body: { messages: [] } }).catch(() => null);`;
    const send = (route: SeededRoute, headers: Record<string, string>) =>
      postChat(gatehouse, route, { headers });
    const seedGuard = async (entry: Fields, fields: { request?: string; response?: string }) => {
      provider.reset();
      return seedPlugins(gatehouse, provider, [guard(fields, { isolation, ...entry })]);
    };
    const FAILED = ["500 plugin_failed", "503 plugin_quarantined"];
    const codeOf = async (response: Response) =>
      `${response.status} ${((await response.json()) as { readonly code?: string }).code ?? ""}`;

    test.each([
      ["exits", "process.exit(0);"],
      ["exits after it has asked a service", `${ASK} process.exit(0);`],
      ["exits after it has counted", "await host.counters.admit([]); process.exit(0);"],
      ["loops", "while (true) {}"],
      ["loops after it has waited", "await new Promise((done) => setTimeout(done, 10)); while (true) {}"],
      ["never ends", "await new Promise(() => {});"],
    ])(
      "whose hook %s",
      async (_, code) => {
        const route = await seedGuard({}, { request: ends(code) });
        expect((await send(route, {})).status).toBe(200);
        expect(provider.requestCount).toBe(1);
        expect(FAILED).toContain(await codeOf(await send(route, { "x-end": "1" })));
        expect(provider.requestCount).toBe(1);
        expect((await send(route, {})).status).toBe(200);
      },
      TEST_MS,
    );

    test(
      "by other requests that keep it busy",
      async () => {
        const route = await seedGuard({}, { request: ends("while (true) {}") });
        const busy = Array.from({ length: 6 }, (_, index) => send(route, { "x-end": String(index) }));
        const others = Array.from({ length: 10 }, () => send(route, {}));
        const statuses = (await Promise.all([...busy, ...others])).map(({ status }) => status);
        expect(statuses.slice(0, 6).every((status) => status >= 500)).toBe(true);
        // Whatever became of the others, none has passed uninspected.
        expect(provider.requestCount).toBe(statuses.filter((status) => status === 200).length);
      },
      TEST_MS,
    );

    test(
      "whose hook for texts of the response exits",
      async () => {
        const route = await seedGuard({}, { response: "process.exit(0);" });
        expect(FAILED).toContain(await codeOf(await send(route, {})));
      },
      TEST_MS,
    );

    test(
      "but on_error decides about an error that it throws, and shadow mode rejects nothing",
      async () => {
        const throwing = await seedGuard({}, { request: 'throw new Error("broken")' });
        expect((await send(throwing, {})).status).toBe(200);
        const shadow = await seedGuard({ mode: "shadow" }, { request: "process.exit(0);" });
        expect((await send(shadow, {})).status).toBe(200);
      },
      TEST_MS,
    );
  });
});
