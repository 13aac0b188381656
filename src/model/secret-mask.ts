// The mask of a secret, which responses show in its place.

/** The mask of a short secret. */
export const HIDDEN = "***";

/** Shows the first three and last four characters of a long secret, and nothing of a short one. */
export function maskSecret(secret: string): string {
  return secret.length < 12 ? HIDDEN : `${secret.slice(0, 3)}***${secret.slice(-4)}`;
}

/** Whether a value looks like a result of `maskSecret`. It must not be stored, because the secret would be lost. */
export function looksMasked(value: string): boolean {
  return value === HIDDEN || (value.length === 10 && value.slice(3, 6) === "***");
}
