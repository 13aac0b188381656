// Temporary directories of tests. They are removed when the tests of the process have ended (remove-temporary-directories.ts, which
// bunfig.toml loads before the tests): the test runner does not call listeners for the exit of the process.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const created = new Set<string>();

/** Returns the path of a new directory outside of the repository. */
export function temporaryDirectory(prefix = "gatehouse-test-"): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  created.add(directory);
  return directory;
}

export function removeTemporaryDirectories(): void {
  for (const directory of created) rmSync(directory, { recursive: true, force: true });
  created.clear();
}
