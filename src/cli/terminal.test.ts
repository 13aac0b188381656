import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { paint, Progress, table, usesColour } from "./terminal.ts";

const SETTINGS = ["NO_COLOR", "TERM"] as const;
const before = SETTINGS.map((name) => process.env[name]);
beforeEach(() => {
  delete process.env["NO_COLOR"];
  process.env["TERM"] = "xterm";
});
afterEach(() => {
  for (const [index, name] of SETTINGS.entries()) {
    const value = before[index];
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  }
});

const terminal = { isTTY: true };
const pipe = { isTTY: false };

describe("colours", () => {
  test("only on a terminal", () => {
    expect(paint("red", "x", terminal)).toBe("\x1b[31mx\x1b[0m");
    expect(paint("red", "x", pipe)).toBe("x");
  });

  test("never with NO_COLOR, unless it is empty, nor on a terminal that knows none", () => {
    process.env["NO_COLOR"] = "";
    expect(usesColour(terminal)).toBe(true);
    process.env["NO_COLOR"] = "0";
    expect(usesColour(terminal)).toBe(false);
    delete process.env["NO_COLOR"];
    process.env["TERM"] = "dumb";
    expect(usesColour(terminal)).toBe(false);
  });
});

test("a table has columns as wide as they need, painted or not", () => {
  const rows = [
    ["1", "\x1b[32mactive\x1b[0m", "x"],
    ["22", "gone", "y"],
  ];
  expect(Bun.stripANSI(table(["ID", "STATE", "LAST"], rows)).split("\n")).toEqual([
    "ID  STATE   LAST",
    "1   active  x",
    "22  gone    y",
  ]);
});

describe("progress", () => {
  const watched = (isTTY: boolean) => {
    const written: string[] = [];
    const write = (text: string) => written.push(text) > 0;
    return { progress: new Progress({ isTTY, write, columns: 80 }), written };
  };

  test("one line that is written anew, and taken away at the end", async () => {
    const { progress, written } = watched(true);
    progress.show("half", 0.5);
    expect(written.at(-1)).toBe(`\r\x1b[K${"█".repeat(12)}${"░".repeat(12)} half`);
    expect(await progress.during("work", 0.5, 1, 10, () => Promise.resolve(7))).toBe(7);
    expect(written.at(-1)).toEndWith(" work");
    progress.end();
    expect(written.at(-1)).toBe("\r\x1b[K");
  });

  test("nothing where nobody looks", async () => {
    const { progress, written } = watched(false);
    await progress.during("work", 0, 1, 10, () => Promise.resolve());
    progress.end();
    expect(written).toEqual([]);
  });
});
