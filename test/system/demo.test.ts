// gatehouse demo: a routed response without an account or internet access, and printed commands that work when pasted.
import { afterAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { LAUNCHER, temporaryDirectory } from "../support/gatehouse-process.ts";
import { expectOneLine, runCommand } from "../support/run-command.ts";
import { waitUntil } from "../support/waiting.ts";

test("the demo prints a routed response, its commands work as printed, and it leaves nothing behind", async () => {
  const temporary = process.env["TMPDIR"] ?? "/tmp";
  const demo = Bun.spawn([LAUNCHER, "demo"], {
    env: { PATH: process.env["PATH"], ADMIN_PORT: "0", PROXY_PORT: "0", TMPDIR: temporary },
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  void (async () => {
    for await (const chunk of demo.stdout) output += new TextDecoder().decode(chunk);
  })();
  await waitUntil(() => output.includes("Ctrl-C stops the demo"));
  expect(output).toContain("→ 200, provider: openai");
  expect(output).toContain('Hello from openai. You said: \\"Hello, Gatehouse!\\".');

  const commands = output.slice(
    output.indexOf("# the first provider"),
    output.indexOf("SDKs and coding agents"),
  );
  const shell = Bun.spawnSync(["sh", "-ec", commands]);
  const responses = shell.stdout.toString();
  expect(shell.exitCode).toBe(0);
  expect(responses).toContain("Hello from openai.");
  expect(responses).toMatch(/"delta":\{"content":"Hello"\}[\s\S]*data: \[DONE\]/);
  expect(responses).toContain('"type":"message"');
  expect(responses).toContain('"id":"claude-sonnet-5","object":"model"');
  expect(responses).toContain('"sum":42');
  expect(responses).toContain('{"gateways":[{"id":');

  demo.kill("SIGINT");
  expect(await demo.exited).toBe(0);
  expect(await new Response(demo.stderr).text()).toBe("");
  const { pid } = demo;
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

/** Starts a command that runs until a signal and returns the first line that it prints. */
const firstLine = (...args: string[]): Promise<string> => withFirstLine(args, (line) => line);

/** Like `firstLine`, and uses the line while the command runs. */
async function withFirstLine<T>(args: string[], use: (line: string) => T | Promise<T>): Promise<T> {
  const child = Bun.spawn([LAUNCHER, ...args], {
    env: {
      PATH: process.env["PATH"],
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      LOG_FORMAT: "pretty",
      DATA_DIR: directory,
    },
    stdout: "pipe",
  });
  let output = "";
  void (async () => {
    for await (const chunk of child.stdout) output += new TextDecoder().decode(chunk);
  })();
  await waitUntil(() => output.includes("\n"));
  const used = await use(output.slice(0, output.indexOf("\n")));
  child.kill("SIGINT");
  expect(await child.exited).toBe(0);
  return used;
}

const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("with --json, commands that run until a signal print JSON", async () => {
  expect(JSON.parse(await firstLine("fake-provider", "--name", "Ada", "--json"))).toEqual({
    name: "Ada",
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
  });
  const withTools = JSON.parse(await firstLine("fake-provider", "--mcp-port", "0", "--json"));
  expect(withTools.mcp_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  expect(JSON.parse(await firstLine("demo", "--json"))).toEqual({
    admin_url: expect.stringMatching(/^http:/),
    url: expect.stringMatching(/^http:.*\/v1\/chat\/completions$/),
    mcp_url: expect.stringMatching(/^http:.*\/mcp$/),
    token: expect.stringMatching(/^eyJ/),
    api_key: expect.stringMatching(/^gw_/),
    models: [expect.any(String), expect.any(String)],
  });
  expect(JSON.parse(await firstLine("serve", "--json"))).toMatchObject({ msg: expect.any(String) });
}, 60_000);

test("fake-provider --behave sets the behavior, and a value that is not JSON is an error", async () => {
  const behave = JSON.stringify({ status: 503 });
  const status = await withFirstLine(["fake-provider", "--json", "--behave", behave], async (line) => {
    const { url } = JSON.parse(line) as { url: string };
    return (await fetch(url)).status;
  });
  expect(status).toBe(503);
  expectOneLine(await runCommand(["fake-provider", "--behave", "503"], {}), 2, '--behave is "503"');
}, 60_000);
