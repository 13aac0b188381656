// The command line: finds the command, and turns every mistake into one line and exit code 2.
import { SettingsError } from "../base/settings.ts";
import { nearestName } from "../base/nearest-name.ts";
import { UsageError, type Command } from "./command.ts";

/** Loaded when asked for: the gateway does not wait for the demo's code. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  demo: async () => (await import("./demo.ts")).demo,
};

async function help(): Promise<string> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(COMMANDS))
    lines.push(`  ${name.padEnd(10)} ${(await load()).summary}`);
  return `gatehouse: an API gateway for AI providers

Usage: gatehouse <command> [flags]

Commands:
${lines.join("\n")}

Flags:
  --help     show this, or with a command that command's help
  --version  print the version
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

try {
  process.exit(await main(process.argv.slice(2)));
} catch (fault) {
  if (fault instanceof UsageError || fault instanceof SettingsError) {
    console.error(`gatehouse: ${fault.message}`);
    process.exit(2);
  }
  console.error(`gatehouse: ${fault instanceof Error ? fault.message : String(fault)}`);
  process.exit(1);
}
