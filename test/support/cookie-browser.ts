// A browser without pages: keeps cookies by origin and path, and follows redirects one at a time.

interface BrowserRequest extends Omit<RequestInit, "headers"> {
  readonly headers?: Record<string, string>;
}

interface Cookie {
  readonly value: string;
  readonly path: string;
}

export class CookieBrowser {
  readonly #jars = new Map<string, Map<string, Cookie>>();
  /** `Set-Cookie` of the last response. */
  lastCookies: readonly string[] = [];

  async request(url: string, init: BrowserRequest = {}): Promise<Response> {
    const { origin, pathname } = new URL(url);
    const cookie = this.cookieHeader(origin, pathname);
    const response = await fetch(url, {
      redirect: "manual",
      ...init,
      headers: { ...(cookie !== "" && { Cookie: cookie }), ...init.headers },
    });
    this.lastCookies = response.headers.getSetCookie();
    for (const header of this.lastCookies) this.#store(origin, header);
    return response;
  }

  cookieHeader(origin: string, path: string): string {
    return [...(this.#jars.get(origin) ?? [])]
      .filter(([, cookie]) => path === cookie.path || path.startsWith(cookie.path.replace(/\/?$/, "/")))
      .map(([name, { value }]) => `${name}=${value}`)
      .join("; ");
  }

  #store(origin: string, header: string): void {
    const [pair = "", ...attributes] = header.split("; ");
    const equals = pair.indexOf("=");
    const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
    const attribute = (key: string) =>
      attributes.find((each) => each.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
    const jar = this.#jars.get(origin) ?? new Map<string, Cookie>();
    this.#jars.set(origin, jar);
    const expires = attribute("expires");
    const isGone =
      attribute("max-age") === "0" || (expires !== undefined && Date.parse(expires) < Date.now());
    if (isGone) jar.delete(name);
    else jar.set(name, { value, path: attribute("path") ?? "/" });
  }
}
