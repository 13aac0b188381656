// The guide for SDKs and coding agents works as written: its configuration is applied, its commands and its Node.js programs are
// executed, and its settings are those that `gatehouse connect` prints. Other clients are tested in test/clients.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { TEST_SECRET, temporaryDirectory } from "../support/gatehouse-process.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);

const ROOT = join(import.meta.dir, "../..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/sdks-and-coding-agents.md"), "utf8");
const blocksIn = (language: string) =>
  [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, code = ""]) => code);

const folder = temporaryDirectory();
for (const part of ["bin", "node_modules"]) symlinkSync(join(ROOT, part), join(folder, part));
mkdirSync(join(folder, "home"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Adds the address of the fake provider to each target. */
const atFakeProvider = (yaml: string) =>
  yaml.replaceAll(/^( +)- (provider: .+)$/gm, `$1- $2\n$1  base_url: ${provider.url}`);

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouseProcess();

async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      HOME: join(folder, "home"),
      SERVER_SECRET_KEY: TEST_SECRET,
      GATEHOUSE_URL: gatehouse.adminUrl,
      OPENAI_API_KEY: "sk-of-the-guide-0123456789",
      ANTHROPIC_API_KEY: "sk-ant-of-the-guide-0123456789",
      ...env,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(" ")} exited with code ${code}: ${err}`);
  return out;
}

test("the configuration, the commands, and the programs for Node.js work as written", async () => {
  const [document = ""] = blocksIn("yaml");
  writeFileSync(join(folder, "gatehouse.yaml"), atFakeProvider(document));

  const [configure = "", connect = ""] = blocksIn("sh");
  const key = /^gw_\S+$/m.exec(await run(["bash", "-ec", configure]))?.[0] ?? "";
  expect(await run(["bash", "-ec", connect])).toContain("OPENAI_BASE_URL=http://127.0.0.1:8081/v1");

  const programs = blocksIn("js");
  expect(programs).toHaveLength(2);
  const printed: string[] = [];
  for (const [index, program] of programs.entries()) {
    const file = join(folder, `program-${index}.mjs`);
    writeFileSync(file, program.replaceAll("http://127.0.0.1:8081", gatehouse.proxyUrl));
    printed.push(...(await run(["node", file], { GATEHOUSE_KEY: key })).trimEnd().split("\n"));
  }
  expect(printed).toEqual(new Array(3).fill(expect.stringContaining("Hello from Ada.")));
  expect(provider.requests.map(({ target }) => target)).toEqual([
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
  ]);
});

const list = z.array(z.unknown());
const upstreamSchema = z.looseObject({ targets: list });
const gatewaySchema = z.looseObject({ upstreams: z.tuple([upstreamSchema]), rules: list });
const documentSchema = z.object({ gateways: z.tuple([gatewaySchema]) });
const additionSchema = z.object({ targets: list, rules: list });

test("with the target and the rule for Google's SDK, its requests reach Gemini", async () => {
  const [first, second, ...others] = blocksIn("yaml").map((text) => Bun.YAML.parse(atFakeProvider(text)));
  expect(others).toEqual([]);
  const document = documentSchema.parse(first);
  const addition = additionSchema.parse(second);
  const [gateway] = document.gateways;
  gateway.upstreams[0].targets.push(...addition.targets);
  gateway.rules.push(...addition.rules);
  writeFileSync(join(folder, "gemini.yaml"), JSON.stringify(document));
  await run(["bin/gatehouse", "apply", "gemini.yaml"], { GEMINI_API_KEY: "AIza-of-the-guide" });
  const key = (await run(["bin/gatehouse", "keys", "create", "--name", "gemini"])).trim();
  const response = await fetch(`${gatehouse.proxyUrl}/v1beta/models/gemini-2.5-flash:generateContent`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "x-goog-api-key": key },
    body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hello!" }] }] }),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ candidates: [{ finishReason: "STOP" }] });
  expect(provider.requests.at(-1)).toMatchObject({
    target: "/v1beta/models/gemini-2.5-flash:generateContent",
  });
});

test("the settings of Claude Code and Codex are those that the command prints", async () => {
  const connect = ["bin/gatehouse", "connect"];
  const claude = await run([...connect, "claude-code", "--model", "claude-sonnet-5"]);
  expect(blocksIn("json")).toEqual([claude]);
  expect(blocksIn("toml")).toEqual([await run([...connect, "codex", "--model", "gpt-4o"])]);
});
