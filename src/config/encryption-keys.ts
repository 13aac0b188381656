// Parses ENCRYPTION_KEY: one key, or several separated by commas.

/**
 * Returns the keys, the newest first. A key of an older version may contain a comma, and keys are used exactly as they are given,
 * with any whitespace around them: such keys decrypt as well.
 */
export function parseEncryptionKeys(text: string | undefined): readonly [string, ...string[]] | null {
  if (text === undefined) return null;
  const parts = text.split(",").filter((part) => part.trim() !== "");
  const [newest, ...older] = text.includes(",") ? parts.map((part) => part.trim()) : parts;
  if (newest === undefined) throw new Error("has no key; give one, or several separated by commas");
  return [newest, ...new Set([...older, ...parts, text].filter((key) => key !== newest))];
}
