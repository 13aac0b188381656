// Searches texts and files for secrets, in every encoding in which a gateway may write them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns every encoding of a secret: plain, base64 at any offset, hex, in a URL, in JSON. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const aligned = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // The first and last characters also contain bits of the neighboring bytes.
    return encoded.slice(offset === 0 ? 0 : offset + 1, -2);
  });
  return [
    ...new Set([
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      ...aligned,
      ...aligned.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
    ]),
  ];
}

export const found = (text: string, forms: readonly string[]) => forms.filter((form) => text.includes(form));

/** Returns the files below these paths that contain one of the texts. */
export function filesWith(paths: readonly string[], texts: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-patterns-"));
  const patterns = join(folder, "patterns");
  writeFileSync(patterns, `${texts.join("\n")}\n`);
  const grep = Bun.spawnSync(["grep", "-rlFa", "-f", patterns, ...paths], { env: { LC_ALL: "C" } });
  rmSync(folder, { recursive: true });
  if (grep.exitCode > 1) throw new Error(grep.stderr.toString());
  return grep.stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}
