// promtool, the checker of Prometheus, for PromQL expressions and pages of metrics.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "./required-program.ts";

const program = Bun.which("promtool");

export const hasPromtool = isInstalled(program, {
  name: "promtool",
  tests: "checks of metrics and PromQL",
  install: "apt-get install prometheus",
});

/** Returns what `promtool check rules` reports about these PromQL expressions; empty if all are valid. */
export function checkExpressions(expressions: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-promtool-"));
  try {
    // Equal rules are reported as duplicates, so every rule gets its own name. JSON is valid YAML.
    const rules = expressions.map((expr, index) => ({ record: `expression:${index}`, expr }));
    const file = join(directory, "rules.yaml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "expressions", rules }] }));
    return checkRules(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns what `promtool check rules` reports about a file; empty if it is valid. */
export function checkRules(file: string): string {
  return run(["check", "rules", file]);
}

/** Returns what `promtool test rules` reports about a file of tests; empty if they pass. */
export function testRules(file: string): string {
  return run(["test", "rules", file]);
}

/** Returns what `promtool check metrics` reports about a page in the text format; empty if it is valid. */
export function checkMetrics(page: string): string {
  return run(["check", "metrics"], page);
}

function run(args: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([program ?? "promtool", ...args], {
    stdin: Buffer.from(input),
  });
  return exitCode === 0 ? "" : `${stdout.toString()}${stderr.toString()}` || `exit code ${exitCode}`;
}
