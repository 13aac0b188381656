// The guide to custom plugins works as written: its plugin is saved while the gateway runs, its commands are pasted in
// order into one shell, and its test is run.
import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM, temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { CHAT, onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const ROOT = join(import.meta.dir, "../..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/custom-plugin.md"), "utf8");

function blocksIn(language: string): string[] {
  return [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, code = ""]) => code,
  );
}

/** A checkout as the guide expects it: with plugins/ and the SDK under its package name. */
const folder = temporaryDirectory();
const [, pluginFile = ""] = /Save it as `(plugins\/[\w.-]+\.ts)`/.exec(GUIDE) ?? [];
const [pluginSource = "", textSource = "", testSource = "", limitSource = ""] = blocksIn("ts");

for (const part of ["src", "node_modules", "scripts", "package.json", "tsconfig.json"])
  symlinkSync(join(ROOT, part), join(folder, part));
mkdirSync(join(folder, "plugins"));
const env = { PLUGINS_DIR: join(folder, "plugins") };
const [gatehouse, provider] = await Promise.all([useGatehouseProcess({ env }), useFakeProvider()]);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function run(command: readonly string[], env: Record<string, string> = {}): { code: number; output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  return { code: exitCode, output: stdout.toString() + stderr.toString() };
}

async function runShell(script: string, gateway: string): Promise<string> {
  const shell = Bun.spawn(["bash", "-c", `set -eu\n${script}`], {
    cwd: folder,
    env: { PATH: process.env["PATH"], SERVER_SECRET_KEY: TEST_SECRET, GATEWAY: gateway },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
  ]);
  expect(errors).toBe("");
  expect(await shell.exited).toBe(0);
  return output;
}

test("from an empty file to a running plugin", async () => {
  expect(pluginFile).not.toBe("");
  const route = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider)] },
    rule: { path: "/v1/chat/completions" },
  });
  writeFileSync(join(folder, pluginFile), pluginSource);
  const name = /name: "(\w+)"/.exec(pluginSource)?.[1] ?? "";
  await waitUntil(async () => {
    const { body } = await gatehouse.api("GET", "/plugins");
    return body.plugins.some((plugin: { name: string }) => plugin.name === name);
  });

  const replaced = blocksIn("sh")
    .join("\n")
    .replaceAll("http://127.0.0.1:8080", gatehouse.adminUrl)
    .replaceAll("http://127.0.0.1:8081", gatehouse.proxyUrl);
  expect(replaced).not.toMatch(/:808[01]\b/);
  const output = await runShell(replaced, route.gateway);

  expect(output).toContain(`"name":"${name}"`);
  expect(output).toContain("HTTP/1.1 200 OK");
  const [, header = "", value = ""] = /The response has the header `([\w-]+): (\d+)`/.exec(GUIDE) ?? [];
  expect(header).not.toBe("");
  expect(output.toLowerCase()).toContain(`\r\n${header}: ${value}\r\n`);
  expect(JSON.stringify(onlyRequest(provider).json())).not.toContain("please");
}, 60_000);

test("the plugin that works on text replaces a word that two events share", () => {
  writeFileSync(join(folder, "text-plugin.ts"), textSource);
  const program = `
    import { testPlugin } from "gatehouse/sdk/testing";
    import plugin from "./text-plugin.ts";
    const { text } = await testPlugin(plugin, {}).responseText(["Ask AC", "ME ", "now"]);
    console.log(text);`;
  const { output } = run([process.execPath, "-e", program]);
  expect(output).toBe("Ask Example Inc. now\n");
});

test("its test passes, and fails if the plugin is wrong", () => {
  const testFile = pluginFile.replace(/\.ts$/, ".test.ts");
  writeFileSync(join(folder, pluginFile), pluginSource);
  writeFileSync(join(folder, testFile), testSource);
  const [, command = ""] = /run `bin\/gatehouse (plugin test \w+)`/.exec(GUIDE) ?? [];
  const tests = [PROGRAM, ...command.split(" ")];
  const right = run(tests);
  expect(right.output).toContain("1 pass");
  expect(right.code).toBe(0);
  writeFileSync(join(folder, pluginFile), pluginSource.replace('parts.join("")', "text"));
  expect(run(tests).code).toBe(1);
}, 60_000);

test("the tests of the full example pass without a server", () => {
  const [, example = ""] = /`(plugins\/[\w-]+\.test\.ts)` is a complete example/.exec(GUIDE) ?? [];
  for (const file of [example, example.replace(".test", "")]) cpSync(join(ROOT, file), join(folder, file));
  const { code, output } = run([process.execPath, "test", `./${example}`]);
  expect(output).toContain("0 fail");
  expect(code).toBe(0);
}, 60_000);

test("the plugin with a limit rejects what does not fit, counts nothing then, and is explained", async () => {
  writeFileSync(join(folder, "plugins", "image_limit.ts"), limitSource);
  await waitUntil(async () => {
    const { body } = await gatehouse.api("GET", "/plugins");
    return body.plugins.some((plugin: { name: string }) => plugin.name === "image_limit");
  });
  const settings = { per_day: 10 };
  const route = await seedRoute(gatehouse, {
    gateway: { required_plugins: [{ name: "image_limit", stage: "pre_request", settings }] },
    upstream: { targets: [targetAt(provider)] },
    rule: { path: "/v1/images" },
  });
  const send = async (n: number) => {
    const response = await fetch(`${gatehouse.proxyUrl}${route.path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, n }),
    });
    await response.text();
    return [response.status, response.headers.get("x-images-remaining")];
  };
  const sent = [];
  for (const n of [4, 7, 6, 1]) sent.push(await send(n));
  expect(sent).toEqual([
    [200, "6"],
    [429, "6"],
    [200, "0"],
    [429, "0"],
  ]);
  const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
    method: "POST",
    path: route.path,
    body: { ...CHAT, n: 1 },
  });
  expect(body).toMatchObject({
    limits: [{ type: "images", limit: 10, remaining: 0, window: "1d" }],
    plugins: [{ name: "image_limit", verdict: "answered" }],
    answer: { status: 429, code: "image_limit" },
  });
});
