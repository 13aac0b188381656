// Decodes text that a client percent-encoded, or should have.

/** Returns the text unchanged if it is not correctly encoded. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
