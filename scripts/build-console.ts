// Bundles console/ into the few files that src/admin/console.ts serves: on the first visit where the sources are at hand,
// ahead of time for an executable (`embeddedConsole`). `npm run build:console` prints what they weigh.
import { fileURLToPath } from "node:url";

export interface ConsoleFile {
  /** Below /console/, as in `chunk-2fc10zc7.js`; the page itself is `index.html`. */
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

const ENTRY = fileURLToPath(new URL("../console/index.html", import.meta.url));

export async function buildConsole(): Promise<ConsoleFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [ENTRY],
    target: "browser",
    minify: true,
    publicPath: "/console/",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return Promise.all(
    outputs.map(async (output) => ({
      name: output.path.replace(/^\.\//, ""),
      type: output.type,
      text: await output.text(),
    })),
  );
}

/**
 * For `Bun.build({ compile, files })`: this module replaced by one that holds what it would have built, since an
 * executable has no sources to build from.
 */
export async function embeddedConsole(): Promise<Record<string, string>> {
  const built = JSON.stringify(await buildConsole());
  return { [import.meta.path]: `export const buildConsole = () => Promise.resolve(${built});` };
}

if (import.meta.main) {
  for (const { name, text } of await buildConsole()) {
    const compressed = Bun.gzipSync(text).byteLength;
    console.log(`${name.padEnd(24)} ${text.length} bytes, ${compressed} compressed`);
  }
}
