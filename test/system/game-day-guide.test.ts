// The game day of the guide works as written: its file and its command, with clients that send the header of the guide meanwhile.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "../support/admin-fixtures.ts";
import { CHAT_REQUEST } from "../support/balancing-fixtures.ts";
import { temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(60_000);

const ROOT = join(import.meta.dir, "../..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/game-days.md"), "utf8");
const blocksIn = (language: string) =>
  [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, code = ""]) => code);

const folder = temporaryDirectory();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
symlinkSync(join(ROOT, "bin"), join(folder, "bin"));
const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);

test("the guide's file and command work as written, and the verdict is that a failover works", async () => {
  const [file = "", ...otherFiles] = blocksIn("yaml");
  const [command = "", ...otherCommands] = blocksIn("sh");
  expect([otherFiles, otherCommands]).toEqual([[], []]);
  const name = /^# (\S+\.yaml)$/m.exec(file)?.[1] ?? "";
  expect(command).toContain(` ${name} `);
  writeFileSync(join(folder, name), file);
  const gateway = /--gateway (\S+)/.exec(command)?.[1] ?? "";
  const target = { base_url: provider.url, path: "/v1/chat/completions" };
  const route = await seedRoute(gatehouse, {
    gateway: { name: gateway },
    upstream: {
      targets: [
        { ...target, provider: "first" },
        { ...target, provider: "second" },
      ],
      health_checks: { passive: false },
    },
  });
  const shell = Bun.spawn(["bash", "-c", `set -eu\n${command}`], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      SERVER_SECRET_KEY: TEST_SECRET,
      GATEHOUSE_URL: gatehouse.adminUrl,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const at = `/gateways/${route.gateway}/game-days`;
  const isOver = () => shell.exitCode !== null;
  await waitUntil(async () => isOver() || (await gatehouse.api("GET", at)).body.count === 1);
  const drill = /headers: \{ (\S+): /.exec(file)?.[1] ?? "";
  const send = async () => {
    const response = await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json", [drill]: "yes" },
      body: JSON.stringify(CHAT_REQUEST),
    });
    await response.text();
    return response.status;
  };
  // Less than ten per second.
  const statuses = new Set<number>();
  while (!isOver()) {
    const dueAt = performance.now() + 150;
    statuses.add(await send());
    await waitUntil(() => isOver() || performance.now() >= dueAt);
  }
  const [out, err, code] = await Promise.all([shell.stdout.text(), shell.stderr.text(), shell.exited]);
  expect({ out, code, err, last: out.trimEnd().split("\n").at(-1) }).toEqual({
    out,
    code: 0,
    err: "",
    last: "passed",
  });
  expect(out).toContain("refuse 20");
  expect([...statuses]).toEqual([200]);
});

test("the API paths of the guide exist", async () => {
  const gateway = await create(gatehouse, "/gateways", { name: "paths" });
  const at = `/gateways/${gateway.id}/game-days`;
  const ends_at = new Date(Date.now() + 60_000).toISOString();
  const { id } = await create(gatehouse, at, { name: "g", ends_at, faults: [{ type: "refuse" }] });
  expect((await gatehouse.api("GET", `${at}/${id}/state`)).status).toBe(200);
  expect((await gatehouse.api("POST", `${at}/${id}/stop`, {})).status).toBe(200);
});
