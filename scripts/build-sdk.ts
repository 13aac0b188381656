// The plugin SDK as files, for the tests and the editors of plugin authors: a bundle that Bun can run outside of this repository, and type
// declarations. Built on demand if the sources are available, or at build time for an executable (`embeddedSdk`).
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Text by path, relative to a folder. */
type FileTexts = Readonly<Record<string, string>>;

interface SdkFiles {
  /** Makes `gatehouse/sdk` and `gatehouse/sdk/testing` available to what Bun runs after `--preload preload.js`. */
  readonly runtime: FileTexts;
  /** Declares the types of both modules, of zod, and of the functions of `bun:test`. */
  readonly types: FileTexts;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The exports are copied because a module of a plugin of Bun is an object. */
const PRELOAD = `import { plugin } from "bun";
import * as sdk from "./index.js";
import * as testing from "./testing.js";
plugin({
  name: "gatehouse-sdk",
  setup(build) {
    build.module("gatehouse/sdk", () => ({ exports: { ...sdk }, loader: "object" }));
    build.module("gatehouse/sdk/testing", () => ({ exports: { ...testing }, loader: "object" }));
  },
});
`;

export async function buildSdk(): Promise<SdkFiles> {
  return { runtime: await buildRuntime(), types: readTypes() };
}

async function buildRuntime(): Promise<FileTexts> {
  const { outputs } = await Bun.build({
    entrypoints: ["index", "testing"].map((name) => join(ROOT, `src/sdk/${name}.ts`)),
    target: "bun",
    // Both must have the same classes.
    splitting: true,
    naming: "[name].[ext]",
    minify: { whitespace: true, syntax: true, identifiers: false },
  });
  const files: Record<string, string> = { "preload.js": PRELOAD };
  for (const output of outputs) files[output.path.replace(/^\.\//, "")] = await output.text();
  return files;
}

function readTypes(): FileTexts {
  const files: Record<string, string> = {
    // Anyone can write these files again.
    ".gitignore": "*\n",
    "gatehouse-sdk.d.ts": moduleDeclaration("gatehouse/sdk", "sdk/index.d.ts"),
    "gatehouse-sdk-testing.d.ts": moduleDeclaration("gatehouse/sdk/testing", "sdk/testing.d.ts"),
    "bun-test.d.ts": readFileSync(join(ROOT, "sdk/bun-test.d.ts.txt"), "utf8"),
  };
  const zod = dirname(fileURLToPath(import.meta.resolve("zod/package.json")));
  const add = (file: string): void => {
    const name = `node_modules/zod/${file}`;
    if (files[name] !== undefined) return;
    const text = readFileSync(join(zod, file), "utf8");
    files[name] = text;
    for (const [, specifier = ""] of text.matchAll(/\bfrom "(\.[^"]+)\.js"|\bimport\("(\.[^"]+)\.js"\)/g))
      add(join(dirname(file), `${specifier}.d.ts`));
  };
  add("index.d.ts");
  files["node_modules/zod/LICENSE"] = readFileSync(join(zod, "LICENSE"), "utf8");
  files["node_modules/zod/package.json"] = '{ "name": "zod", "type": "module", "types": "./index.d.ts" }\n';
  return files;
}

/**
 * Returns the declarations of a file as those of a module, for a folder of plugins without the package. `paths` of tsconfig.json would not do:
 * Bun follows it at run time, too.
 */
function moduleDeclaration(name: string, file: string): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  const inside = text
    .replaceAll(/^(export )?declare /gm, "$1")
    .replace('from "./index.js"', 'from "gatehouse/sdk"');
  return `declare module "${name}" {\n${inside}}\n`;
}

/** Returns `files` for `Bun.build({ compile, files })`, which replace this module: an executable has no sources. */
export async function embeddedSdk(): Promise<Record<string, string>> {
  const built = JSON.stringify(await buildSdk());
  return { [import.meta.path]: `export const buildSdk = () => Promise.resolve(${built});` };
}
