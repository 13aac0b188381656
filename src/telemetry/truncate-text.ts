// Bounds the length of texts that telemetry keeps.

const MAX_TEXT = 512;

/** Cuts a text to MAX_TEXT characters. Returns a copy, because a slice would keep the whole original text in memory. */
export function truncateText<T extends string | null>(text: T): T {
  if (text === null || text.length <= MAX_TEXT) return text;
  return `${Buffer.from(text.slice(0, MAX_TEXT)).toString()}…` as T;
}
