// A starting gateway loads only the code of what is configured, and no resource schema: the Admin API is loaded with its
// first request.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SOURCE = join(import.meta.dir, "../../src");

/** Returns the source files that are loaded with a file, without imports on demand. */
function loadedWith(entry: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const visit = (file: string): void => {
    const name = relative(SOURCE, file);
    if (found.has(name)) return;
    const imports = new Bun.Transpiler({ loader: "ts" })
      .scanImports(readFileSync(file, "utf8"))
      .filter(({ kind }) => kind === "import-statement")
      .map(({ path }) => path);
    found.set(name, imports);
    for (const path of imports)
      if (path.startsWith(".") && path.endsWith(".ts")) visit(join(dirname(file), path));
  };
  visit(join(SOURCE, entry));
  return found;
}

const loaded = loadedWith("main.ts");

test("no resource schema is loaded", () => {
  const withSchema = [...loaded]
    .filter(([file, imports]) => file.startsWith("model/") && imports.includes("zod"))
    .map(([file]) => file);
  // They validate the settings of plugins, which have their own schemas.
  expect(withSchema).toEqual(["model/validate.ts", "model/schema-walk.ts"]);
});

test.each([
  ["Redis", "ledger/redis-ledger.ts"],
  ["budgets in Redis", "ledger/redis-ledger.ts"],
  ["tracing", "telemetry/traces/tracer.ts"],
  ["the export of traces", "telemetry/traces/trace-exporter.ts"],
  ["the export of metrics", "telemetry/metrics/metrics-exporter.ts"],
  ["the sink of the request log", "telemetry/request-sink/request-sink.ts"],
  ["the request log of other nodes", "telemetry/nodes/node-requests.ts"],
  ["the export of the request log", "telemetry/request-sink/otlp-sink.ts"],
  ["the file of the request log", "telemetry/request-sink/file-sink.ts"],
  ["the Admin API", "admin/api.ts"],
  ["explanations", "explain/explain.ts"],
  ["the sending of copies to mirrors", "proxy/mirroring/send-copy.ts"],
  ["the cloud credentials of targets", "upstream/credentials/credential-source.ts"],
  ["the fetching of tokens", "upstream/credentials/token-client.ts"],
  ["the protocol of MCP servers", "mcp/mcp-endpoint.ts"],
  ["the verification of tokens", "mcp/tokens/token-verifier.ts"],
  ["the serving of MCP clients", "proxy/mcp/mcp-plane.ts"],
  ["the grammars of code_sanitation", "plugins/code_sanitation/inspect.ts"],
  ["the search of pii_mask", "plugins/pii_mask/mask-requests.ts"],
  ["the isolation of plugins", "runtime/isolation/isolates.ts"],
  ["the rules of prompt_guard", "plugins/prompt_guard/guard-requests.ts"],
  ["the hooks of tool_policy", "plugins/tool_policy/enforce.ts"],
])("%s is not loaded", (_, file) => {
  expect(loadedWith(file).size).toBeGreaterThan(0);
  expect([...loaded.keys()]).not.toContain(file);
});

test("a supervisor loads no application code, so that no plugin can stop it", () => {
  const supervisor = [...loadedWith("cli/main.ts").keys(), ...loadedWith("cli/serve.ts").keys()];
  expect(supervisor).toContain("cli/supervise.ts");
  const application = /^(admin|explain|mcp|plugins|proxy|runtime|sdk|snapshot|store|upstream)\/|^main\.ts$/;
  expect(supervisor.filter((file) => application.test(file))).toEqual([]);
});

test("the data plane is loaded, so the list is not empty", () => {
  for (const file of [
    "proxy/handle.ts",
    "upstream/connection.ts",
    "snapshot/plugin-chain.ts",
    "sdk/index.ts",
  ])
    expect([...loaded.keys()]).toContain(file);
});
