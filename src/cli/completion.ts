// gatehouse completion: prints a script that completes commands and flags in a shell. Both are read from the help texts of the
// commands, so that nothing has to be listed twice.
import { parseArguments, required } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import {
  bashScript,
  fishScript,
  zshScript,
  type CompletedCommand,
  type CompletedFlag,
} from "./completion-scripts.ts";

type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

const SCRIPTS = new Map([
  ["bash", bashScript],
  ["zsh", zshScript],
  ["fish", fishScript],
]);

export function completionOf(commands: CommandTable): Command {
  return {
    summary: "print a script that completes commands and flags in a shell",
    help: `Usage: gatehouse completion bash|zsh|fish
       gatehouse completion --json

Prints a script for the shell. To load it in every new shell, add one of these lines to the shell's startup file:

  bash  source <(gatehouse completion bash)
  zsh   source <(gatehouse completion zsh)
  fish  gatehouse completion fish | source

  --json  print the commands with their actions and flags as JSON instead`,
    run: async (args) => {
      const { values, positionals } = parseArguments(args, {
        options: { json: { type: "boolean", default: false } },
        maxPositionals: 1,
      });
      const [shell] = positionals;
      const script = SCRIPTS.get(values.json ? (shell ?? "bash") : required("the shell", shell));
      if (script === undefined)
        throw new UsageError(
          `there is no completion for "${shell}"; give one of ${[...SCRIPTS.keys()].join(", ")}`,
        );
      const completed = await readCommands(commands);
      console.log(values.json ? JSON.stringify(completed) : script(completed));
      return 0;
    },
  };
}

async function readCommands(commands: CommandTable): Promise<CompletedCommand[]> {
  const completed: CompletedCommand[] = [];
  for (const [name, load] of Object.entries(commands)) {
    const { summary, help } = await load();
    completed.push({ name, summary, actions: actionsIn(help, name), flags: flagsIn(help) });
  }
  return completed;
}

/** Finds `create` and `list` in `gatehouse keys create …` and `gatehouse keys [list] …`, and all of `bash|zsh|fish`. */
function actionsIn(help: string, name: string): string[] {
  const actions = new Set<string>();
  for (const line of usageLines(help)) {
    const [, command, action = ""] = /gatehouse (\S+) \[?([a-z][a-z|-]*)\]?(?= |$)/.exec(line) ?? [];
    if (command === name) for (const each of action.split("|")) actions.add(each);
  }
  return [...actions];
}

/** Finds lines such as `  --limit N      number of requests`. The name of a value is in capital letters. */
function flagsIn(help: string): CompletedFlag[] {
  const flags: CompletedFlag[] = [{ name: "help", value: null, values: [], description: "print the help" }];
  for (const [, name = "", value = null, text = ""] of help.matchAll(
    /^ {2}--([a-z-]+)(?: ([A-Z]\S*))? +(\S.*)$/gm,
  ))
    flags.push({ name, value, values: valuesOf(name, help, text), description: text.split(";")[0] ?? "" });
  return flags;
}

/** The usage may list the values of a flag, as in `--role admin|proxy|all`, or its description: `one of a, b`. */
function valuesOf(flag: string, help: string, description: string): string[] {
  const [, inUsage] =
    new RegExp(`--${flag} ([a-z_]+(?:\\|[a-z_]+)+)`).exec(usageLines(help).join("\n")) ?? [];
  const [, inDescription] = /^one of ([a-z_]+(?:, [a-z_]+)+)/.exec(description) ?? [];
  return inUsage?.split("|") ?? inDescription?.split(", ") ?? [];
}

/** Returns the lines up to the first empty one. */
function usageLines(help: string): string[] {
  return (help.split("\n\n")[0] ?? "").split("\n");
}
