// For names in messages that clients and operators choose, and that may be long.

export function shorten(text: string, maxCharacters = 200): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}
