// Programs that some tests need and that may be missing on a developer's machine.

interface ProgramUse {
  readonly name: string;
  /** The tests that cannot run without the program. */
  readonly tests: string;
  /** The command that installs the program. */
  readonly install: string;
  /** Report a missing program in CI too, instead of failing; default false. */
  readonly isOptionalInCi?: boolean;
}

/** Returns true if `path` is a path. If the program is missing, tests are skipped with a visible warning, and fail in CI. */
export function isInstalled(
  path: string | null,
  { name, tests, install, isOptionalInCi = false }: ProgramUse,
): path is string {
  if (path !== null) return true;
  const message = `${name} is not installed: ${tests} are SKIPPED. Install it: ${install}`;
  if (process.env["CI"] === "true" && !isOptionalInCi) throw new Error(`${message} (required in CI)`);
  process.stderr.write(`\n!!! ${message}\n\n`);
  return false;
}
