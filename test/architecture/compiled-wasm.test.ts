// The committed WebAssembly module is what its source compiles to.
import { expect, test } from "bun:test";
import { compile, COMPILED, isCompilerInstalled, sourceHash } from "../../scripts/build-wasm.ts";
import { SOURCE_SHA256 } from "../../src/base/json-string-end-wasm.ts";

test("wasm/json-string-end.ts has not changed since `npm run build:wasm`", async () => {
  expect(SOURCE_SHA256).toBe(await sourceHash());
});

test.skipIf(!isCompilerInstalled())(
  "src/base/json-string-end-wasm.ts is what the compiler makes of it",
  async () => {
    expect(await Bun.file(COMPILED).text()).toBe(await compile());
  },
);
