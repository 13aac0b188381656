// Bundles console/ into the files that src/admin/console.ts serves: on the first visit if the sources are available, or at
// build time for an executable (`embeddedConsole`). `npm run build:console` prints the file sizes.
import { fileURLToPath } from "node:url";

export interface ConsoleFile {
  /** Name below /console/, such as `chunk-2fc10zc7.js`; the page is `index.html`. */
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

const ENTRY = fileURLToPath(new URL("../console/index.html", import.meta.url));

const START = fileURLToPath(new URL("../console/appearance-start.ts", import.meta.url));

export async function buildConsole(): Promise<ConsoleFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [ENTRY],
    target: "browser",
    minify: true,
    // Pages behind `import()` are files of their own.
    splitting: true,
    publicPath: "/console/",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const [start, ...files] = await Promise.all([buildStart(), ...outputs.map(toFile)]);
  // A classic script before the style sheet blocks the first paint, which is its purpose.
  const tag = `<script src="/console/${start.name}"></script>`;
  const addTag = (text: string) => text.replace("<title>", `${tag}<title>`);
  return [
    start,
    ...files.map((file) => (file.name === "index.html" ? { ...file, text: addTag(file.text) } : file)),
  ];
}

/** Builds the script that runs before the first paint. */
async function buildStart(): Promise<ConsoleFile> {
  const { outputs } = await Bun.build({
    entrypoints: [START],
    target: "browser",
    format: "iife",
    minify: true,
    naming: "[name]-[hash].[ext]",
  });
  const [output] = outputs;
  if (output === undefined) throw new Error(`${START} has no output`);
  return toFile(output);
}

async function toFile(output: Bun.BuildArtifact): Promise<ConsoleFile> {
  return { name: output.path.replace(/^\.\//, ""), type: output.type, text: await output.text() };
}

/**
 * Returns `files` for `Bun.build({ compile, files })`. It replaces this module by one that contains the bundle, because an
 * executable has no sources to bundle.
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
