// gatehouse game-day run: creates a game day, waits, prints a verdict, and removes it.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);
const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
const gameDays = `/gateways/${route.gateway}/game-days`;
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true }));

const countOfGameDays = async () => (await gatehouse.api("GET", gameDays)).body.count as number;

async function runFile(text: string, ...args: readonly string[]) {
  const file = join(directory, "game-day.yaml");
  writeFileSync(file, text);
  const running = runCommand(["game-day", "run", file, ...args], settingsOf(gatehouse));
  await Promise.race([running, waitUntil(async () => (await countOfGameDays()) === 1)]);
  for (let count = 0; count < 3; count++) await (await postChat(gatehouse, route)).text();
  const result = await running;
  expect(await countOfGameDays()).toBe(0);
  return result;
}

describe("gatehouse game-day run", () => {
  test("exits with 0 if what is expected holds, and removes the game day", async () => {
    const { code, stdout, stderr } = await runFile(
      "name: slow provider\nmax_requests: 3\nfaults: [{ type: delay, ms: 20 }]\nexpect: { success_ratio: 1, min_requests: 3 }\n",
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("delay 3");
    expect(stdout).toContain("✓ success_ratio expected 1, was 1");
    expect(stdout).toEndWith("passed\n");
  });

  test("exits with 1 if it does not", async () => {
    const { code, stdout } = await runFile(
      "name: refused\nmax_requests: 3\nfaults: [{ type: refuse }]\nexpect: { success_ratio: 0.9 }\n",
      "--json",
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: "failed",
      affected: { requests: 3, failed: 3 },
      by_fault: { refuse: 3 },
    });
  });

  test("ends early with Ctrl-C, prints the verdict so far, and removes the game day", async () => {
    const file = join(directory, "long.yaml");
    writeFileSync(file, "name: long\nfaults: [{ type: slow, ms: 1 }]\n");
    const running = runCommand(["game-day", "run", file, "--for=3600"], settingsOf(gatehouse));
    await waitUntil(async () => (await countOfGameDays()) === 1);
    await (await postChat(gatehouse, route)).text();
    process.emit("SIGINT");
    const { code, stdout } = await running;
    expect([code, stdout.split("\n")[0]]).toEqual([0, expect.stringMatching(/^affected {2}1 requests/)]);
    expect(await countOfGameDays()).toBe(0);
  });

  test("ends by itself after --for, and says what is wrong with a file", async () => {
    const { code, stdout } = await runFile(
      "name: short\nmatch: { models: [none] }\nfaults: [{ type: empty }]\n",
      "--for=1",
    );
    expect(code).toBe(1);
    expect(stdout).toContain("✗ min_requests expected 1, was 0");
    const invalid = await runCommand(
      ["game-day", "run", join(directory, "none.yaml")],
      settingsOf(gatehouse),
    );
    expect(invalid.code).toBe(2);
    expect(invalid.stderr).toContain("none.yaml cannot be read");
  });
});
