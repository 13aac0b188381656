// Claude Code and Codex complete a task that reads and edits a file, through the gateway, at providers of other formats. Their
// settings are those that `gatehouse connect` writes.
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { runCommand } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { agentCommand, hasAgent, runProgram } from "./installed-client.ts";
import { connectTo, MODEL, type TargetFormat } from "./one-rule-gateway.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouseProcess();

const TASK = "Change the greeting in greeting.txt to good morning.";
let folder: string;
let file: string;
let home: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gatehouse-agent-"));
  home = join(folder, "home");
  mkdirSync(home);
  file = join(folder, "greeting.txt");
  writeFileSync(file, "Hello\n");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Writes the settings of the client to the home directory. */
async function writeSettings(client: string, key: string, model: string = MODEL): Promise<void> {
  const access = ["--url", gatehouse.proxyUrl, "--key", key, "--model", model];
  const { code, stderr } = await runCommand(["connect", client, "--write", ...access], { HOME: home });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`models: ${model}\n`) });
}

const hasClaude = hasAgent("@anthropic-ai/claude-code");
describe.skipIf(!hasClaude)("Claude Code", () => {
  const cases: readonly TargetFormat[] = [
    { provider: "openai", format: "openai" },
    { provider: "openai", format: "responses" },
    { provider: "google", format: "gemini" },
    // As in docs/guides/sdks-and-coding-agents.md. The provider refuses tools at chat completions of these
    // models.
    { provider: "openai", model: "gpt-5.4" },
    { provider: "openai", model: "gpt-5.6-terra" },
    { provider: "openai", model: "gpt-6-astra" },
  ];
  test.each(cases.map((target) => [Object.values(target).join(" "), target] as const))(
    "reads and edits a file at a target of %s",
    async (_name, target) => {
      const key = await connectTo(gatehouse, provider, target);
      provider.behave({
        turns: [
          { text: "I read the file.", calls: [{ name: "Read", arguments: { file_path: file } }] },
          {
            calls: [
              {
                name: "Edit",
                arguments: { file_path: file, old_string: "Hello", new_string: "Good morning" },
              },
            ],
          },
          { text: "I changed the greeting." },
        ],
      });
      await writeSettings("claude-code", key, target.model);
      const command = [agentCommand("claude"), "-p", TASK, "--permission-mode", "acceptEdits"];
      const result = await runProgram(command, folder, {
        HOME: home,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      });
      expect(result).toMatchObject({ code: 0, stdout: "I changed the greeting.\n" });
      expect(readFileSync(file, "utf8")).toBe("Good morning\n");
    },
    100_000,
  );
});

const hasCodex = hasAgent("@openai/codex");
describe.skipIf(!hasCodex)("Codex", () => {
  test.each([
    { provider: "openai", format: "openai" },
    { provider: "anthropic", format: "anthropic" },
    { provider: "google", format: "gemini" },
  ])(
    "reads and edits a file at a target of $provider with the format $format",
    async (target) => {
      const key = await connectTo(gatehouse, provider, target);
      const run = (cmd: string) => ({ name: "exec_command", arguments: { cmd } });
      provider.behave({
        turns: [
          { text: "I read the file.", calls: [run("cat greeting.txt")] },
          { calls: [run("printf 'Good morning\\n' > greeting.txt")] },
          { text: "I changed the greeting." },
        ],
      });
      await writeSettings("codex", key);
      const command = [
        agentCommand("codex"),
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        TASK,
      ];
      const result = await runProgram(command, folder, { HOME: home, GATEHOUSE_KEY: key });
      expect(result).toMatchObject({ code: 0, stdout: "I changed the greeting.\n" });
      expect(readFileSync(file, "utf8")).toBe("Good morning\n");
    },
    100_000,
  );
});
