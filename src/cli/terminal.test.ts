// Colors, tables, and progress, on a terminal and elsewhere.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { paint, Progress, table, usesColor } from "./terminal.ts";

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

describe("colors", () => {
  test("are used only on a terminal", () => {
    expect(paint("red", "x", terminal)).toBe("\x1b[31mx\x1b[0m");
    expect(paint("red", "x", pipe)).toBe("x");
  });

  test("are not used with a non-empty NO_COLOR, nor on a dumb terminal", () => {
    process.env["NO_COLOR"] = "";
    expect(usesColor(terminal)).toBe(true);
    process.env["NO_COLOR"] = "0";
    expect(usesColor(terminal)).toBe(false);
    delete process.env["NO_COLOR"];
    process.env["TERM"] = "dumb";
    expect(usesColor(terminal)).toBe(false);
  });
});

test("a table pads columns to their widest cell, ignoring color codes", () => {
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

  test("rewrites one line and clears it at the end", async () => {
    const { progress, written } = watched(true);
    progress.show("half", 0.5);
    expect(written.at(-1)).toBe(`\r\x1b[K${"█".repeat(12)}${"░".repeat(12)} half`);
    expect(await progress.during("work", 0.5, 1, 10, () => Promise.resolve(7))).toBe(7);
    expect(written.at(-1)).toEndWith(" work");
    progress.end();
    expect(written.at(-1)).toBe("\r\x1b[K");
  });

  test("prints nothing if the stream is not a terminal", async () => {
    const { progress, written } = watched(false);
    await progress.during("work", 0, 1, 10, () => Promise.resolve());
    progress.end();
    expect(written).toEqual([]);
  });
});
