// Isolated plugins that loop, exit, throw in a timer, wait too long, or use too much memory: other requests are served meanwhile, and the
// plugin is restarted and reported.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import {
  logRecords,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  seedPlugins,
} from "../support/plugin-fixtures.ts";
import { CHAT, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const TEST_MS = 60_000;
const MEMORY_MB = 256;
/** Does what the request asks for. */
const MISBEHAVE = `
  const what = context.headers.get("x-do");
  if (what === "loop") while (true) {}
  if (what === "exit") process.exit(0);
  if (what === "throw") { setTimeout(() => { throw new Error("thrown by a timer"); }); return new Promise(() => {}); }
  if (what === "wait") return new Promise((resolve) => setTimeout(resolve, 10000));
  if (what === "allocate") { const kept = []; for (let n = 0; n < 4096; n++) kept.push(new Uint8Array(1048576).fill(n)); }
  if (what === "pid") context.respond({ status: 200, body: { pid: process.pid } });
  context.setResponseHeader("X-Ran", "1");`;

let provider: FakeProvider;
let gatehouse: GatehouseProcess;
const directory = pluginsDirectory(SCRIPTED_PLUGINS);

beforeAll(async () => {
  provider = await startFakeProvider();
  const env = { PLUGINS_DIR: directory, PLUGIN_MEMORY_MB: String(MEMORY_MB) };
  gatehouse = await startGatehouseProcess({ env });
}, TEST_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

const seed = (isolation: string) =>
  seedPlugins(gatehouse, provider, [scripted("pre_request", MISBEHAVE, { isolation })]);

const ask = (route: SeededRoute, what: string, number = 0) =>
  postChat(gatehouse, route, { headers: { "x-do": what }, body: { ...CHAT, user: String(number) } });

/** Posts chats to another gateway until `pending` settles, and returns how many were served. */
async function serveBeside(route: SeededRoute, pending: Promise<unknown>): Promise<number> {
  let isPending = true;
  void pending.finally(() => (isPending = false));
  let served = 0;
  do {
    expect((await postChat(gatehouse, route)).status).toBe(200);
    served++;
  } while (isPending);
  return served;
}

const crashes = (gatewayId: string) =>
  logRecords(gatehouse).filter(
    (line) => line.msg === "isolated plugin crashed" && line.gateway_id === gatewayId,
  );

describe.each(["worker", "process"])("isolation %s", (isolation) => {
  test.each([
    ["loop", "did not finish within 5000 ms"],
    ["wait", "did not finish within 5000 ms"],
    ["exit", isolation === "process" ? "exit code 0" : "exited"],
    ["throw", isolation === "process" ? "exit code 1" : "thrown by a timer"],
    ...(isolation === "process" ? [["allocate", "MB of memory"]] : []),
  ])(
    "%s: only its own request fails, and the plugin is restarted",
    async (what, reason) => {
      const isOverTime = what === "loop" || what === "wait";
      const route = await seed(isolation);
      const other = await seed("inline");
      const misbehaving = ask(route, what);
      const served = await serveBeside(other, misbehaving);
      expect(served).toBeGreaterThan(0);
      const response = await misbehaving;
      // A hook that takes all of its time cannot be repeated; another one has crashed the plugin a second time.
      const expected = isOverTime ? [500, "plugin_failed"] : [503, "plugin_quarantined"];
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual(expected);
      const crash = await waitFor(() => crashes(route.gateway)[0] ?? null);
      expect(crash).toMatchObject({ isolation, plugin: "scripted", restart_in_ms: 0 });
      expect(crash.reason).toContain(reason);
      await waitUntil(async () => (await ask(route, "nothing")).headers.get("x-ran") === "1");
    },
    TEST_MS,
  );
});

test(
  "a plugin that crashes five times within a minute is faulty in /readyz, which stays ready",
  async () => {
    const route = await seed("process");
    let number = 0;
    await waitFor(async () => {
      await (await ask(route, "exit", ++number)).text();
      return crashes(route.gateway).length >= 5 ? true : null;
    });
    const readiness = await fetch(`${gatehouse.adminUrl}/readyz`);
    expect(readiness.status).toBe(200);
    const { faulty_plugins } = (await readiness.json()) as { faulty_plugins?: Record<string, string> };
    expect(faulty_plugins?.[`${route.gateway}/scripted`]).toContain("crashes within a minute");
    // Further isolates of the pool are not restarted.
    const delays = crashes(route.gateway).flatMap(({ restart_in_ms }) => restart_in_ms ?? []);
    expect(delays).toEqual([0, 100, 200, 400, 800].slice(0, delays.length));
    expect((await ask(route, "nothing")).headers.get("x-ran")).toBe("1");
  },
  TEST_MS,
);

test(
  "a process ends with its entry's gateway process, even if it loops",
  async () => {
    const env = { PLUGINS_DIR: directory };
    const killed = await startGatehouseProcess({ env });
    const plugins = [scripted("pre_request", MISBEHAVE, { isolation: "process" })];
    const route = await seedPlugins(killed, provider, plugins);
    const found = await postChat(killed, route, { headers: { "x-do": "pid" } });
    const { pid } = (await found.json()) as { pid: number };
    expect(isRunning(pid)).toBe(true);
    postChat(killed, route, { headers: { "x-do": "loop" } }).catch(() => undefined);
    await waitUntil(() => cpuTicks(pid) > 20);
    killed.signal("SIGKILL");
    await killed.exited;
    await waitUntil(() => !isRunning(pid));
    await killed.stop();
  },
  TEST_MS,
);

test.skipIf(process.getuid?.() !== 0)(
  "PLUGIN_USER: processes run as that user, without other groups; a user that does not exist fails the start",
  async () => {
    const env = { PLUGINS_DIR: directory, PLUGIN_USER: "nobody" };
    const other = await startGatehouseProcess({ env });
    try {
      const code = `context.respond({ status: 200, body: { uid: process.getuid(), groups: process.getgroups() } })`;
      const route = await seedPlugins(other, provider, [
        scripted("pre_request", code, { isolation: "process" }),
      ]);
      const { uid, groups } = (await (await postChat(other, route)).json()) as {
        uid: number;
        groups: number[];
      };
      expect(uid).toBeGreaterThan(0);
      expect(groups).not.toContain(0);
    } finally {
      await other.stop();
    }
    const failed = await startGatehouseProcess({ env: { PLUGIN_USER: "no-such-user" } }).catch(
      (error: unknown) => String(error),
    );
    expect(failed).toContain('PLUGIN_USER is "no-such-user", which is not a user in /etc/passwd');
  },
  TEST_MS,
);

function isRunning(pid: number): boolean {
  return (
    readdirSync("/proc").includes(String(pid)) && !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ")
  );
}

/** Processor time of a process in clock ticks. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}
