// Tests the load timeout, which is too slow for the e2e tests of custom plugins.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../telemetry/log/log.ts";
import { CustomPlugins } from "./custom-plugins.ts";
import { PluginRegistry } from "./registry.ts";

function source(name: string, top = ""): string {
  return `import { definePlugin, z } from "gatehouse/sdk"; ${top}
    export default definePlugin({ name: "${name}", description: "", stages: ["pre_request"],
      settings: z.object({}), create: () => ({ pre_request() {} }) });`;
}

test("a module whose top-level await never resolves times out, and the other plugins are loaded", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-plugins-"));
  writeFileSync(join(directory, "a_hangs.ts"), source("hangs", "await new Promise(() => {});"));
  writeFileSync(join(directory, "b_fine.ts"), source("fine"));
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "json" }, { write: (line) => void lines.push(line) });
  const registry = new PluginRegistry();
  const changed: string[] = [];
  const plugins = new CustomPlugins(directory, registry, log, (name) => void changed.push(name));
  try {
    await plugins.start();
    expect(registry.get("hangs")).toBeUndefined();
    expect(registry.get("fine")?.name).toBe("fine");
    expect(changed).toEqual(["fine"]);
    expect(lines.some((line) => line.includes("a_hangs.ts") && line.includes("longer than"))).toBe(true);
  } finally {
    plugins.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}, 60_000);
