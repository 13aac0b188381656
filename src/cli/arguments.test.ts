// The argument parser: accepted notations, and the message for every kind of mistake.
import { describe, expect, test } from "bun:test";
import { parseArguments, required, wholeNumber } from "./arguments.ts";
import { UsageError } from "./command.ts";

const parse = (...args: string[]) =>
  parseArguments(args, {
    options: {
      name: { type: "string" },
      header: { type: "string", multiple: true },
      json: { type: "boolean" },
    },
    maxPositionals: 1,
  });

describe("parseArguments", () => {
  test("accepts both notations, repeated flags, switches, and positionals in any order", () => {
    const { values, positionals } = parse("--header", "a: b", "this", "--name=x=y", "--json", "--header=c");
    expect({ ...values }).toEqual({ name: "x=y", header: ["a: b", "c"], json: true });
    expect(positionals).toEqual(["this"]);
    expect({ ...parse().values }).toEqual({});
  });

  test('accepts a value that starts with "-" after "=", and "-" alone', () => {
    expect(parse("--name=--json").values.name).toBe("--json");
    expect(parse("--name", "-").values.name).toBe("-");
    expect(parse("-").positionals).toEqual(["-"]);
  });

  test.each([
    [["--nmae", "x"], 'unknown flag "--nmae"; did you mean --name? See --help'],
    [["--zzzzzz=secret"], 'unknown flag "--zzzzzz"; use one of --name, --header, --json, --help'],
    [["-j"], 'unknown flag "-j"; use one of --name, --header, --json, --help'],
    [["--toString"], 'unknown flag "--toString"; use one of --name, --header, --json, --help'],
    [["--name"], "--name needs a value, as in --name=VALUE"],
    [["--name", "--json"], '--name needs a value; if the value is "--json", write --name=--json'],
    [["--name", "a", "--name", "b"], "--name is given twice; give it once"],
    [["--json", "--json"], "--json is given twice; give it once"],
    [["--json=yes"], '--json takes no value; remove "=yes"'],
    [["one", "two"], 'unexpected argument "two"; remove it, or see --help'],
  ])("rejects %p", (args, message) => {
    expect(() => parse(...args)).toThrow(new UsageError(message));
  });
});

test("required rejects a missing argument", () => {
  expect(required("FILE", "a.yaml")).toBe("a.yaml");
  expect(() => required("FILE", undefined)).toThrow(new UsageError("FILE is missing; see --help"));
});

test("wholeNumber accepts whole numbers within the bounds", () => {
  const number = (text?: string) => wholeNumber("--seconds", text, 7, { min: 1, max: 10 });
  expect([number(), number("10")]).toEqual([7, 10]);
  for (const text of ["0", "11", "1.5", "-1", "", "ten"])
    expect(() => number(text)).toThrow(
      new UsageError(`--seconds is "${text}"; give a whole number from 1 to 10`),
    );
});
