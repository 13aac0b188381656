// Recognizes credentials of this gateway, API keys and admin tokens, in what a client sends. They are never forwarded.
import { createHmac, timingSafeEqual } from "node:crypto";

const GATEWAY_KEY = /gw_[A-Za-z0-9_-]{43}/;
const JWT = /([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)/g;
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
    return [...text.matchAll(JWT)].some(([, signed = "", signature = ""]) => {
      const expected = createHmac("sha256", this.#secret).update(signed).digest();
      const given = Buffer.from(signature, "base64url");
      return given.length === expected.length && timingSafeEqual(given, expected);
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
