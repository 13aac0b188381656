// Parses the flags of a benchmark; their types are those of the defaults. A mistake is one line and exit code 2.
import { parseArgs } from "node:util";

type Flag = number | string | boolean;
type Widened<T> = {
  -readonly [Name in keyof T]: T[Name] extends number ? number : T[Name] extends string ? string : boolean;
};

export function readFlags<const T extends Readonly<Record<string, Flag>>>(
  script: string,
  defaults: T,
): Widened<T> {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: typeof value === "boolean" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  try {
    const { values } = parseArgs({ args: process.argv.slice(2), options });
    const read = Object.entries(defaults).map(([name, value]) => [name, valueOf(name, values[name], value)]);
    return Object.fromEntries(read) as Widened<T>;
  } catch (error) {
    const known = Object.keys(defaults).map((name) => `--${name}`);
    console.error(`${script}: ${(error as Error).message}; use one of ${known.join(", ")}`);
    process.exit(2);
  }
}

function valueOf(name: string, given: string | boolean | undefined, fallback: Flag): Flag {
  if (given === undefined) return fallback;
  if (typeof fallback !== "number") return given;
  const value = Number(given);
  if (!Number.isFinite(value) || value <= 0)
    throw new Error(`--${name} is "${given}"; give a number above 0`);
  return value;
}

/** Parses a list such as `1,100,10000`. */
export function parseNumbers(list: string): number[] {
  return list.split(",").map((text) => Number(text.trim()));
}
