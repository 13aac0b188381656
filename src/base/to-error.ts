// Converts a caught value, which may be anything, to an Error.

export function toError(caught: unknown): Error {
  return caught instanceof Error ? caught : new Error(String(caught));
}
