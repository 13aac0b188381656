// The command line: finds the command, and turns every mistake into one line and exit code 2.
import { SettingsError } from "../config/settings.ts";
import { nearestName } from "../base/nearest-name.ts";
import { UsageError, type Command } from "./command.ts";
import { takeRuntimeSettings } from "./self.ts";

/** Loaded when asked for: the gateway does not wait for the demo's code. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  demo: async () => (await import("./demo.ts")).demo,
  status: async () => (await import("./status.ts")).status,
  token: async () => (await import("./token.ts")).token,
  explain: async () => (await import("./explain.ts")).explain,
  keys: async () => (await import("./keys.ts")).keys,
  doctor: async () => (await import("./doctor.ts")).doctor,
  bench: async () => (await import("./bench.ts")).bench,
  "fake-provider": async () => (await import("./fake-provider.ts")).fakeProvider,
  export: async () => (await import("./export.ts")).exportCommand,
  apply: async () => (await import("./apply.ts")).apply,
  check: async () => (await import("./check.ts")).checkCommand,
};

/** Those that call providers. */
const CALLING: ReadonlySet<string> = new Set(["serve", "demo", "bench"]);

async function help(): Promise<string> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(COMMANDS))
    lines.push(`  ${name.padEnd(14)} ${(await load()).summary}`);
  return `gatehouse: an API gateway for AI providers

Usage: gatehouse <command> [flags]

Commands:
${lines.join("\n")}

Flags:
  --help         show this, or with a command that command's help
  --version      print the version
`;
}

async function main(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === "--help" || name === "help") {
    console.log(await help());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version") {
    const { default: packageJson } = await import("../../package.json");
    console.log(packageJson.version);
    return 0;
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    const hint =
      nearest === null ? "see gatehouse --help" : `did you mean "${nearest}"? See gatehouse --help`;
    throw new UsageError(`there is no command "${name}"; ${hint}`);
  }
  const command = await load();
  if (rest.includes("--help")) {
    console.log(command.help);
    return 0;
  }
  return command.run(rest);
}

/** Resolves to the exit code. */
export async function runCli(words: readonly string[]): Promise<number> {
  try {
    return await main(words);
  } catch (error) {
    console.error(`gatehouse: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof UsageError || error instanceof SettingsError ? 2 : 1;
  }
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  if (CALLING.has(words[0] ?? "") && !words.includes("--help")) takeRuntimeSettings();
  process.exit(await runCli(words));
}
