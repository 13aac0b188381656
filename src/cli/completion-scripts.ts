// The completion scripts for bash, zsh, and fish. Names consist of letters and hyphens; descriptions are quoted.

export interface CompletedFlag {
  /** Without the leading "--". */
  readonly name: string;
  /** What the help calls the value; null for a flag without a value. */
  readonly value: string | null;
  /** All possible values; empty if they are not known. */
  readonly values: readonly string[];
  readonly description: string;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** Such as `create` and `list`; empty if the command has none. */
  readonly actions: readonly string[];
  readonly flags: readonly CompletedFlag[];
}

const GLOBAL_FLAGS = ["--help", "--version"];

/** If nothing matches, for example for the value of `--body`, bash completes names of files. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const valueCases = commands.flatMap(({ name, flags }) =>
    flags.flatMap((flag) =>
      flag.value === null ? [] : [`    "${name} --${flag.name}") words="${flag.values.join(" ")}" ;;`],
    ),
  );
  const argumentCases = commands.map(({ name, actions, flags }) => {
    const flagWords = flags.map((flag) => `--${flag.name}`).join(" ");
    const atAction =
      actions.length === 0 ? "" : ` [ "$index" -eq 2 ] && words="${actions.join(" ")} $words";`;
    return `        ${name}) words="${flagWords}";${atAction} true ;;`;
  });
  return `# bash completion of gatehouse
_gatehouse() {
  local index=$COMP_CWORD words=""
  local current="\${COMP_WORDS[index]}" previous="\${COMP_WORDS[index - 1]}"
  # bash splits --flag=value at the equals sign.
  if [ "$current" = "=" ]; then current=""
  elif [ "$previous" = "=" ]; then previous="\${COMP_WORDS[index - 2]}"
  fi
  COMPREPLY=()
  if [ "$index" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${[...commands.map(({ name }) => name), ...GLOBAL_FLAGS].join(" ")}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} $previous" in
${valueCases.join("\n")}
    *)
      case "\${COMP_WORDS[1]}" in
${argumentCases.join("\n")}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gatehouse gatehouse`;
}

export function zshScript(commands: readonly CompletedCommand[]): string {
  const summaries = commands.map(({ name, summary }) => `    ${quoteForZsh(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, actions, flags }) => {
    const specs = flags.map(({ name: flag, value, values, description }) => {
      const text = `--${flag}[${description.replaceAll(/[[\]\\]/g, String.raw`\$&`)}]`;
      if (value === null) return text;
      // "=" lets the value follow an equals sign or be the next argument.
      return `${text.replace("[", "=[")}:${flag}:${values.length > 0 ? `(${values.join(" ")})` : "_files"}`;
    });
    const first = actions.length === 0 ? "_files" : `(${actions.join(" ")})`;
    const lines = [...specs, `1:argument:${first}`, "*:argument:_files"].map(
      (spec) => `        ${quoteForZsh(spec)}`,
    );
    return `    ${name})\n      _arguments \\\n${lines.join(" \\\n")} ;;`;
  });
  return `#compdef gatehouse
# zsh completion of gatehouse
_gatehouse() {
  local -a commands
  commands=(
${summaries.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join("\n")}
  esac
}
# zsh runs this file as the function itself if it is in a directory of fpath.
if [ "$funcstack[1]" = "_gatehouse" ]; then _gatehouse "$@"; else compdef _gatehouse gatehouse; fi`;
}

export function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, actions, flags }) => {
    const seen = `__fish_seen_subcommand_from ${name}`;
    const atAction = `${seen}; and not __fish_seen_subcommand_from ${actions.join(" ")}`;
    return [
      `complete -c gatehouse -n __fish_use_subcommand -f -a ${name} -d ${quoteForFish(summary)}`,
      ...(actions.length === 0
        ? []
        : [`complete -c gatehouse -n ${quoteForFish(atAction)} -f -a ${quoteForFish(actions.join(" "))}`]),
      ...flags.map(({ name: flag, value, values, description }) => {
        const choice = values.length === 0 ? "" : ` -f -a ${quoteForFish(values.join(" "))}`;
        const required = value === null ? "" : " -r";
        return `complete -c gatehouse -n ${quoteForFish(seen)} -l ${flag}${required}${choice} -d ${quoteForFish(description)}`;
      }),
    ];
  });
  return ["# fish completion of gatehouse", ...lines].join("\n");
}

function quoteForZsh(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function quoteForFish(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}
