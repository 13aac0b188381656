// Settings of the sign-in to the console with OpenID Connect, and what they mean together.
import { isLoopback } from "./loopback.ts";
import { setting } from "./setting.ts";
import { integer, optionalText } from "./setting-parsers.ts";

const ROLES = ["viewer", "operator", "owner"] as const;
type RoleName = (typeof ROLES)[number];

export const SIGN_IN_SETTINGS = {
  OIDC_ISSUER: setting(
    "none",
    "issuer of an OpenID provider, whose users can sign in to the console",
    (text) => (text === undefined ? null : secureUrl(text)),
  ),
  OIDC_CLIENT_ID: setting("none", "client id of this gateway at the OpenID provider", optionalText),
  OIDC_CLIENT_SECRET: setting(
    "none",
    "client secret of this gateway at the OpenID provider; none for a public client",
    optionalText,
  ),
  OIDC_SCOPES: setting(
    "openid profile email",
    "scopes that the sign-in requests; some providers return groups only with a scope for them",
    scopes,
  ),
  OIDC_GROUPS_CLAIM: setting(
    "groups",
    "claim of the ID token, or of the user info, with the groups of a user; `a.b` is the member `b` of the claim `a`",
    (text) => text ?? "groups",
  ),
  OIDC_ROLES: setting(
    "none",
    "roles of groups, such as `platform=owner,oncall=operator,staff=viewer`; users without one of these groups have no access",
    groupRoles,
  ),
  ADMIN_PUBLIC_URL: setting(
    "http://HOST:ADMIN_PORT on a loopback HOST",
    "address at which browsers reach the console; the sign-in returns to /api/auth/callback there",
    (text) => (text === undefined ? null : origin(text)),
  ),
  SESSION_SECONDS: setting(
    "28800",
    "seconds after which a user of the console has to sign in again",
    integer(28_800, 60, 604_800),
  ),
} as const;

type SignInValues = {
  readonly [Name in keyof typeof SIGN_IN_SETTINGS]: ReturnType<(typeof SIGN_IN_SETTINGS)[Name]["parse"]>;
} & { readonly HOST: string; readonly ADMIN_PORT: number };

export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly roles: ReadonlyMap<string, RoleName>;
  /** Origin of the console, without a slash at the end. */
  readonly publicUrl: string;
  readonly sessionSeconds: number;
}

/** Returns null if OIDC_ISSUER is not set. Throws if another setting that it needs is missing. */
export function signInSettings(settings: SignInValues): SignInSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLES: roles } = settings;
  if (issuer === null) return null;
  if (clientId === null) throw new Error("OIDC_CLIENT_ID is not set, but OIDC_ISSUER is; set both");
  if (roles.size === 0)
    throw new Error("OIDC_ROLES is not set, so nobody could sign in; give roles such as platform=owner");
  const publicUrl = settings.ADMIN_PUBLIC_URL ?? loopbackUrl(settings);
  if (publicUrl === null)
    throw new Error(
      "ADMIN_PUBLIC_URL is not set, but OIDC_ISSUER is; give the address of the console in a browser",
    );
  return {
    issuer,
    clientId,
    clientSecret: settings.OIDC_CLIENT_SECRET,
    scopes: settings.OIDC_SCOPES,
    groupsClaim: settings.OIDC_GROUPS_CLAIM,
    roles,
    publicUrl,
    sessionSeconds: settings.SESSION_SECONDS,
  };
}

function loopbackUrl({ HOST, ADMIN_PORT }: SignInValues): string | null {
  if (!isLoopback(HOST) || ADMIN_PORT === 0) return null;
  return `http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${ADMIN_PORT}`;
}

/** Without TLS, anyone in between could read tokens and cookies. */
function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname.replace(/^\[|\]$/g, "")));
}

function secureUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && isSecure(url) && url.search === "" && url.hash === "" && url.username === "")
    return text;
  throw new Error(
    `is "${text}"; give an https URL such as https://login.example.com, or http on a loopback host`,
  );
}

function origin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && isSecure(url) && `${url.origin}/` === url.href) return url.origin;
  throw new Error(
    `is "${text}"; give an https address without a path, such as https://gatehouse.example.com, or http on a loopback host`,
  );
}

function scopes(text: string | undefined): string {
  const list = (text ?? "openid profile email").split(/[\s,]+/);
  if (list.includes("openid") && list.every((scope) => /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(scope)))
    return list.join(" ");
  throw new Error(`is "${text ?? ""}"; give scopes with openid among them, such as "openid email groups"`);
}

/** A group may contain `=`; a comma in it is written as %2C. */
function groupRoles(text: string | undefined): ReadonlyMap<string, RoleName> {
  const roles = new Map<string, RoleName>();
  for (const entry of (text ?? "").split(",")) {
    if (entry.trim() === "") continue;
    const equals = entry.lastIndexOf("=");
    const role = ROLES.find((each) => each === entry.slice(equals + 1).trim());
    const group = decoded(entry.slice(0, Math.max(0, equals)).trim());
    if (role === undefined || group === "" || roles.has(group))
      throw new Error(
        `has the entry "${entry.trim()}"; give each group once, with viewer, operator or owner, such as platform=owner`,
      );
    roles.set(group, role);
  }
  return roles;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
