// Temporary directories of tests. They are removed when the tests of the process have ended (remove-temporary-directories.ts, which
// bunfig.toml loads before the tests): the test runner does not call listeners for the exit of the process.
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const created = new Set<string>();

/** Returns the path of a new directory outside of the repository. */
export function temporaryDirectory(prefix = "gatehouse-test-"): string {
  return createDirectory(tmpdir(), prefix);
}

/**
 * Returns the path of a new directory in memory, where a transaction of SQLite does not wait for the disk. On disk if there is
 * little memory for files, as in a container.
 */
export function memoryDirectory(): string {
  return createDirectory(memory, "gatehouse-test-");
}

const SHARED_MEMORY = "/dev/shm";
const NEEDED_BYTES = 1 << 30;
const memory = hasRoom(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir();

function hasRoom(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

function createDirectory(parent: string, prefix: string): string {
  const directory = mkdtempSync(join(parent, prefix));
  created.add(directory);
  return directory;
}

export function removeTemporaryDirectories(): void {
  for (const directory of created) rmSync(directory, { recursive: true, force: true });
  created.clear();
}
