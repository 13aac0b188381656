// The command line: finds the command, and turns every mistake into one line and exit code 2.
import { SettingsError } from "../base/settings.ts";
import { nearestName } from "../base/nearest-name.ts";
import { serve } from "./serve.ts";
import { UsageError, type Command } from "./command.ts";

const COMMANDS: Readonly<Record<string, Command>> = { serve };

const HELP = `gatehouse: an API gateway for AI providers

Usage: gatehouse <command> [flags]

Commands:
${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join("\n")}

Flags:
  --help     show this, or with a command that command's help
  --version  print the version
`;

async function main(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === "--help" || name === "help") {
    console.log(HELP);
    return name === undefined ? 2 : 0;
  }
  if (name === "--version") {
    const { default: packageJson } = await import("../../package.json");
    console.log(packageJson.version);
    return 0;
  }
  const command = COMMANDS[name];
  if (command === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    const hint =
      nearest === null ? "see gatehouse --help" : `did you mean "${nearest}"? See gatehouse --help`;
    throw new UsageError(`there is no command "${name}"; ${hint}`);
  }
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
