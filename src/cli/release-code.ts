// Releases what only startup needed of the executable: machine code of the runtime (parser, module loader, SQL migrations, compilers), embedded
// modules, and what the kernel mapped around them. It stays in the page cache of the kernel, and what is needed again is mapped again
// without reading the disk.
import { closeSync, openSync, readSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { openCLibrary } from "../base/c-library.ts";
import { findElfSection } from "./elf-section.ts";

/** From sys/mman.h of Linux: unmaps the pages of a range. */
const MADV_DONTNEED = 4;
/** The section in which Bun embeds modules and files. It is mapped as writable data, but nothing writes to it. */
const EMBEDDED_SECTION = ".bun";
/** From the kernel's documentation of /proc/PID/pagemap: 8 bytes per page, with flags in the last of them. */
const ENTRY_BYTES = 8;
const IN_MEMORY_OR_SWAP = 0xc0;
const OF_FILE = 0x20;

interface Mapping {
  readonly address: bigint;
  readonly bytes: bigint;
}

/**
 * Resolves to a function that unmaps the code of the runtime and the embedded modules on Linux, and does nothing on other systems. It may be
 * called again when more has been mapped.
 */
export async function prepareRelease(): Promise<() => void> {
  if (process.platform !== "linux") return () => undefined;
  const smaps = await readFile("/proc/self/smaps", "utf8");
  const code = cleanMappingsOf(realpathSync(process.execPath), smaps);
  const [, pageKilobytes = "0"] = /^KernelPageSize: +(\d+) kB$/m.exec(smaps) ?? [];
  const embedded = embeddedPages(Number(pageKilobytes) * 1024);
  const { madvise } = await openCLibrary({ madvise: { args: ["u64", "u64", "i32"], returns: "i32" } });
  return () => {
    const mappings = embedded !== null && embedded.areUnmodified() ? [...code, embedded] : code;
    for (const { address, bytes } of mappings) madvise(address, bytes, MADV_DONTNEED);
  };
}

interface EmbeddedPages extends Mapping {
  /** Modified pages would be lost. */
  areUnmodified(): boolean;
}

/** Returns the whole pages of the embedded modules; null if there are none, or if the system does not show which were modified. */
function embeddedPages(pageBytes: number): EmbeddedPages | null {
  try {
    const section = withFile("/proc/self/exe", (readAt) => findElfSection(readAt, EMBEDDED_SECTION));
    if (section === null || pageBytes === 0) return null;
    const first = Math.ceil(Number(section.address) / pageBytes);
    const count = Math.floor(Number(section.address + section.bytes) / pageBytes) - first;
    if (count <= 0) return null;
    const pagemap = openSync("/proc/self/pagemap", "r");
    const entries = new Uint8Array(count * ENTRY_BYTES);
    return {
      address: BigInt(first * pageBytes),
      bytes: BigInt(count * pageBytes),
      areUnmodified: () =>
        readSync(pagemap, entries, 0, entries.length, first * ENTRY_BYTES) === entries.length &&
        areOfFile(entries),
    };
  } catch {
    return null;
  }
}

/** Whether none of the pages, of which this is the part of /proc/PID/pagemap, was modified since it was mapped from a file. */
export function areOfFile(pagemap: Uint8Array): boolean {
  for (let at = ENTRY_BYTES - 1; at < pagemap.length; at += ENTRY_BYTES) {
    const flags = pagemap[at] ?? 0;
    if ((flags & IN_MEMORY_OR_SWAP) !== 0 && (flags & OF_FILE) === 0) return false;
  }
  return true;
}

function withFile<Value>(
  path: string,
  use: (readAt: (position: number, length: number) => Uint8Array) => Value,
): Value {
  const file = openSync(path, "r");
  try {
    return use((position, length) => {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, position));
    });
  } finally {
    closeSync(file);
  }
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
