// Cookies of the admin listener: HttpOnly, for this host only.

interface CookieAttributes {
  readonly path: string;
  readonly sameSite: "Lax" | "Strict";
  /** 0 removes the cookie. */
  readonly seconds: number;
  readonly isSecure: boolean;
}

/** Returns the value of `Set-Cookie`. */
export function setCookie(
  name: string,
  value: string,
  { path, sameSite, seconds, isSecure }: CookieAttributes,
): string {
  const secure = isSecure ? "; Secure" : "";
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/** Returns null if the request has no such cookie, or several: one of them was set by another host or path. */
export function cookieIn(headers: Headers, name: string): string | null {
  const values = (headers.get("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? (values[0] ?? "").slice(name.length + 1) : null;
}
