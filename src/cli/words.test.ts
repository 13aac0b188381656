import { describe, expect, test } from "bun:test";
import { Words } from "./words.ts";

const SHAPE = { values: ["--name"], lists: ["--header"], switches: ["--json"], places: ["what"] };
const read = (...words: string[]) => new Words(words, SHAPE);

describe("words", () => {
  test("values in both spellings, lists, switches and places, in any order", () => {
    const words = read("--header", "a: b", "this", "--name=x=y", "--json", "--header=c");
    expect(words.value("--name")).toBe("x=y");
    expect(words.list("--header")).toEqual(["a: b", "c"]);
    expect([words.has("--json"), words.place(0), words.place(1)]).toEqual([true, "this", undefined]);
    expect(read("--name", "--json").value("--name")).toBe("--json");
    expect(read().list("--header")).toEqual([]);
  });

  test.each([
    [["--nmae", "x"], 'unknown flag "--nmae"; did you mean --name?'],
    [["--zzzzzz=secret"], 'unknown flag "--zzzzzz"; known are --name, --header, --json, --help'],
    [["--name"], "--name needs a value"],
    [["--name", "a", "--name", "b"], "--name is given twice"],
    [["--json=yes"], "--json takes no value"],
    [["one", "two"], '"two" is one word too many; see --help'],
  ])("%p is refused", (words, sentence) => {
    expect(() => read(...words)).toThrow(sentence);
  });

  test("a number within bounds", () => {
    const number = (text?: string) =>
      (text === undefined ? read() : read("--name", text)).number("--name", 7, 1, 10);
    expect([number(), number("10")]).toEqual([7, 10]);
    for (const text of ["0", "11", "1.5", "-1", "", "ten"])
      expect(() => number(text)).toThrow("give a whole number from 1 to 10");
  });
});
