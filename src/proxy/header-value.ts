// Values of response headers that contain arbitrary text, such as the names of providers and models.

const PRINTABLE_ASCII = /^[\x20-\x7E]{0,256}$/;

/** Replaces characters that a header cannot contain. */
export function toHeaderValue(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replaceAll(/[^\x20-\x7E]/g, "?").slice(0, 256);
}

/** Returns the value of X-GW-Translated, which names the fields of the request that were left out. */
export function translatedValue(dropped: readonly string[]): string {
  return toHeaderValue(`dropped=${dropped.join(",")}`);
}
