// Releases the machine code of the runtime that only startup needed: parser, module loader, SQL migrations, and what the kernel
// mapped around them. It stays in the page cache of the kernel, and what is needed again is mapped again without reading the disk.
import { realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { openCLibrary } from "../base/c-library.ts";

/** From sys/mman.h of Linux: unmaps the pages of a range. */
const MADV_DONTNEED = 4;

interface Mapping {
  readonly address: bigint;
  readonly bytes: bigint;
}

/** Unmaps the code of the runtime on Linux; does nothing on other systems. */
export async function releaseCode(): Promise<void> {
  if (process.platform !== "linux") return;
  const mappings = cleanMappingsOf(
    realpathSync(process.execPath),
    await readFile("/proc/self/smaps", "utf8"),
  );
  const { madvise } = await openCLibrary({ madvise: { args: ["u64", "u64", "i32"], returns: "i32" } });
  for (const { address, bytes } of mappings) madvise(address, bytes, MADV_DONTNEED);
}

/**
 * Returns the mappings of a file that are read-only and have no modified page, from the text of /proc/PID/smaps. Unmapped pages of
 * these are read from the file again; those of any other mapping would be lost.
 */
export function cleanMappingsOf(file: string, smaps: string): Mapping[] {
  const clean: Mapping[] = [];
  let current: Mapping | null = null;
  for (const line of smaps.split("\n")) {
    const [, start, end, path] = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ [1-9]\d* +(.+)$/.exec(line) ?? [];
    if (start !== undefined && end !== undefined && path === file)
      current = { address: BigInt(`0x${start}`), bytes: BigInt(`0x${end}`) - BigInt(`0x${start}`) };
    else if (/^[0-9a-f]+-/.test(line)) current = null;
    else if (current !== null && line.startsWith("Anonymous:")) {
      if (/ 0 kB$/.test(line)) clean.push(current);
      current = null;
    }
  }
  return clean;
}
