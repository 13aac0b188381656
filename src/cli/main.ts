// The command line: finds and runs the command, prints errors as one line, and sets the exit code.
import { nearestName } from "../base/nearest-name.ts";
import { SettingsError } from "../config/settings.ts";
import { UsageError, type Command } from "./command.ts";
import { runSourcesIfChanged } from "./executable-inputs.ts";
import { reexecWithRuntimeEnvironment } from "./runtime-environment.ts";

/** Each command is loaded on demand, so that `serve` does not load the code of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  demo: async () => (await import("./demo.ts")).demo,
  status: async () => (await import("./status.ts")).status,
  token: async () => (await import("./token.ts")).token,
  explain: async () => (await import("./explain.ts")).explain,
  keys: async () => (await import("./keys.ts")).keys,
  connect: async () => (await import("./connect/connect.ts")).connect,
  "test-connection": async () => (await import("./test-connection.ts")).testConnection,
  doctor: async () => (await import("./doctor/doctor.ts")).doctor,
  rewrap: async () => (await import("./rewrap.ts")).rewrap,
  bench: async () => (await import("./bench.ts")).bench,
  "fake-provider": async () => (await import("./fake-provider.ts")).fakeProvider,
  export: async () => (await import("./export.ts")).exportCommand,
  apply: async () => (await import("./apply.ts")).apply,
  check: async () => (await import("./check.ts")).checkCommand,
  revisions: async () => (await import("./revisions.ts")).revisions,
  audit: async () => (await import("./audit.ts")).audit,
  diff: async () => (await import("./diff.ts")).diff,
  rollback: async () => (await import("./rollback.ts")).rollback,
  blocks: async () => (await import("./blocks.ts")).blocks,
  cache: async () => (await import("./cache.ts")).cache,
  budgets: async () => (await import("./budgets.ts")).budgets,
  mcp: async () => (await import("./mcp.ts")).mcp,
  plugin: async () => (await import("./plugin/plugin.ts")).plugin,
  plugins: async () => (await import("./plugins.ts")).plugins,
  "game-day": async () => (await import("./game-day.ts")).gameDay,
  usage: async () => (await import("./usage.ts")).usage,
  reconcile: async () => (await import("./reconcile/reconcile.ts")).reconcile,
  requests: async () => (await import("./requests.ts")).requests,
  logs: async () => (await import("./logs.ts")).logs,
  completion: async () => (await import("./completion.ts")).completionOf(COMMANDS),
};

/** What the gateway starts for plugins with `isolation: process`; of no use to people. */
const PROCESS_COMMAND = "plugin-process";

/** Commands that send requests to providers and so need the runtime environment. */
const SENDING_COMMANDS: ReadonlySet<string> = new Set(["serve", "demo", "bench"]);

async function help(): Promise<string> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(COMMANDS))
    lines.push(`  ${name.padEnd(14)} ${(await load()).summary}`);
  return `gatehouse: an API gateway for AI providers

Usage: gatehouse <command> [flags]

Commands:
${lines.join("\n")}

Flags:
  --help         print this help, or after a command the help of that command
  --version      print the version
`;
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...commandArgs] = args;
  if (name === undefined || name === "--help" || name === "help") {
    console.log(await help());
    return name === undefined ? 2 : 0;
  }
  if (name === PROCESS_COMMAND) {
    const { runPluginProcess } = await import("../runtime/isolation/isolate-process.ts");
    return runPluginProcess();
  }
  if (name === "--version") {
    const { default: packageJson } = await import("../../package.json");
    console.log(packageJson.version);
    return 0;
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) throw new UsageError(unknownCommandMessage(name));
  const command = await load();
  if (commandArgs.includes("--help")) {
    console.log(command.help);
    return 0;
  }
  return command.run(commandArgs);
}

function unknownCommandMessage(name: string): string {
  const kind = name.startsWith("-") ? "flag" : "command";
  const nearest = nearestName(name, [...Object.keys(COMMANDS), "--help", "--version"]);
  const hint = nearest === null ? "see gatehouse --help" : `did you mean "${nearest}"? See gatehouse --help`;
  return `unknown ${kind} "${name}"; ${hint}`;
}

/** Resolves to the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  try {
    return await main(args);
  } catch (error) {
    console.error(`gatehouse: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof UsageError || error instanceof SettingsError ? 2 : 1;
  }
}

if (import.meta.main) {
  runSourcesIfChanged();
  const args = process.argv.slice(2);
  if (SENDING_COMMANDS.has(args[0] ?? "") && !args.includes("--help")) reexecWithRuntimeEnvironment();
  process.exit(await runCli(args));
}
