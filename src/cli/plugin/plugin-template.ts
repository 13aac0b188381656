// The files of a new plugin: its code, its test, and the configuration of the type checker.

/** Apart, because checks of this repository would take the line for an export of this file. */
const EXPORT = "export default";

export function pluginSource(name: string): string {
  return `// The plugin ${name}: adds a header to responses. Change it as you need.
import { definePlugin, z } from "gatehouse/sdk";

${EXPORT} definePlugin({
  name: "${name}",
  description: "Adds a header to responses.",
  stages: ["pre_request"],
  // The Admin API rejects settings that this schema rejects.
  settings: z.strictObject({ text: z.string().min(1).max(100).default("hello") }),
  explainable: true,
  create({ text }) {
    return {
      pre_request(context) {
        context.setResponseHeader("${headerOf(name)}", text);
      },
    };
  },
});
`;
}

export function testSource(name: string): string {
  return `import { expect, test } from "bun:test";
import { testPlugin } from "gatehouse/sdk/testing";
import plugin from "./${name}.ts";

test("adds the header", async () => {
  const { responseHeaders } = await testPlugin(plugin, { text: "hi" }).preRequest();
  expect(responseHeaders).toEqual({ "${headerOf(name)}": "hi" });
});

test("rejects an unknown setting", () => {
  expect(() => testPlugin(plugin, { texd: "hi" })).toThrow("texd");
});
`;
}

/** The folder of the type declarations. A name that starts with a dot is no plugin, and only included if it is listed. */
export const TYPES_FOLDER = ".gatehouse";

export const TSCONFIG = `{
  "compilerOptions": {
    "target": "ESNext",
    "module": "Preserve",
    "moduleResolution": "Bundler",
    "lib": ["ESNext", "DOM", "DOM.Iterable"],
    "types": [],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "noEmit": true
  },
  "include": ["**/*.ts", "${TYPES_FOLDER}/*.d.ts"]
}
`;

/** Returns `X-Say-Hello` for `say_hello`. */
function headerOf(name: string): string {
  const words = name.split(/[_-]+/).filter((word) => word !== "");
  return ["X", ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join("-");
}
