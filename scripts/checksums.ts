// SHA256SUMS: the checksums of release files, in the format of sha256sum(1).
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Adds files of one folder to its SHA256SUMS. Lines of other files stay, unless the file no longer exists. */
export function addChecksums(...files: readonly [string, ...string[]]): void {
  const folder = dirname(files[0]);
  const list = join(folder, "SHA256SUMS");
  const sums = new Map<string, string>();
  for (const line of existsSync(list) ? readFileSync(list, "utf8").split("\n") : []) {
    const [sum = "", name = ""] = line.split("  ");
    if (name !== "" && existsSync(join(folder, name))) sums.set(name, sum);
  }
  for (const file of files)
    sums.set(basename(file), new Bun.CryptoHasher("sha256").update(readFileSync(file)).digest("hex"));
  const lines = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, sum]) => `${sum}  ${name}\n`);
  writeFileSync(list, lines.join(""));
}
