// Recognizes credentials of this gateway, API keys and admin tokens, in what a client sends. They are never forwarded.
import { createHmac, timingSafeEqual } from "node:crypto";

const GATEWAY_KEY = /gw_[A-Za-z0-9_-]{43}/;
/** A token has three segments. Text with dots before or after it has more. */
const SEGMENTS = /[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2,}/g;
/** The beginning of a JSON object in base64. */
const TOKEN_START = "eyJ";
/** Each costs a hash, and a client decides how many a header has. */
const MAX_TOKEN_STARTS = 4;
/** Letters of 32 bytes in base64url. */
const SIGNATURE_LENGTH = 43;
/** Also after other values: repeated headers are joined to one value. */
const BASIC = /basic\s+([A-Za-z0-9+/=_-]+)/gi;
/** No shorter value contains an API key or a token in base64. */
const MIN_BASIC_LENGTH = 64;
const ENCODED_BYTE = /%([0-9A-Fa-f]{2})/g;

export class OwnCredentials {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /**
   * Whether a header value, a query parameter or any other text contains an API key or an admin token of this gateway, as it is or
   * percent-encoded: as part of a URL in a header, or of a URL from which a client took user and password.
   */
  areIn(text: string): boolean {
    if (this.#areInDecoded(text)) return true;
    return text.includes("%") && this.#areInDecoded(percentDecodedBytes(text));
  }

  /** Returns the query without the parameters that contain such a credential. `query` starts with "?" or is empty. */
  removeFromQuery(query: string): string {
    return query === "" ? query : this.#removeFrom(query);
  }

  #removeFrom(query: string): string {
    const parameters = query.slice(1).split("&");
    const kept = parameters.filter((parameter) => !this.areIn(percentDecodedBytes(parameter)));
    if (kept.length === parameters.length) return query;
    return kept.length === 0 ? "" : `?${kept.join("&")}`;
  }

  #areInDecoded(text: string): boolean {
    return this.#arePlainIn(text) || (text.length >= MIN_BASIC_LENGTH && this.#areInBasic(text));
  }

  #arePlainIn(text: string): boolean {
    // Most values contain none of these, and searching for them costs less than the patterns.
    if (text.includes("gw_") && GATEWAY_KEY.test(text)) return true;
    return text.includes(TOKEN_START) && this.#hasAdminToken(text);
  }

  #areInBasic(text: string): boolean {
    for (const [, encoded = ""] of text.matchAll(BASIC)) {
      const user = Buffer.from(encoded, "base64").toString("latin1");
      if (this.#arePlainIn(user) || this.#arePlainIn(percentDecodedBytes(user))) return true;
    }
    return false;
  }

  /** Repeated headers arrive as one value, so every token in the text is checked, also with letters before and after it. */
  #hasAdminToken(text: string): boolean {
    return (text.match(SEGMENTS) ?? []).some((found) => {
      const segments = found.split(".");
      return segments.some((signature, index) => {
        if (index < 2 || signature.length < SIGNATURE_LENGTH) return false;
        const given = Buffer.from(signature.slice(0, SIGNATURE_LENGTH), "base64url");
        return this.#isSigned(segments[index - 2] ?? "", segments[index - 1] ?? "", given);
      });
    });
  }

  /** `header` may begin with letters that are not part of the token. `signature` has the length of a hash. */
  #isSigned(header: string, payload: string, signature: Buffer): boolean {
    let end = header.length;
    for (let tried = 0; tried < MAX_TOKEN_STARTS && end > 0; tried++) {
      const start = header.lastIndexOf(TOKEN_START, end - 1);
      if (start < 0) return false;
      const signed = `${header.slice(start)}.${payload}`;
      const expected = createHmac("sha256", this.#secret).update(signed).digest();
      if (timingSafeEqual(signature, expected)) return true;
      end = start;
    }
    return false;
  }
}

/** Keys and tokens are ASCII. Unlike URLs, the text may contain a "%" that begins no encoded byte. */
function percentDecodedBytes(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(ENCODED_BYTE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
