// The variables that Bun reads before any of our code runs: launcher and program must agree.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RUNTIME_ENVIRONMENT } from "./runtime-environment.ts";

test("the launcher sets the same variables as the program, and keeps those that are set already", () => {
  const launcher = readFileSync(join(import.meta.dir, "../../bin/gatehouse"), "utf8");
  const exported = [...launcher.matchAll(/^export (.+)$/gm)].map(([, line]) => line);
  const expected = Object.entries(RUNTIME_ENVIRONMENT).map(
    ([name, value]) => `${name}="\${${name}:-${value}}"`,
  );
  expect(exported).toEqual(expected);
});
