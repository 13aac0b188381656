// The commands of each guide work when pasted in order into one shell, and print the documented output.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TEST_SECRET } from "../support/gatehouse-process.ts";
import { freePort } from "../support/postgres.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);
const ROOT = join(import.meta.dir, "../..");
const GUIDES = ["first-gateway", "keys-and-limits", "failover", "sanitation", "upgrade"];
const gatehouse = await useGatehouse();

interface Block {
  readonly kind: "sh" | "text";
  readonly lines: readonly string[];
}

function blocksOf(guide: string): Block[] {
  return [...guide.matchAll(/^( *)```(sh|text)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", kind, text = ""]) => ({
      kind: kind as Block["kind"],
      lines: text
        .trimEnd()
        .split("\n")
        .map((line) => line.slice(indent.length)),
    }),
  );
}

/** Replaces only the ports, because those of the guides may be in use. */
async function withFreePorts(commands: string): Promise<string> {
  const replaced = commands
    .replaceAll("http://127.0.0.1:8080", gatehouse.adminUrl)
    .replaceAll("http://127.0.0.1:8081", gatehouse.proxyUrl);
  return replaced.replaceAll("9099", String(await freePort())).replaceAll("9098", String(await freePort()));
}

test.each(GUIDES)("%s", async (name) => {
  const blocks = blocksOf(readFileSync(join(ROOT, "docs/guides", `${name}.md`), "utf8"));
  const commands = blocks.flatMap(({ kind, lines }) => (kind === "sh" ? [lines.join("\n")] : []));
  expect(commands.length).toBeGreaterThan(1);
  const script = `set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${await withFreePorts(commands.join("\n"))}\n`;
  const shell = Bun.spawn(["bash", "-c", script], {
    cwd: ROOT,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      DATA_DIR: gatehouse.dataDir,
      SERVER_SECRET_KEY: TEST_SECRET,
      GATEHOUSE_URL: gatehouse.adminUrl,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
  ]);
  const code = await shell.exited;
  if (code !== 0) throw new Error(`the commands of ${name} exited with code ${code}: ${errors}\n${output}`);
  for (const { kind, lines } of blocks)
    if (kind === "text") for (const line of lines) expect(output.toLowerCase()).toContain(line.toLowerCase());
});
