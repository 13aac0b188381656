// Colors and tables, on a terminal and elsewhere.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { paint, table, usesColor } from "./terminal.ts";

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
