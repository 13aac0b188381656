// Translates the errors of the database drivers: 503 store_unavailable if the database cannot be used at the moment.
import { GatehouseError } from "../base/errors.ts";

/** The reason by error code: SQLSTATE classes of PostgreSQL, result codes of SQLite, and codes of the network. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_READONLY|^25006$/, "is read-only"],
  [/^SQLITE_FULL|^53100$/, "has no space left"],
  [/^SQLITE_BUSY|^SQLITE_LOCKED|^55P03$|^57014$|^40P01$|^40001$/, "is busy"],
  [/^SQLITE_IOERR|^58/, "reports a disk error"],
  [/^SQLITE_CANTOPEN|^ENOTDIR|^EACCES|^EROFS|^ENOENT|^EPERM/, "cannot be opened"],
  [/^SQLITE_CORRUPT|^SQLITE_NOTADB|^XX00/, "is damaged"],
  [/^28/, "rejects the login in DATABASE_URL"],
  [/^3D000$/, "in DATABASE_URL does not exist"],
  [/^42501$|^3F000$/, "does not give the user in DATABASE_URL the rights to create and write its tables"],
  [
    /^08|^57P|^53|^ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|TLS|AUTHENTICATION)|^ECONN|^ETIMEDOUT|^ENOTFOUND/,
    "cannot be reached",
  ],
];

/** Returns a 503 if the database cannot be used at the moment, otherwise the error itself. */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GatehouseError) return error;
  const [code, sqlState] = [codeOf(error), sqlStateOf(error)];
  const isDuplicate = code === "SQLITE_CONSTRAINT_UNIQUE" || sqlState === "23505";
  if (isDuplicate && error.message.includes("api_keys"))
    return new GatehouseError("duplicate", "Another API key has the same value.", { cause: error });
  const reason = REASONS.find(([pattern]) => pattern.test(sqlState) || pattern.test(code))?.[1];
  return reason === undefined ? error : unavailable(`The database ${reason}; nothing was changed.`, error);
}

export function unavailable(message: string, cause?: unknown): GatehouseError {
  return new GatehouseError("store_unavailable", message, { cause, headers: { "Retry-After": "1" } });
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === "SQLITE_BUSY";
}

/** Whether SQLite rejected the statement because the file is read-only. */
export function isReadOnly(error: unknown): boolean {
  return causeCodeOf(error).startsWith("SQLITE_READONLY");
}

/** Whether SQLite cannot read the file, so that only a backup helps. */
export function isDamaged(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(causeCodeOf(error));
}

/** Whether the error was reported by the embedded database, which has no connection that can break. */
export function isEmbedded(error: unknown): boolean {
  return causeCodeOf(error).startsWith("SQLITE_");
}

function causeCodeOf(error: unknown): string {
  return error instanceof Error ? codeOf(error.cause) : "";
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** PostgreSQL errors have their SQLSTATE in `errno`. For other errors `errno` is a number. */
function sqlStateOf(error: Error): string {
  return "errno" in error && typeof error.errno === "string" ? error.errno : "";
}
