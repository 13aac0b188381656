// The state of one sign-in, in a sealed cookie that only the callback receives: nothing is stored until a user has signed in.
import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { CredentialCipher } from "../../store/credential-cipher.ts";
import { cookieIn, setCookie } from "./cookies.ts";

export const CALLBACK_PATH = "/api/auth/callback";
const LIFETIME_SECONDS = 600;
const BINDING = "sign-in with OpenID Connect";
const CONSOLE_PATH = /^\/console(?:\/[\w./~%?=&:@+-]*)?$/;

export interface SignInFlow {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier of PKCE. */
  readonly verifier: string;
  /** The page of the console that the user comes from. */
  readonly returnTo: string;
}

/** Returns the first page for everything that a browser could take for a page outside the console, such as `/console/%2e%2e/v1`. */
function consolePage(returnTo: string | null): string {
  if (returnTo === null || !CONSOLE_PATH.test(returnTo)) return "/console";
  const { pathname, search } = new URL(returnTo, "http://_");
  return CONSOLE_PATH.test(pathname) && pathname + search === returnTo ? returnTo : "/console";
}

export class FlowCookie {
  readonly #cipher: CredentialCipher;
  readonly #clock: Clock;
  readonly #isSecure: boolean;
  readonly #name: string;

  constructor(secret: string, isSecure: boolean, clock: Clock) {
    this.#cipher = new CredentialCipher(secret);
    this.#clock = clock;
    this.#isSecure = isSecure;
    // A cookie of one path cannot be `__Host-`.
    this.#name = isSecure ? "__Secure-gatehouse_sign_in" : "gatehouse_sign_in";
  }

  /** Begins a sign-in. `returnTo` is ignored unless it is a page of the console. */
  create(returnTo: string | null): { readonly flow: SignInFlow; readonly header: string } {
    const random = () => randomBytes(32).toString("base64url");
    const flow = { state: random(), nonce: random(), verifier: random(), returnTo: consolePage(returnTo) };
    const expiresAt = this.#clock.unixNow() + LIFETIME_SECONDS * 1000;
    const value = this.#cipher.encrypt(JSON.stringify({ ...flow, expiresAt }), BINDING);
    return { flow, header: this.#header(value, LIFETIME_SECONDS) };
  }

  /** Returns null if there is no cookie of this server, or if it has expired. */
  read(headers: Headers): SignInFlow | null {
    const value = cookieIn(headers, this.#name);
    if (value === null) return null;
    try {
      // Only this class creates such a value, so it is not validated again.
      const flow = JSON.parse(this.#cipher.decrypt(value, BINDING)) as SignInFlow & { expiresAt: number };
      return flow.expiresAt > this.#clock.unixNow() ? flow : null;
    } catch {
      return null;
    }
  }

  /** Removes the cookie: a sign-in has one attempt. */
  get clearing(): string {
    return this.#header("", 0);
  }

  #header(value: string, seconds: number): string {
    // Lax: the provider sends the browser back with a navigation from another site.
    const attributes = { path: CALLBACK_PATH, sameSite: "Lax", seconds, isSecure: this.#isSecure } as const;
    return setCookie(this.#name, value, attributes);
  }
}
