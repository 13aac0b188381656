// Strings of responses that are no text: identifiers, names of kinds, signatures and encoded media. Both must say so: the place of the string,
// and its characters. A sentence or a piece of code in such a place is text.

/** Keys in lower case and without underscores. Keys that end with `id` or `ids` count as well. */
const IDENTIFIER_KEYS = new Set([
  "blockreason",
  "b64json",
  "caller",
  "category",
  "data",
  "detail",
  "effort",
  "embedding",
  "encryptedcontent",
  "encryptedindex",
  "encryptedstdout",
  "etag",
  "event",
  "finishreason",
  "format",
  "kind",
  "language",
  "mediatype",
  "mimetype",
  "modality",
  "model",
  "modelversion",
  "name",
  "nativefinishreason",
  "obfuscation",
  "object",
  "outcome",
  "outputformat",
  "ownedby",
  "partialimageb64",
  "phase",
  "probability",
  "provider",
  "purpose",
  "quality",
  "reason",
  "result",
  "role",
  "servertool",
  "servicetier",
  "severity",
  "signature",
  "size",
  "speed",
  "status",
  "stopreason",
  "systemfingerprint",
  "thoughtsignature",
  "traffictype",
  "truncation",
  "type",
]);
const NOT_FOLDED = /[A-Z_]/;
/** A member whose name has other characters may be text itself. */
const UNUSUAL_KEY = /[^\w .:/@$+,-]/;
const MAX_KEY_LENGTH = 256;
const CHARACTERS = new Uint8Array(256);
for (const character of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+=~,")
  CHARACTERS[character.charCodeAt(0)] = 1;

export function isIdentifierKey(key: string): boolean {
  const folded = NOT_FOLDED.test(key) ? key.replaceAll("_", "").toLowerCase() : key;
  return IDENTIFIER_KEYS.has(folded) || folded.endsWith("id") || folded.endsWith("ids");
}

/** Whether the bytes are those of an identifier, of base64, or of a media type. */
export function isIdentifier(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (CHARACTERS[bytes[at] ?? 0] !== 1) return false;
  return true;
}

/** Whether the name of a member is that of a field, and no text. */
export function isPlainKey(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH && !UNUSUAL_KEY.test(key);
}
