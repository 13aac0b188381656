// What the runtime reads before any of our code runs: the launcher and the program must say the same.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RUNTIME_SETTINGS } from "./self.ts";

test("the launcher sets what the program would set itself, and nothing that is set already", () => {
  const launcher = readFileSync(join(import.meta.dir, "../../bin/gatehouse"), "utf8");
  const exported = [...launcher.matchAll(/^export (.+)$/gm)].map(([, line]) => line);
  const expected = Object.entries(RUNTIME_SETTINGS).map(([name, value]) => `${name}="\${${name}:-${value}}"`);
  expect(exported).toEqual(expected);
});
