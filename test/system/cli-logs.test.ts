// gatehouse logs: the recent lines of the gateway's log, and new ones as they are written, over all workers.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { expectError } from "../support/admin-fixtures.ts";
import { PROGRAM, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(60_000);

const gatehouse = await useGatehouseProcess({ env: { WORKERS: "2" } });
// An invalid attribute is logged as an error when the gateway starts.
const faulty = await useGatehouseProcess({ env: { OTEL_RESOURCE_ATTRIBUTES: "region" } });
const run = (args: readonly string[], server = gatehouse) =>
  runCommand(["logs", ...args], settingsOf(server));
interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly worker?: number;
}
const linesOf = async (server: GatehouseProcess, ...args: string[]) =>
  JSON.parse((await run([...args, "--json"], server)).stdout) as LogLine[];
const lines = (...args: string[]) => linesOf(gatehouse, ...args);

describe("logs", () => {
  test("prints the recent lines of all workers, oldest first", async () => {
    await waitUntil(async () => (await lines()).filter(({ msg }) => msg === "proxy listening").length === 2);
    const found = await lines("--limit", "1000");
    const workers = found.filter(({ msg }) => msg === "proxy listening").map(({ worker }) => worker);
    expect(workers.sort()).toHaveLength(2);
    expect(new Set(workers).size).toBe(2);
    const times = found.map(({ time }) => time);
    expect(times).toEqual([...times].sort());
    const { stdout } = await run([]);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d INFO {2}proxy listening {2}worker=\d .*url=http/m);
    expect(stdout).not.toContain("\u001B");
  });

  test("prints only lines of a level and above", async () => {
    const found = await linesOf(faulty, "--level", "error");
    expect(found).toMatchObject([{ level: "error", msg: "resource attributes discarded" }]);
    expect((await linesOf(faulty)).map(({ level }) => level)).toContain("info");
    expect(await linesOf(faulty, "--limit=1")).toHaveLength(1);
    expect((await run(["--level", "fatal"])).stdout).toBe("no line is recorded\n");
  });

  test("--follow prints new lines, whichever worker writes them, and ends with Ctrl-C", async () => {
    const child = Bun.spawn([PROGRAM, "logs", "--follow", "--json"], {
      env: { PATH: process.env["PATH"], ...settingsOf(gatehouse) },
      stdout: "pipe",
      stderr: "pipe",
    });
    let printed = "";
    const reading = (async () => {
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) printed += chunk;
    })();
    const workers = () =>
      new Set(
        printed
          .split("\n")
          .slice(0, -1)
          .map((line) => (JSON.parse(line) as LogLine).worker),
      );
    // Each request opens a connection, which either of the workers accepts.
    await waitUntil(async () => {
      await gatehouse.api("GET", "/gateways", undefined, { Connection: "close" });
      return workers().size === 2;
    });
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
    await reading;
    expect(await child.stderr.text()).toBe("");
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["--level=loud"]), 2, '"loud"', "trace, debug, info, warn, error, fatal");
    expectOneLine(await run(["--limit=0"]), 2, "--limit", "1 to 1000");
    expectOneLine(await run(["--follow", "--limit=5"]), 2, "--limit", "--follow");
    expectError(await gatehouse.api("GET", "/logs?level=loud"), 400, "validation_failed");
    expect((await fetch(`${gatehouse.adminUrl}/api/v1/logs`)).status).toBe(401);
  });
});
