// How much of a text is remembered.

const MAX_TEXT = 512;

/** What clients send may be long; what is remembered is not. A copy, since a part of a text would hold on to all of it. */
export function truncateText<T extends string | null>(text: T): T {
  if (text === null || text.length <= MAX_TEXT) return text;
  return `${Buffer.from(text.slice(0, MAX_TEXT)).toString()}…` as T;
}
