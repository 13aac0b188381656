// How long other clients wait while responses with 30 MB of text pass through plugins that work on text.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable, type Measurement } from "./report.ts";

const ROUNDS = 3;
const MAX_HEALTH_MS = 100;
const PROMPT = JSON.stringify({
  model: "m",
  messages: [{ role: "user", content: "Write to bob@example.com." }],
});
const PII_MASK = { name: "pii_mask", settings: {} };
const SANITATION = {
  name: "code_sanitation",
  settings: {
    languages: [{ language: "javascript", enabled: true }],
    content_to_check: ["response"],
    action: "sanitize",
  },
};
const WHEN = { type: "object", required: ["path"] };
const TOOL_POLICY = {
  name: "tool_policy",
  settings: { rules: [{ tool: "write", source: "called", action: "deny", when: WHEN }] },
};
/** A plugin, and the text of the provider. */
const CASES = [
  [PII_MASK, "prose"],
  [PII_MASK, "placeholders"],
  [PII_MASK, "angle-brackets"],
  [SANITATION, "prose"],
  [TOOL_POLICY, "arguments"],
  [TOOL_POLICY, "usage"],
] as const;

export async function benchLargeTexts(): Promise<void> {
  const provider = Bun.spawn([process.execPath, join(import.meta.dir, "large-text-provider.ts")], {
    stdout: "pipe",
  });
  const { value: origin } = await provider.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  // Worker threads need a core besides that of the event loop.
  const gatehouse = await startGatehouse({
    dataDir: temporaryFolder(),
    cores: `0-${availableParallelism() - 1}`,
  });
  const rows: Measurement[] = [];
  for (const [plugin, text] of CASES) {
    const path = `/${plugin.name}-${text}`;
    await createRoute(gatehouse, {
      gateway: { name: path.slice(1), required_plugins: [{ ...plugin, stage: "pre_request" }] },
      targets: [{ ...targetAt((origin ?? "").trim()), path: `/${text}` }],
      path,
    });
    const waits = await longestWaits(gatehouse.proxyUrl, path, gatehouse.pid);
    rows.push(
      {
        what: `${plugin.name}, ${text}: longest /healthz`,
        value: waits.healthMs,
        unit: "ms",
        atMost: MAX_HEALTH_MS,
      },
      { what: "  longest CPU time of the event loop meanwhile", value: waits.cpuMs, unit: "ms" },
    );
  }
  await gatehouse.stop();
  provider.kill();
  await provider.exited;
  printTable("Responses with 30 MB of text", rows);
}

/** Requests /healthz again and again while responses are read by another process. */
async function longestWaits(
  origin: string,
  path: string,
  pid: number,
): Promise<{ healthMs: number; cpuMs: number }> {
  let [healthMs, cpuMs] = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    const client = Bun.spawn(
      ["curl", "-s", "-o", "/dev/null", "-H", "Content-Type: application/json", "-d", PROMPT, origin + path],
      { stdout: "ignore" },
    );
    let before = loopCpuMs(pid);
    while (client.exitCode === null) {
      const startedAt = performance.now();
      await (await fetch(`${origin}/healthz`)).text();
      healthMs = Math.max(healthMs, performance.now() - startedAt);
      const after = loopCpuMs(pid);
      cpuMs = Math.max(cpuMs, after - before);
      before = after;
      await Bun.sleep(2);
    }
    if (client.exitCode !== 0) throw new Error(`curl exited with ${client.exitCode}; it must be installed`);
  }
  return { healthMs, cpuMs };
}

/** The CPU time of the main thread of a process, which other processes on the machine do not change; 0 where /proc is not available. */
export function loopCpuMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return 0;
  }
}
