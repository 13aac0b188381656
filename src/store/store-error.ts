// Turns what a database driver throws into our words: the store is away, or the fault is ours.
import { GatehouseError } from "../base/errors.ts";

/** By code prefix: what an operator should know. SQLSTATE classes for PostgreSQL, result codes for SQLite. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_READONLY|^25006$/, "is read-only"],
  [/^SQLITE_FULL|^53100$/, "has no space left"],
  [/^SQLITE_BUSY|^SQLITE_LOCKED|^55P03$|^57014$|^40P01$|^40001$/, "is busy"],
  [/^SQLITE_IOERR|^58/, "reports a disk error"],
  [/^SQLITE_CANTOPEN|^ENOTDIR|^EACCES|^EROFS|^ENOENT|^EPERM/, "cannot be opened"],
  [/^SQLITE_CORRUPT|^SQLITE_NOTADB|^XX00/, "is damaged"],
  [/^28|^3D000$/, "refuses the login of DATABASE_URL"],
  [
    /^08|^57P|^53|^ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|TLS|AUTHENTICATION)|^ECONN|^ETIMEDOUT|^ENOTFOUND/,
    "cannot be reached",
  ],
];

/** The 503 for a database that cannot be used right now; anything else comes back as it was. */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GatehouseError) return error;
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  const isTaken = code === "SQLITE_CONSTRAINT_UNIQUE" || errno === "23505";
  if (isTaken && error.message.includes("api_keys"))
    return new GatehouseError("duplicate", "Another API key is the very same key.", { cause: error });
  for (const [pattern, reason] of REASONS) {
    if ([errno, code].some((each) => typeof each === "string" && pattern.test(each))) {
      return unavailable(`The database ${reason}; nothing was changed.`, error);
    }
  }
  return error;
}

export function unavailable(sentence: string, cause?: unknown): GatehouseError {
  return new GatehouseError("store_unavailable", sentence, { cause, headers: { "Retry-After": "1" } });
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === "SQLITE_BUSY";
}
