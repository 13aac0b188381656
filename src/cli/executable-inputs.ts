// The files that dist/gatehouse was built from. The launcher runs that executable instead of the sources, because it starts in
// less than half of the time; the executable checks first that none of these files has changed since.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The path of the launcher that started this process; not set if the executable was started directly. */
const LAUNCHER_VARIABLE = "GATEHOUSE_LAUNCHER";
/** Set for the processes that a checked process starts: they run the same code as their parent. */
const CHECKED_VARIABLE = "GATEHOUSE_CHECKED";
/** Tells the launcher to run the sources. */
const FROM_SOURCES_VARIABLE = "GATEHOUSE_FROM_SOURCES";

/**
 * The identity of a file on this disk: every write to a file changes its ctime, which programs cannot set; the inode number differs if another
 * file took its place.
 */
type Identity = readonly [ino: number, size: number, mtimeMs: number, ctimeMs: number];

/** By path relative to the project folder: the identity of the file, and the hash of its content. */
export type ExecutableInputs = Readonly<Record<string, readonly [...Identity, hash: string]>>;

export const isLaunched = (): boolean => process.env[LAUNCHER_VARIABLE] !== undefined;

/** Returns the name of the file with the inputs of an executable. */
export function inputsFileOf(executable: string): string {
  return `${executable}.inputs.json`;
}

export function describeInputs(folder: string, paths: Iterable<string>): ExecutableInputs {
  return Object.fromEntries(
    [...paths].map((path) => {
      const file = join(folder, path);
      const { ino, size, mtimeMs, ctimeMs } = statSync(file);
      return [path, [ino, size, mtimeMs, ctimeMs, hashOf(file)]];
    }),
  );
}

/** Returns whether all inputs still have the same content. A file with the same identity is not read. */
export function areUnchanged(folder: string, inputs: ExecutableInputs): boolean {
  // A starting process does this for more than a thousand files. Joining paths or identities as text would take twice as long.
  for (const path in inputs) {
    const input = inputs[path];
    const file = `${folder}/${path}`;
    const stat = statSync(file, { throwIfNoEntry: false });
    if (input === undefined || stat === undefined) return false;
    const [ino, size, mtimeMs, ctimeMs, hash] = input;
    const isSame =
      stat.ino === ino && stat.size === size && stat.mtimeMs === mtimeMs && stat.ctimeMs === ctimeMs;
    if (!isSame && hashOf(file) !== hash) return false;
  }
  return true;
}

/**
 * If the launcher started this executable and the sources have changed since it was built, replaces this process by one that runs
 * the sources, with the same process id and arguments.
 */
export function runSourcesIfChanged(): void {
  const launcher = process.env[LAUNCHER_VARIABLE];
  if (!Bun.isStandaloneExecutable || launcher === undefined || process.env[CHECKED_VARIABLE] === "1") return;
  if (isBuiltFrom(join(launcher, "../.."), process.execPath)) {
    process.env[CHECKED_VARIABLE] = "1";
    return;
  }
  const environment: Record<string, string> = { [FROM_SOURCES_VARIABLE]: "1" };
  for (const [name, value] of Object.entries(process.env))
    if (value !== undefined) environment[name] ??= value;
  if (process.execve === undefined) throw new Error("the sources have changed; run npm run build");
  process.execve(launcher, [launcher, ...process.argv.slice(2)], environment);
}

/** Returns whether an executable was built from the files of this folder as they are now. */
export function isBuiltFrom(folder: string, executable: string): boolean {
  try {
    const inputs = JSON.parse(readFileSync(inputsFileOf(executable), "utf8")) as ExecutableInputs;
    return areUnchanged(folder, inputs);
  } catch {
    return false;
  }
}

function hashOf(file: string): string {
  return Bun.hash(readFileSync(file)).toString(36);
}
