// Reads the code of a system error.

/** Returns the `code` of an error, such as `ENOENT`; undefined if it has none. */
export function errorCode(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
