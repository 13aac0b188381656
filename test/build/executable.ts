// The single executable, started in an empty folder outside this repository. `npm run test:build` builds it first; it is not
// part of `npm test`, because the build takes longer than most tests.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeInputs, inputsFileOf } from "../../src/cli/executable-inputs.ts";
import { RUNTIME_ENVIRONMENT } from "../../src/cli/runtime-environment.ts";
import { connectRaw, type RawClient } from "../support/raw-client.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  LAUNCHER,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  untilPrinted,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  logged,
  pluginsDirectory,
  postChat,
  scripted,
  SCRIPTED_PLUGINS,
  writePlugin,
} from "../support/plugin-fixtures.ts";
import { CHAT, onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const BUILT = join(import.meta.dir, "../../dist/gatehouse");
const START_MS = 60_000;
/** More than Bun's default limit of concurrent outgoing requests, which only a variable set before its start can raise. */
const CONCURRENT_REQUESTS = 400;

/** A custom plugin in a folder with a second file, which imports the SDK by its public name. */
const signingPlugin = (signature: string) => ({
  "sign/index.ts": `
    import { definePlugin, z } from "gatehouse/sdk";
    import { signature } from "./signature.ts";
    export default definePlugin({
      name: "sign",
      description: "Signs requests.",
      stages: ["pre_request"],
      settings: z.strictObject({}),
      create: () => ({ pre_request: (context) => context.setHeader("x-signed", signature) }),
    });`,
  "sign/signature.ts": `export const signature: string = "${signature}";`,
});

let scratch: string;
let program: string;
let plugins: string;
let gatehouse: GatehouseProcess;
let provider: FakeProvider;

beforeAll(async () => {
  scratch = temporaryDirectory();
  // A copy outside the repository: the executable must not depend on files of the repository.
  program = join(scratch, "gatehouse");
  copyFileSync(BUILT, program);
  plugins = pluginsDirectory(signingPlugin("first"));
  const env = { PLUGINS_DIR: plugins };
  [gatehouse, provider] = await Promise.all([startGatehouseProcess({ program, env }), startFakeProvider()]);
}, START_MS);
afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
  for (const directory of [scratch, plugins]) rmSync(directory, { recursive: true, force: true });
});

function run(...args: readonly string[]): { code: number; stdout: string } {
  const env = { SERVER_SECRET_KEY: TEST_SECRET, GATEHOUSE_URL: gatehouse.adminUrl, TMPDIR: scratch };
  const { exitCode, stdout } = Bun.spawnSync([program, ...args], { cwd: scratch, env });
  return { code: exitCode, stdout: stdout.toString() };
}

describe("the executable", () => {
  test("includes migrations, API documents, and plugins, and forwards a request", async () => {
    provider.reset();
    const sanitation = {
      name: "code_sanitation",
      stage: "pre_request",
      settings: {
        languages: [{ language: "sql", enabled: true }],
        content_to_check: ["body"],
        action: "block",
      },
    };
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [sanitation] },
      upstream: { targets: [targetAt(provider)] },
    });
    expect((await postChat(gatehouse, route)).status).toBe(200);
    expect(onlyRequest(provider).json()).toEqual(CHAT);
    const attack = await postChat(gatehouse, route, { body: { q: "1' UNION SELECT a FROM b--" } });
    expect(attack.status).toBe(400);
    // A body above 256 kB is inspected in a worker thread, whose code is included as well.
    const q = `${"The report is long. ".repeat(20_000)} 1' UNION SELECT a FROM b--`;
    expect((await postChat(gatehouse, route, { body: { q } })).status).toBe(400);
    const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    expect(metrics).toContain('gatehouse_off_loop_tasks_total{result="completed"} 1');
    expect((await fetch(`${gatehouse.adminUrl}/api/docs`)).status).toBe(200);
    expect((await fetch(`${gatehouse.adminUrl}/api/openapi.json`)).status).toBe(200);
  });

  test("includes the built console", async () => {
    const page = await (await fetch(`${gatehouse.adminUrl}/console`)).text();
    const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    expect(files.filter((file) => /\.(js|css)$/.test(file))).toHaveLength(3);
    for (const file of files) expect((await fetch(gatehouse.adminUrl + file)).status).toBe(200);
  });

  test("loads custom plugins that import gatehouse/sdk, and reloads them when they change", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [{ name: "sign", stage: "pre_request" }] },
      upstream: { targets: [targetAt(provider)] },
    });
    const signed = async () => {
      provider.reset();
      await (await postChat(gatehouse, route)).text();
      return onlyRequest(provider).header("x-signed");
    };
    expect(await signed()).toBe("first");
    for (const [name, source] of Object.entries(signingPlugin("second"))) writePlugin(plugins, name, source);
    await waitUntil(async () => (await signed()) === "second");
    writePlugin(plugins, "broken.ts", "export default 1 +");
    await logged(gatehouse, "custom plugin failed to load; skipping it", { file: "broken.ts" });
  });

  test(`sends ${CONCURRENT_REQUESTS} concurrent requests to a provider, with the process id that was started`, async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    provider.reset();
    provider.behave({ delayMs: 120_000 });
    const body = JSON.stringify(CHAT);
    const clients: RawClient[] = [];
    for (let number = 0; number < CONCURRENT_REQUESTS; number++) {
      const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
      client.send(
        `POST ${route.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      clients.push(client);
    }
    await provider.until(() => provider.requestCount === CONCURRENT_REQUESTS, 30_000);
    for (const client of clients) client.disconnect();
    const environment = readFileSync(`/proc/${gatehouse.pid}/environ`, "utf8");
    for (const name of Object.keys(RUNTIME_ENVIRONMENT)) expect(environment).toContain(`${name}=`);
  }, 60_000);

  test("has an SBOM and checksums next to it", () => {
    const check = ["sha256sum", "--strict", "--check", "SHA256SUMS"];
    const { exitCode, stdout } = Bun.spawnSync(check, { cwd: dirname(BUILT) });
    expect(exitCode).toBe(0);
    for (const name of ["gatehouse", "gatehouse.cdx.json"])
      expect(stdout.toString()).toContain(`${name}: OK\n`);
    expect(JSON.parse(readFileSync(`${BUILT}.cdx.json`, "utf8"))).toMatchObject({ bomFormat: "CycloneDX" });
  });

  test("restarts itself if a plugin hangs", async () => {
    const directory = pluginsDirectory(SCRIPTED_PLUGINS);
    const env = { PLUGINS_DIR: directory, WATCHDOG_SECONDS: "2" };
    const watched = await startGatehouseProcess({ program, env });
    try {
      const loop = `if (context.headers.get("x-loop") !== null) for (;;) {}`;
      const route = await seedRoute(watched, {
        gateway: { required_plugins: [scripted("pre_request", loop)] },
        upstream: { targets: [targetAt(provider)] },
      });
      const hanging = postChat(watched, route, { headers: { "x-loop": "1" } }).catch(() => null);
      expect(await hanging).toBeNull();
      await untilPrinted(watched, "process hung; restarted by the watchdog");
      provider.reset();
      await waitUntil(async () => (await postChat(watched, route).catch(() => null))?.status === 200);
    } finally {
      await watched.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  }, 60_000);

  test("runs commands, including those that start it again as a child process", () => {
    expect(run("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(run("status")).toMatchObject({ code: 0, stdout: expect.stringContaining("is ready") });
    expect(run("token").stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const bench = run("bench", "--seconds", "1", "--json");
    expect(bench.code).toBe(0);
    expect(JSON.parse(bench.stdout)).toMatchObject({ failed: 0 });
  }, 60_000);

  test("creates a plugin in an empty folder, runs its tests, and serves it, with nothing else installed", async () => {
    const folder = temporaryDirectory();
    try {
      const env = { PATH: scratch, HOME: folder, TMPDIR: folder };
      const author = (...args: readonly string[]) => {
        const { exitCode, stderr } = Bun.spawnSync(["gatehouse", "plugin", ...args], { cwd: folder, env });
        return { code: exitCode, stderr: stderr.toString() };
      };
      expect(author("new", "hello")).toEqual({ code: 0, stderr: "" });
      expect(author("test")).toMatchObject({ code: 0, stderr: expect.stringContaining("2 pass") });
      const served = await startGatehouseProcess({ program, env: { PLUGINS_DIR: join(folder, "plugins") } });
      try {
        await logged(served, "custom plugin loaded", { plugin: "hello" });
      } finally {
        await served.stop();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);

  test("runs the demo", async () => {
    const demo = Bun.spawn([program, "demo"], {
      cwd: scratch,
      env: { TMPDIR: scratch, ADMIN_PORT: "0", PROXY_PORT: "0" },
      stdout: "pipe",
    });
    let printed = "";
    void (async () => {
      for await (const chunk of demo.stdout.pipeThrough(new TextDecoderStream())) printed += chunk;
    })();
    await untilPrinted({ output: () => printed }, "Ctrl-C stops the demo");
    expect(printed).toMatch(/^POST \S+ → 200, provider: /m);
    demo.kill("SIGTERM");
    expect(await demo.exited).toBe(0);
  }, 60_000);

  test("drains and exits with 0 on SIGTERM", async () => {
    const other = await startGatehouseProcess({ program, args: ["--role", "admin"] });
    other.signal("SIGTERM");
    expect(await other.exited).toBe(0);
    await other.stop();
  }, 60_000);
});

describe("the launcher", () => {
  const SOURCE = "src/cli/main.ts";

  /** Creates a project folder whose "Bun" prints that it runs the sources. */
  function projectFolder(): string {
    const project = temporaryDirectory();
    for (const folder of ["bin", "dist", "src/cli", "node_modules/.bin"])
      mkdirSync(join(project, folder), { recursive: true });
    copyFileSync(LAUNCHER, join(project, "bin/gatehouse"));
    linkSync(program, join(project, "dist/gatehouse"));
    writeFileSync(join(project, SOURCE), "first");
    writeFileSync(join(project, "node_modules/.bin/bun"), '#!/bin/sh\necho "sources: $*"\n', { mode: 0o755 });
    return project;
  }

  function launch(project: string, env: Record<string, string> = {}): string {
    const PATH = process.env["PATH"] ?? "";
    const { stdout } = Bun.spawnSync([join(project, "bin/gatehouse"), "--version"], {
      env: { PATH, ...env },
    });
    return stdout.toString().trim();
  }

  test("runs the executable while the sources are those that it was built from, else the sources", () => {
    const project = projectFolder();
    try {
      const sources = `sources: ${join(project, SOURCE)} --version`;
      expect(launch(project)).toBe(sources);
      const inputs = describeInputs(project, [SOURCE]);
      writeFileSync(inputsFileOf(join(project, "dist/gatehouse")), JSON.stringify(inputs));
      expect(launch(project)).toMatch(/^\d+\.\d+\.\d+$/);
      for (const env of [{ GATEHOUSE_FROM_SOURCES: "1" }, { BUN_OPTIONS: "--smol" }])
        expect(launch(project, env)).toBe(sources);
      writeFileSync(join(project, SOURCE), "other");
      expect(launch(project)).toBe(sources);
      expect(launch(project, { GATEHOUSE_CHECKED: "1" })).toBe(sources);
      writeFileSync(inputsFileOf(join(project, "dist/gatehouse")), "not JSON");
      expect(launch(project)).toBe(sources);
    } finally {
      rmSync(project, { recursive: true, force: true });
    }
  });

  test("starts a gateway that shares its ports between workers", async () => {
    const workers = await startGatehouseProcess({ program: LAUNCHER, env: { WORKERS: "2" } });
    try {
      const environment = readFileSync(`/proc/${workers.pid}/environ`, "utf8");
      expect(environment).toContain("GATEHOUSE_LAUNCHER=");
      expect(readFileSync(`/proc/${workers.pid}/cmdline`, "utf8")).toStartWith(BUILT);
      await logged(workers, "proxy listening", { worker: 2 });
    } finally {
      await workers.stop();
    }
  }, 60_000);
});
