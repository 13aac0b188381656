// The one door of the Admin API: a bearer token, HS256, signed with SERVER_SECRET_KEY.
import { jwtVerify } from "jose";
import { GatehouseError } from "../base/errors.ts";

const MAX_TOKEN_BYTES = 8192;
const BEARER = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;

const MAX_SUBJECT = 255;

/** Resolves to the subject of the token (`sub`), or null for one that has none. */
export type Authenticate = (authorization: string | null) => Promise<string | null>;

export function createAuthenticate(secret: string): Authenticate {
  const key = new TextEncoder().encode(secret);
  return async (authorization) => {
    const token = tokenFrom(authorization);
    try {
      if (token === null) throw new Error("no usable Authorization header");
      // Only HS256: with `none` or a public-key algorithm the sender would choose how they are checked.
      const { payload } = await jwtVerify(token, key, { algorithms: ["HS256"] });
      return typeof payload.sub === "string" ? storable(payload.sub) : null;
    } catch (cause) {
      // One sentence whatever the reason: why a token fails is of use to its forger only.
      throw new GatehouseError("unauthorized", "The admin token is missing or was not accepted.", {
        headers: { "WWW-Authenticate": "Bearer" },
        cause,
      });
    }
  };
}

/** What the log of revisions can hold. PostgreSQL knows no U+0000 and no half of a surrogate pair. */
function storable(subject: string): string {
  return subject.slice(0, MAX_SUBJECT).toWellFormed().replaceAll("\0", "\uFFFD");
}

function tokenFrom(authorization: string | null): string | null {
  if (authorization === null || authorization.length > MAX_TOKEN_BYTES) return null;
  return BEARER.exec(authorization)?.[1] ?? null;
}
