// Parses the arguments of a command with util.parseArgs and reports each mistake as one line that says how to fix it.
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { nearestName } from "../base/nearest-name.ts";
import { UsageError } from "./command.ts";

interface ArgumentTypes<Options extends ParseArgsOptionsConfig> {
  /** Flags by name, without the leading "--". */
  readonly options: Options;
  /** Highest number of arguments without a flag; default 0. */
  readonly maxPositionals?: number;
}

/** Throws a UsageError for anything that `types` does not allow. `--name value` and `--name=value` are equivalent. */
export function parseArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  { options, maxPositionals = 0 }: ArgumentTypes<Options>,
) {
  const config = { args: [...args], options, allowPositionals: true, tokens: true } as const;
  // The strict mode of parseArgs has its own messages: find mistakes first, in the tokens of the lenient mode.
  const { tokens, positionals } = parseArgs({ ...config, strict: false });
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const problem = optionProblem(token, options, seen);
    if (problem !== null) throw new UsageError(problem);
    seen.add(token.name);
  }
  const extra = positionals[maxPositionals];
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"; remove it, or see --help`);
  return parseArgs({ ...config, strict: true });
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function optionProblem(
  { name, rawName: flag, value, inlineValue }: OptionToken,
  options: ParseArgsOptionsConfig,
  seen: ReadonlySet<string>,
): string | null {
  const option = Object.hasOwn(options, name) && flag === `--${name}` ? options[name] : undefined;
  if (option === undefined) return unknownFlagMessage(flag, options);
  if (seen.has(name) && option.multiple !== true) return `${flag} is given twice; give it once`;
  if (option.type === "boolean")
    return value === undefined ? null : `${flag} takes no value; remove "=${value}"`;
  if (value === undefined) return `${flag} needs a value, as in ${flag}=VALUE`;
  // Most likely the value was forgotten and the next flag was taken for it.
  if (inlineValue === false && /^-./.test(value))
    return `${flag} needs a value; if the value is "${value}", write ${flag}=${value}`;
  return null;
}

function unknownFlagMessage(flag: string, options: ParseArgsOptionsConfig): string {
  const known = [...Object.keys(options), "help"].map((name) => `--${name}`);
  const nearest = nearestName(flag, known);
  const hint = nearest === null ? `use one of ${known.join(", ")}` : `did you mean ${nearest}? See --help`;
  return `unknown flag "${flag}"; ${hint}`;
}

/** Returns the value of a flag or positional argument that must be given; `name` is its name in the usage. */
export function required(name: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`${name} is missing; see --help`);
  return value;
}

/** Returns the value of `--name` as a whole number within bounds, or `fallback` if the flag is not given. */
export function wholeNumber(
  flag: string,
  text: string | undefined,
  fallback: number,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`${flag} is "${text}"; give a whole number from ${min} to ${max}`);
  return value;
}
