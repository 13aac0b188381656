// gatehouse plugin: creates custom plugins, and runs their tests.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildSdk } from "../../../scripts/build-sdk.ts";
import { readSettings } from "../../config/settings.ts";
import { PluginRegistry } from "../../plugins/registry.ts";
import { parseArguments, required } from "../arguments.ts";
import { UsageError, type Command } from "../command.ts";
import { pluginSource, testSource, TSCONFIG, TYPES_FOLDER } from "./plugin-template.ts";
import { runTests, testFilesOf, writeFiles } from "./run-tests.ts";

/** Narrower than what a definition may have: the name is also that of a file. */
const NAME = /^[a-z][a-z0-9_-]{0,63}$/;

export const plugin: Command = {
  summary: "create a custom plugin, or run the tests of custom plugins",
  help: `Usage: gatehouse plugin new NAME [--dir DIR]
       gatehouse plugin test [PATH] [--dir DIR]
       gatehouse plugin types [--dir DIR]

new    creates a plugin with its test, and what editors need to know the types of the SDK
test   runs the tests of all plugins, or of PATH: a folder, a file, or the name of a plugin; exit code 1 if one fails
types  writes the type declarations of the SDK again, after an upgrade or in a new checkout

  --dir DIR      folder of the plugins; default PLUGINS_DIR, which is plugins if it is not set`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: { dir: { type: "string" } },
      maxPositionals: 2,
    });
    const [action, argument] = positionals;
    const directory = values.dir ?? readSettings(process.env).PLUGINS_DIR;
    if (action === "new") return createPlugin(required("NAME", argument), directory);
    if (action === "test") return (await runTests(testFilesOf(argument, directory), directory)) ? 0 : 1;
    if (action !== "types" || argument !== undefined)
      throw new UsageError("give an action: gatehouse plugin new NAME, test [PATH], or types");
    await writeTypes(directory);
    console.log(`wrote ${join(directory, TYPES_FOLDER)}`);
    return 0;
  },
};

async function createPlugin(name: string, directory: string): Promise<number> {
  if (!NAME.test(name))
    throw new UsageError(
      `"${name}" is no name for a plugin; give 1 to 64 lower-case letters, digits, "_" or "-", starting with a letter`,
    );
  if (new PluginRegistry().isBuiltin(name))
    throw new UsageError(`"${name}" is the name of a built-in plugin; choose another one`);
  const files = { [`${name}.ts`]: pluginSource(name), [`${name}.test.ts`]: testSource(name) };
  for (const taken of [...Object.keys(files), `${name}.js`, name].map((file) => join(directory, file)))
    if (existsSync(taken)) throw new Error(`${taken} exists; choose another name, or remove it`);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) {
    // A file that was created meanwhile is not overwritten.
    writeFileSync(join(directory, file), text, { flag: "wx" });
    console.log(`created ${join(directory, file)}`);
  }
  if (!hasTypeConfiguration(directory)) {
    writeFileSync(join(directory, "tsconfig.json"), TSCONFIG, { flag: "wx" });
    console.log(`created ${join(directory, "tsconfig.json")}`);
    await writeTypes(directory);
    console.log(`created ${join(directory, TYPES_FOLDER)}, with the types of the SDK for your editor`);
  }
  const commands = [`gatehouse plugin test ${name}`, "gatehouse serve"];
  const [test = "", serve = ""] = commands.map((command) => command.padEnd(name.length + 24));
  console.log(`
Next:
  ${test}runs its test
  ${serve}loads it, and loads it again when you save the file

To use it, add this to required_plugins of a gateway:
  {"name": "${name}", "stage": "pre_request", "settings": {"text": "hello"}}`);
  return 0;
}

/** The checkout of the gateway itself, and projects with the npm package, resolve the SDK by themselves. */
function hasTypeConfiguration(directory: string): boolean {
  return [directory, dirname(resolve(directory))].some((folder) => existsSync(join(folder, "tsconfig.json")));
}

async function writeTypes(directory: string): Promise<void> {
  writeFiles(join(directory, TYPES_FOLDER), (await buildSdk()).types);
}
