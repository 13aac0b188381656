// gatehouse plugin: a plugin author creates a plugin, runs its test, and finds it in a running gateway. No package is installed.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM, startGatehouseProcess, temporaryDirectory } from "../support/gatehouse-process.ts";
import { postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { expectOneLine, runCommand } from "../support/run-command.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const folder = temporaryDirectory();
const dir = join(folder, "plugins");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const provider = await useFakeProvider();

const run = (...args: readonly string[]) => runCommand(["plugin", ...args], { PLUGINS_DIR: dir });

/** Runs the program in the folder, without a Bun on the PATH. */
function start(...args: readonly string[]): { code: number; output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([PROGRAM, "plugin", ...args], {
    cwd: folder,
    env: { PATH: "/usr/bin:/bin" },
  });
  return { code: exitCode, output: stdout.toString() + stderr.toString() };
}

/** Returns the type errors in the folder of the plugins. */
function typeErrors(): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, "check", "-p", dir], { cwd: folder });
  return exitCode === 0 ? "" : stdout.toString() + stderr.toString();
}

test("a new plugin passes its test and the type checker, and a gateway loads it", async () => {
  const created = start("new", "say_hello");
  expect(created.code).toBe(0);
  expect(created.output).toContain("gatehouse plugin test say_hello");
  for (const file of ["say_hello.ts", "say_hello.test.ts", "tsconfig.json", ".gatehouse"])
    expect(created.output).toContain(`created plugins/${file}`);
  const tested = start("test");
  expect(tested.output).toContain(" 2 pass\n 0 fail");
  expect(tested.code).toBe(0);
  expect(typeErrors()).toBe("");

  const gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: dir } });
  try {
    const route = await seedPlugins(gatehouse, provider, [
      { name: "say_hello", stage: "pre_request", settings: { text: "from the gateway" } },
    ]);
    const response = await postChat(gatehouse, route);
    await response.text();
    expect(response.headers.get("x-say-hello")).toBe("from the gateway");
    const { body } = await gatehouse.api("GET", "/plugins");
    const custom = body.plugins.filter(({ builtin }: { builtin: boolean }) => !builtin);
    expect(custom.map(({ name }: { name: string }) => name)).toEqual(["say_hello"]);
  } finally {
    await gatehouse.stop();
  }
});

test("a wrong plugin fails its test and the type checker", async () => {
  expect((await run("new", "wrong")).code).toBe(0);
  const file = join(dir, "wrong.ts");
  writeFileSync(file, readFileSync(file, "utf8").replace(", text)", ", text.length)"));
  const tested = start("test", "wrong");
  expect(tested.output).toContain("1 fail");
  expect(tested.code).toBe(1);
  expect(tested.output).not.toContain("say_hello");
  expect(typeErrors()).toContain("wrong.ts");
  expect(start("test", "plugins/say_hello.ts").code).toBe(0);
  rmSync(file);
  rmSync(join(dir, "wrong.test.ts"));
});

test.each(["Hello", "9lives", "a b", "../up", "a.b", "", "x".repeat(65), "rate_limiter"])(
  "the name %p is rejected, and nothing is created",
  async (name) => {
    const elsewhere = join(folder, "elsewhere");
    expectOneLine(await run("new", name, "--dir", elsewhere), 2, `"${name}"`);
    expect(existsSync(elsewhere)).toBe(false);
  },
);

test("existing files are kept", async () => {
  const other = join(folder, "other");
  mkdirSync(join(other, "folder"), { recursive: true });
  writeFileSync(join(other, "tsconfig.json"), "{}");
  for (const file of ["file.ts", "script.js", "tested.test.ts"]) writeFileSync(join(other, file), "mine");
  for (const name of ["file", "script", "tested", "folder"])
    expectOneLine(await run("new", name, "--dir", other), 1, "exists; choose another name");
  expect((await run("new", "fresh", "--dir", other)).stdout).not.toContain("tsconfig.json");
  expect(readFileSync(join(other, "tsconfig.json"), "utf8")).toBe("{}");
  expect(readdirSync(other).sort()).toEqual([
    ...["file.ts", "folder", "fresh.test.ts", "fresh.ts", "script.js", "tested.test.ts", "tsconfig.json"],
  ]);
});

test("says what is missing", async () => {
  expectOneLine(await run("test", "nothing"), 1, '"nothing"', "gatehouse plugin new");
  const empty = join(folder, "empty");
  expectOneLine(await run("test", "--dir", empty), 1, empty);
  mkdirSync(empty);
  expectOneLine(await run("test", "--dir", empty), 1, "has no tests");
  expectOneLine(await run("new"), 2, "NAME is missing");
  for (const args of [[], ["create"], ["types", "x"]]) expectOneLine(await run(...args), 2, "give an action");
});

test("types writes the declarations again", async () => {
  const types = join(dir, ".gatehouse");
  rmSync(types, { recursive: true });
  expect(typeErrors()).not.toBe("");
  expect(await run("types")).toMatchObject({ code: 0, stdout: `wrote ${types}\n` });
  expect(typeErrors()).toBe("");
});
