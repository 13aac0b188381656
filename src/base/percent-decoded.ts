// Decodes text that a client percent-encoded, or should have.

/** Returns the text unchanged if it is not correctly encoded. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Decodes what can be decoded, as lenient servers do. */
export function percentDecodedLeniently(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    const bytes = Buffer.from(text).toString("latin1");
    const decoded = bytes.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    );
    return Buffer.from(decoded, "latin1").toString();
  }
}
