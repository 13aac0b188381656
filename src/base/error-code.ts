// Reads the code of an error that the runtime or the operating system reported.

/** Returns the `code` of an error, such as ECONNREFUSED; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
