// The committed WebAssembly modules are what their sources compile to. The compiler takes seconds, so only the long form runs it.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { compile, isCompilerInstalled, MODULES, sourceHash } from "../../scripts/build-wasm.ts";
import { isLong } from "../support/long-form.ts";

const committed = (compiled: string) => Bun.file(join(import.meta.dir, "../..", compiled)).text();

test.each(MODULES)("$source has not changed since `npm run build:wasm`", async (module) => {
  expect(await committed(module.compiled)).toContain(await sourceHash(module));
});

test.if(isLong && isCompilerInstalled()).each(MODULES)(
  "$compiled is what the compiler makes of $source",
  async (module) => {
    expect(await committed(module.compiled)).toBe(await compile(module));
  },
);
