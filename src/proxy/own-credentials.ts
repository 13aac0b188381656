// Recognizes credentials of this gateway, API keys and admin tokens, in what a client sends. They are never forwarded.
import { createHmac, timingSafeEqual } from "node:crypto";

const GATEWAY_KEY = /gw_[A-Za-z0-9_-]{43}/;
/** A token has three segments. Text with dots before or after it has more. */
const SEGMENTS = /[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2,}/g;
const HMAC_BYTES = 32;
const BASIC = /^basic\s+([A-Za-z0-9+/=_-]+)/i;

export class OwnCredentials {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** Whether a header value, a query parameter or any other text contains an API key or an admin token of this gateway. */
  areIn(text: string): boolean {
    // Most values contain none of these, and searching for them costs less than the patterns.
    if (text.includes("gw_") && GATEWAY_KEY.test(text)) return true;
    if (text.includes("eyJ") && this.#hasAdminToken(text)) return true;
    const startsWithB = (text.charCodeAt(0) | 0x20) === 0x62;
    const basic = startsWithB ? BASIC.exec(text)?.[1] : undefined;
    return basic !== undefined && this.areIn(Buffer.from(basic, "base64").toString("latin1"));
  }

  /** Returns the query without the parameters that contain such a credential. `query` starts with "?" or is empty. */
  removeFromQuery(query: string): string {
    if (query === "") return query;
    const parameters = query.slice(1).split("&");
    const kept = parameters.filter((parameter) => !this.areIn(decodeParameter(parameter)));
    if (kept.length === parameters.length) return query;
    return kept.length === 0 ? "" : `?${kept.join("&")}`;
  }

  /** Repeated headers arrive as one value, so every token in the text is checked. */
  #hasAdminToken(text: string): boolean {
    return (text.match(SEGMENTS) ?? []).some((found) => {
      const segments = found.split(".");
      return segments.some((signature, index) => {
        const given = Buffer.from(signature, "base64url");
        if (index < 2 || given.length !== HMAC_BYTES) return false;
        const signed = `${segments[index - 2] ?? ""}.${segments[index - 1] ?? ""}`;
        const expected = createHmac("sha256", this.#secret).update(signed).digest();
        return timingSafeEqual(given, expected);
      });
    });
  }
}

function decodeParameter(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch {
    return parameter;
  }
}
