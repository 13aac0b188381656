// Changes a file of another program: keeps a backup, replaces the file as a whole, and leaves it alone if nothing changes.
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

interface WrittenSettings {
  readonly changed: boolean;
  /** A copy of the file as it was; null if there was none. */
  readonly backup: string | null;
}

/** New files are readable by their owner only, because they contain keys. */
const PRIVATE_MODE = 0o600;

/** Throws if `merge` does. The file then stays as it is. */
export function writeSettings(file: string, merge: (before: string) => string): WrittenSettings {
  const exists = existsSync(file);
  // A link stays a link.
  const path = exists ? realpathSync(file) : file;
  const before = exists ? readText(path) : "";
  const after = mergeOrExplain(file, before, merge);
  if (after === before) return { changed: false, backup: null };
  const mode = exists ? statSync(path).mode & 0o777 : PRIVATE_MODE;
  mkdirSync(dirname(path), { recursive: true });
  const backup = exists ? `${path}.backup-${timestamp()}` : null;
  if (backup !== null) {
    copyFileSync(path, backup, constants.COPYFILE_EXCL);
    chmodSync(backup, mode);
  }
  const replacement = `${path}.new-${process.pid}`;
  writeFileSync(replacement, after, { mode, flag: "wx" });
  renameSync(replacement, path);
  return { changed: true, backup };
}

function readText(path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function mergeOrExplain(file: string, before: string, merge: (before: string) => string): string {
  try {
    return merge(before);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${file} was not changed: ${reason}; fix it, or run the command without --write and set the printed values yourself`,
      { cause: error },
    );
  }
}

/** Such as 20260131T120000123Z, so that each backup has its own name. */
function timestamp(): string {
  return new Date().toISOString().replaceAll(/[-:.]/g, "");
}
