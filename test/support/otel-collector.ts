// A real OpenTelemetry Collector for tests, which prints everything it receives.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "./required-program.ts";
import { waitUntil } from "./waiting.ts";
import { freePort } from "./free-port.ts";

const program = process.env["OTELCOL"] ?? Bun.which("otelcol") ?? Bun.which("otelcol-contrib");

export const hasCollector = isInstalled(program, {
  name: "The OpenTelemetry Collector (otelcol or otelcol-contrib in PATH, or its path in OTELCOL)",
  tests: "tests with a real collector",
  install: 'scripts/install-otelcol.sh "$HOME/.local/bin"',
  isOptionalInCi: true,
});

interface Collector {
  /** Base URL of OTLP over HTTP. */
  readonly url: string;
  /** What its debug exporter, and the collector itself, have printed. */
  readonly output: () => string;
  stop(): Promise<void>;
}

const CONFIGURATION = (port: number) => ({
  receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
  exporters: { debug: { verbosity: "detailed" } },
  service: {
    // Its own metrics would need another port.
    telemetry: { metrics: { level: "none" } },
    pipelines: {
      traces: { receivers: ["otlp"], exporters: ["debug"] },
      metrics: { receivers: ["otlp"], exporters: ["debug"] },
      logs: { receivers: ["otlp"], exporters: ["debug"] },
    },
  },
});

export async function startCollector(): Promise<Collector> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-otelcol-"));
  const file = join(directory, "collector.yaml");
  const port = freePort();
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(CONFIGURATION(port)));
  const child = Bun.spawn([program ?? "otelcol", "--config", file], {
    stdout: "ignore",
    stderr: "pipe",
  });
  let output = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) output += decoder.decode(chunk, { stream: true });
  })();
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
    await reading;
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await waitUntil(() => output.includes("Everything is ready") || child.exitCode !== null);
    if (child.exitCode !== null) throw new Error(`the collector has exited: ${output}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, output: () => output, stop };
}
