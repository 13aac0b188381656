// gatehouse connect: prints and writes the settings of SDKs and coding agents, and never harms a file that it does not understand.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  lstatSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { LAUNCHER, temporaryDirectory } from "../support/gatehouse-process.ts";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { expectOneLine, runCommand } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);
const CLIENTS = ["claude-code", "codex", "openai", "anthropic", "langchain", "ai-sdk"];
const KEY = `gw_${"k".repeat(43)}`;
const URL_FLAG = "--url=http://127.0.0.1:9";

const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);
let home: string;
beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = (...args: string[]) => runCommand(["connect", ...args], { HOME: home });
const claudeFile = () => join(home, ".claude", "settings.json");
const codexFile = () => join(home, ".codex", "config.toml");
const textOf = (file: string) => readFileSync(file, "utf8");
const filesIn = (folder: string) => readdirSync(folder).sort();

function given(file: string, text: string): void {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
}

describe("printed settings", () => {
  test("go to standard output, with a placeholder for the key, and change no file", async () => {
    const { code, stdout, stderr } = await run("langchain", URL_FLAG);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        "OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=<API_KEY>\n" +
        "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_API_KEY=<API_KEY>\n",
    });
    expect(stderr).toContain("warning: no gateway responds at http://127.0.0.1:9");
    expect(filesIn(home)).toEqual([]);
  });

  test.each(CLIENTS)("%s: the same address with and without /v1", async (client) => {
    const { stdout } = await run(client, URL_FLAG, "--key", KEY);
    expect(stdout).toContain("http://127.0.0.1:9");
    expect((await run(client, `${URL_FLAG}/v1/`, "--key", KEY)).stdout).toBe(stdout);
  });

  test("of the running gateway come with its models, and a warning about others", async () => {
    const { gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "openai", models: ["gpt-4o"] })] },
      rule: { path: "/v1/*", methods: ["*"] },
    });
    const { key } = await seedKey(gatehouse, gateway);
    const access = ["--url", gatehouse.proxyUrl, "--key", key];
    expect((await run("codex", ...access, "--model", "gpt-4o")).stderr).toContain("models: gpt-4o\n");
    expect((await run("codex", ...access, "--model", "gpt-5")).stderr).toContain(
      'warning: the gateway does not list the model "gpt-5"; it lists: gpt-4o\n',
    );
    const { stderr } = await run("codex", "--url", gatehouse.proxyUrl, "--key", KEY);
    expect(stderr).toContain("responds with 401 to this key");
  });

  test("as JSON", async () => {
    const { stdout } = await run("codex", URL_FLAG, "--json");
    expect(JSON.parse(stdout)).toEqual({
      file: codexFile(),
      text: expect.stringContaining('base_url = "http://127.0.0.1:9/v1"'),
      notes: [expect.stringContaining("GATEHOUSE_KEY"), expect.stringContaining("no gateway responds")],
    });
  });
});

describe("--write", () => {
  const write = (client: string, ...args: string[]) => run(client, URL_FLAG, "--write", ...args);

  test("claude-code: merges the settings, keeps a backup, and changes nothing the second time", async () => {
    const before = '{\n  "model": "opus",\n  "env": { "OTHER": "1" }\n}\n';
    given(claudeFile(), before);
    const { code, stdout, stderr } = await write("claude-code", "--key", KEY, "--model", "claude-sonnet-5");
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(KEY);
    expect(JSON.parse(textOf(claudeFile()))).toEqual({
      model: "opus",
      env: {
        OTHER: "1",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
        ANTHROPIC_AUTH_TOKEN: KEY,
        ANTHROPIC_MODEL: "claude-sonnet-5",
        ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-sonnet-5",
      },
    });
    const backups = filesIn(join(home, ".claude")).filter((name) => name !== "settings.json");
    expect(backups).toHaveLength(1);
    expect(textOf(join(home, ".claude", backups[0] ?? ""))).toBe(before);

    const again = await write("claude-code", "--key", KEY, "--model", "claude-sonnet-5");
    expect(again.stdout).toContain("nothing was changed");
    expect(filesIn(join(home, ".claude"))).toHaveLength(2);
  });

  test("without --key, the key of the file is kept", async () => {
    given(claudeFile(), JSON.stringify({ env: { ANTHROPIC_AUTH_TOKEN: KEY } }));
    await write("claude-code");
    expect(JSON.parse(textOf(claudeFile())).env).toEqual({
      ANTHROPIC_AUTH_TOKEN: KEY,
      ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
    });
  });

  test("codex: adds the provider to the configuration, without the key", async () => {
    given(codexFile(), '# mine\napproval_policy = "never"\n\n[tools]\nweb_search = true\n');
    await write("codex", "--key", KEY, "--model", "gpt-4o");
    const text = textOf(codexFile());
    expect(text).toContain("# mine\n");
    expect(text).not.toContain(KEY);
    expect(Bun.TOML.parse(text)).toEqual({
      model: "gpt-4o",
      model_provider: "gatehouse",
      approval_policy: "never",
      tools: { web_search: true },
      model_providers: {
        gatehouse: {
          name: "Gatehouse",
          base_url: "http://127.0.0.1:9/v1",
          env_key: "GATEHOUSE_KEY",
          wire_api: "responses",
        },
      },
    });
  });

  test.each(["openai", "anthropic", "langchain", "ai-sdk"])(
    "%s: adds variables to a file",
    async (client) => {
      const file = join(home, "sdk.env");
      given(file, "OTHER=1\n");
      const { stdout } = await run(client, URL_FLAG, "--key", KEY);
      await write(client, "--key", KEY, "--file", file);
      expect(textOf(file)).toBe(`OTHER=1\n${stdout}`);
    },
  );

  test("a new file is readable by its owner only, an existing one keeps its mode, and a link stays a link", async () => {
    await write("claude-code", "--key", KEY);
    expect(statSync(claudeFile()).mode & 0o777).toBe(0o600);
    const target = join(home, "dotfiles.toml");
    writeFileSync(target, "", { mode: 0o640 });
    mkdirSync(join(home, ".codex"));
    symlinkSync(target, codexFile());
    await write("codex");
    expect(lstatSync(codexFile()).isSymbolicLink()).toBe(true);
    expect(statSync(target).mode & 0o777).toBe(0o640);
    expect(textOf(target)).toContain("[model_providers.gatehouse]");
  });

  test("a file that is not understood stays as it is, without a backup: one line, exit 1", async () => {
    given(claudeFile(), '{ "env": { // my keys\n } }');
    given(codexFile(), 'model_providers = { gatehouse = { name = "mine" } }\n');
    const before = [textOf(claudeFile()), textOf(codexFile())];
    expectOneLine(await write("claude-code"), 1, claudeFile(), "not valid JSON", "without --write");
    expectOneLine(await write("codex"), 1, codexFile(), "was not changed", "without --write");
    expect([textOf(claudeFile()), textOf(codexFile())]).toEqual(before);
    expect([filesIn(join(home, ".claude")), filesIn(join(home, ".codex"))]).toEqual([
      ["settings.json"],
      ["config.toml"],
    ]);
  });

  test("--project writes the file of the project, and the key may come from standard input", async () => {
    const command = [LAUNCHER, "connect", "claude-code", URL_FLAG, "--write", "--project", "--key", "-"];
    const child = Bun.spawn(command, {
      cwd: home,
      env: { PATH: process.env["PATH"], HOME: home },
      stdin: new Blob([`${KEY}\n`]),
      stderr: "ignore",
    });
    expect(await child.exited).toBe(0);
    const { env } = JSON.parse(textOf(join(home, ".claude", "settings.local.json")));
    expect(env.ANTHROPIC_AUTH_TOKEN).toBe(KEY);
  });
});

test("wrong arguments are one line that says how to fix them, without the key", async () => {
  expectOneLine(await run(), 2, "the client is missing");
  expectOneLine(await run("cursor"), 2, 'unknown client "cursor"', CLIENTS.join(", "));
  expectOneLine(await run("codex", "--url", "127.0.0.1"), 2, '--url is "127.0.0.1"', "http://");
  expectOneLine(await run("codex", "--project"), 2, "leave out --project");
  expectOneLine(await run("openai", "--model", "gpt-4o"), 2, "leave out --model");
  expectOneLine(await run("claude-code", "--project", "--file", "x"), 2, "not both");
  const wrong = await run("openai", "--key", "secret with blanks");
  expectOneLine(wrong, 2, "--key is not an API key");
  expect(wrong.stderr).not.toContain("secret");
});
