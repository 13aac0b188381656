// The npm package as a plugin author outside of this repository uses it: its types, without the sources, and its code.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../support/gatehouse-process.ts";

setDefaultTimeout(60_000);

const ROOT = join(import.meta.dir, "../..");
const folder = temporaryDirectory();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PLUGIN = `
import { definePlugin, JsonStrings, z } from "gatehouse/sdk";
import type { FinalRequestContext, PluginHooks, RequestContext, ResponseTextContext } from "gatehouse/sdk";
import { testPlugin } from "gatehouse/sdk/testing";

export const plugin = definePlugin({
  name: "outside",
  description: "",
  stages: ["pre_request"],
  settings: z.strictObject({ word: z.string() }),
  create({ word }, host): PluginHooks {
    const store = host.openResponses({ maxBytes: 1, maxEntryBytes: 1 });
    return {
      pre_request: (context: RequestContext) => context.setHeader("x-word", word.toUpperCase()),
      final_request: (context: FinalRequestContext) => context.reuse({ store, key: "k", ttlMs: 1 }),
      response_text: (context: ResponseTextContext) => context.release(context.text.length),
    };
  },
});
const tested = await testPlugin(plugin, { word: "a" }).preRequest();
export const header: string | undefined = tested.headers["x-word"];
export const strings: JsonStrings = new JsonStrings(new Uint8Array(0));
`;
const CONFIGURATION = {
  compilerOptions: {
    target: "ESNext",
    module: "NodeNext",
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    types: [],
    lib: ["ESNext", "DOM"],
    noEmit: true,
  },
  files: ["plugin.ts"],
};

const installed = join(folder, "node_modules/gatehouse");
mkdirSync(installed, { recursive: true });
for (const part of ["package.json", "sdk"])
  cpSync(join(ROOT, part), join(installed, part), { recursive: true });
symlinkSync(join(ROOT, "node_modules/zod"), join(folder, "node_modules/zod"));

function typeErrors(source: string): string {
  writeFileSync(join(folder, "plugin.ts"), source);
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "check", "-p", folder], {
    cwd: folder,
  });
  return exitCode === 0 ? "" : stdout.toString() + stderr.toString();
}

writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIGURATION));

test("the types are complete without the sources, and find mistakes", () => {
  expect(typeErrors(PLUGIN)).toBe("");
  const wrong = typeErrors(PLUGIN.replace("word.toUpperCase()", "word.length").replace('key: "k"', "key: 1"));
  expect(wrong.match(/error TS2\d+/g)).toHaveLength(2);
});

test("Bun runs what imports the package", () => {
  symlinkSync(join(ROOT, "src"), join(installed, "src"));
  writeFileSync(join(folder, "plugin.ts"), PLUGIN);
  const program = 'import { header, plugin } from "./plugin.ts"; console.log(plugin.name, header);';
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program], { cwd: folder });
  expect([stderr.toString(), stdout.toString()]).toEqual(["", "outside A\n"]);
});
