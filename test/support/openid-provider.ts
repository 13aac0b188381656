// A real OpenID provider (the package `oidc-provider`), with one client and users whose name is also their password.
import { spyOn } from "bun:test";
import Provider from "oidc-provider";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CookieBrowser } from "./cookie-browser.ts";

export const CLIENT = { id: "gatehouse", secret: "a client secret/with: special%characters" };

interface OpenIdProviderOptions {
  readonly redirectUri: string;
  readonly groupsOf: (user: string) => readonly string[];
  /** Whether groups and email are in the ID token; otherwise they are in the user info only. */
  readonly groupsInToken?: boolean;
  readonly codeSeconds?: number;
}

export interface OpenIdProvider {
  readonly issuer: string;
  stop(): void;
}

export async function startOpenIdProvider(options: OpenIdProviderOptions): Promise<OpenIdProvider> {
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // It warns that keys and data are in memory only.
  const warnings = spyOn(console, "warn").mockImplementation(() => undefined);
  const infos = spyOn(console, "info").mockImplementation(() => undefined);
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [options.redirectUri],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    pkce: { required: () => true },
    scopes: ["openid", "profile", "email"],
    claims: { openid: ["sub"], profile: ["groups"], email: ["email", "email_verified"] },
    conformIdTokenClaims: options.groupsInToken !== true,
    ttl: { AuthorizationCode: options.codeSeconds ?? 60 },
    findAccount: (_: unknown, user: string) => ({
      accountId: user,
      claims: () => ({
        sub: user,
        groups: options.groupsOf(user),
        email: `${user}@example.com`,
        email_verified: true,
      }),
    }),
    cookies: { keys: ["a key of cookies"] },
  });
  const handle = provider.callback();
  for (const spy of [warnings, infos]) spy.mockRestore();
  return {
    issuer,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Signs a user in at the provider. Returns the address that the provider sends the browser back to. */
export async function signInAtProvider(
  authorizationUrl: string,
  user: string,
  browser = new CookieBrowser(),
): Promise<URL> {
  const { origin } = new URL(authorizationUrl);
  let url = authorizationUrl;
  for (let step = 0; step < 20; step++) {
    let response = await browser.request(url);
    if (response.status === 200) {
      // A page of the provider: sign in, or consent.
      const page = await response.text();
      const action = /action="([^"]+)"/.exec(page)?.[1] ?? "";
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? "";
      const body = new URLSearchParams({
        prompt,
        ...(prompt === "login" && { login: user, password: user }),
      });
      response = await browser.request(new URL(action, url).href, { method: "POST", body });
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${response.status} ${await response.text()}`);
    const next = new URL(location, url);
    if (next.origin !== origin) return next;
    url = next.href;
  }
  throw new Error("the provider does not send the browser back");
}
