// Replacing ENCRYPTION_KEY as the guide describes: several keys, gatehouse rewrap while a node runs, and doctor.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { rmSync } from "node:fs";
import { create, STORES } from "../support/admin-fixtures.ts";
import {
  PROGRAM,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
} from "../support/gatehouse-process.ts";
import { CHAT, onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";

setDefaultTimeout(120_000);
const provider = await useFakeProvider();
const credentials = { header_name: "Authorization", header_value: "Bearer sk-rotated-0123456789" };
const headers = { "X-Api-Key": "header-rotated-0123456789" };

async function command(args: readonly string[], env: Record<string, string>) {
  const child = Bun.spawn([PROGRAM, ...args], {
    env: {
      PATH: process.env["PATH"],
      SERVER_SECRET_KEY: TEST_SECRET,
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      ...env,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

describe.each(STORES)("ENCRYPTION_KEY with %s", (_, environment) => {
  test("is replaced without losing a secret, with gatehouse rewrap while a node runs", async () => {
    const dataDir = temporaryDirectory();
    const store = { ...(await environment()), DATA_DIR: dataDir };
    const start = (ENCRYPTION_KEY: string) =>
      startGatehouseProcess({ dataDir, keepData: true, env: { ...store, ENCRYPTION_KEY } });
    const secretsCheck = async (ENCRYPTION_KEY: string) => {
      const { stdout } = await command(["doctor"], { ...store, ENCRYPTION_KEY });
      return stdout.split("\n").find((line) => / secrets /.test(line)) ?? stdout;
    };

    const first = await start("the old key");
    const route = await seedRoute(first, {
      upstream: { targets: [targetAt(provider, { credentials, headers })] },
    });
    await first.stop();
    const second = await start("the new key, the old key");
    try {
      expect(await secretsCheck("the new key,the old key")).toMatch(
        /^warn .*older key; fix: .*gatehouse rewrap/,
      );
      const early = await command(["serve"], { ...store, ENCRYPTION_KEY: "the new key" });
      expect(early.code).toBe(1);
      expect(early.stderr + early.stdout).toContain("Set ENCRYPTION_KEY to that key");
      const rewrapped = await command(["rewrap"], { ...store, ENCRYPTION_KEY: "the new key,the old key" });
      expect(rewrapped).toMatchObject({ code: 0, stderr: "" });
      expect(rewrapped.stdout).toBe(
        "rewrapped 4 of 4 stored secrets\nolder keys can be removed from ENCRYPTION_KEY\n",
      );
      const again = await command(["rewrap", "--json"], {
        ...store,
        ENCRYPTION_KEY: "the new key,the old key",
      });
      expect(JSON.parse(again.stdout)).toMatchObject({ rewrapped: 0, newest: 4, older: 0, unreadable: 0 });
      // The running node reads and writes as before.
      const path = `/gateways/${route.gateway}/upstreams/${route.upstream}`;
      expect((await second.api("PATCH", path, { name: "renamed" })).status).toBe(200);
      await create(second, "/gateways", { name: "another" });
    } finally {
      await second.stop();
    }
    expect(await secretsCheck("the new key")).toMatch(/^ok .*all encrypted with the newest key/);
    const third = await start("the new key");
    try {
      provider.reset();
      const body = JSON.stringify(CHAT);
      expect((await fetch(third.proxyUrl + route.path, { method: "POST", body })).status).toBe(200);
      const sent = new Map(onlyRequest(provider).headers.map(([name, value]) => [name.toLowerCase(), value]));
      expect(sent.get("authorization")).toBe(credentials.header_value);
      expect(sent.get("x-api-key")).toBe(headers["X-Api-Key"]);
    } finally {
      await third.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

test("a node without the key that another one encrypts with does not start, and says which setting to change", async () => {
  const dataDir = temporaryDirectory();
  try {
    for (const ENCRYPTION_KEY of ["the old key", "the new key,the old key"]) {
      const node = await startGatehouseProcess({ dataDir, keepData: true, env: { ENCRYPTION_KEY } });
      await seedRoute(node, { upstream: { targets: [targetAt(provider, { credentials })] } });
      await node.stop();
    }
    const { code, stderr } = await command(["serve"], { DATA_DIR: dataDir, ENCRYPTION_KEY: "the old key" });
    expect(code).toBe(1);
    expect(stderr).toBe(
      "gatehouse: A stored secret cannot be decrypted with any key of ENCRYPTION_KEY; add the key that encrypted it.\n",
    );
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

describe("gatehouse rewrap", () => {
  test("reports a missing database, a missing key and a wrong key in one line, and creates nothing", async () => {
    const dataDir = temporaryDirectory();
    try {
      const missing = await command(["rewrap"], { DATA_DIR: dataDir });
      expect(missing).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^gatehouse: there is no database at /),
      });
      const keyless = await command(["rewrap"], { DATA_DIR: dataDir, SERVER_SECRET_KEY: "" });
      expect(keyless).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^gatehouse: there is no key: set /),
      });
      expect(await Bun.file(join(dataDir, "gatehouse.db")).exists()).toBe(false);
      const used = await startGatehouseProcess({ dataDir, keepData: true });
      await used.stop();
      const wrong = await command(["rewrap"], { DATA_DIR: dataDir, ENCRYPTION_KEY: "wrong" });
      expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("encrypted with another key") });
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
