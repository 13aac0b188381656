// Authenticates requests to the Admin API: a bearer JWT (HS256) signed with SERVER_SECRET_KEY, a stored admin token, or a session of the
// console.
import { jwtVerify, type JWTPayload } from "jose";
import type { Clock } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { hashApiKey } from "../base/ids.ts";
import { isAdminRole } from "../model/administrator.ts";
import type { StoredAdminToken } from "../store/admin-tokens.ts";
import type { IdentityStore } from "../store/sql-identities.ts";
import type { Identity } from "./identity.ts";
import type { Sessions } from "./sign-in/sessions.ts";

const MAX_HEADER_CHARACTERS = 8192;
const BEARER = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;
const STORED_TOKEN = /^Bearer +(admin_gw_[A-Za-z0-9_-]{43})$/i;
const MAX_NAME_CHARACTERS = 255;
/** Of a token that was signed without `sub`. */
const UNNAMED = "unnamed";
/** The last use of a stored token is written at most this often. */
const USE_INTERVAL_MS = 60_000;

/** Resolves to the sender of a request. Rejects with 401 if the request has no valid token. */
type Authenticate = (request: Request) => Promise<Identity>;

interface AuthenticationParts {
  readonly secret: string;
  readonly identities: IdentityStore;
  readonly clock: Clock;
  /** Null if users cannot sign in. */
  readonly sessions: Pick<Sessions, "isIn" | "identityOf"> | null;
}

export function createAuthenticate({
  secret,
  identities,
  clock,
  sessions,
}: AuthenticationParts): Authenticate {
  const key = new TextEncoder().encode(secret);
  const readSigned = async (token: string): Promise<Identity> => {
    // Accept HS256 only: otherwise the sender could choose `none` or a public-key algorithm.
    const { payload } = await jwtVerify(token, key, { algorithms: ["HS256"] });
    return identityIn(payload);
  };
  const readStored = async (token: string): Promise<Identity> => {
    const found = await identities.findAdminToken(hashApiKey(token));
    const now = new Date(clock.unixNow()).toISOString();
    if (found === null || !found.active || found.expires_at <= now)
      throw new Error("unknown, revoked, or expired admin token");
    recordUse(identities, found, clock.unixNow());
    return identityOf(found);
  };
  const readSession = async (request: Request): Promise<Identity | null> =>
    sessions?.isIn(request.headers) === true ? sessions.identityOf(request) : null;
  return async (request) => {
    try {
      const authorization = request.headers.get("authorization");
      if (authorization === null) {
        const user = await readSession(request);
        if (user !== null) return user;
        throw new Error("no Authorization header, and no session");
      }
      if (authorization.length > MAX_HEADER_CHARACTERS) throw new Error("the header is too long");
      const stored = STORED_TOKEN.exec(authorization)?.[1];
      if (stored !== undefined) return await readStored(stored);
      const signed = BEARER.exec(authorization)?.[1];
      if (signed !== undefined) return await readSigned(signed);
      throw new Error("no usable Authorization header");
    } catch (cause) {
      if (cause instanceof GatehouseError) throw cause; // the database is unavailable, or another site uses the session
      // The same message for every reason: details would only help an attacker.
      throw new GatehouseError("unauthorized", "The admin token is missing or invalid.", {
        headers: { "WWW-Authenticate": "Bearer" },
        cause,
      });
    }
  };
}

/** Tokens without `role` and `gateways` are owners. A claim that cannot be understood must not grant anything. */
function identityIn({ sub, exp, role = "owner", gateways = null }: JWTPayload): Identity {
  if (!isAdminRole(role)) throw new Error("unknown role");
  if (gateways !== null && !isTextList(gateways)) throw new Error("gateways is not a list of ids");
  const subject = typeof sub === "string" ? storableName(sub) : null;
  return {
    actor: { type: "server_secret", id: null, name: subject === null || subject === "" ? UNNAMED : subject },
    subject,
    role,
    gateways,
    expiresAt: exp === undefined ? null : timeOf(exp),
  };
}

function identityOf({ id, name, role, gateways, expires_at }: StoredAdminToken): Identity {
  return {
    actor: { type: "admin_token", id, name },
    subject: name,
    role,
    gateways,
    expiresAt: expires_at,
  };
}

/** Not awaited: a token is valid, whether or not its use can be stored. */
function recordUse(identities: IdentityStore, { id, last_used_at }: StoredAdminToken, now: number): void {
  if (last_used_at !== null && now - Date.parse(last_used_at) < USE_INTERVAL_MS) return;
  identities.recordAdminTokenUse(id, new Date(now).toISOString()).catch(() => undefined);
}

/** A JWT may expire later than a Date can represent. */
function timeOf(seconds: number): string | null {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** Returns a name as a revision can store it: PostgreSQL accepts neither U+0000 nor lone surrogates. */
export function storableName(name: string): string {
  return name.slice(0, MAX_NAME_CHARACTERS).toWellFormed().replaceAll("\0", "\uFFFD");
}
