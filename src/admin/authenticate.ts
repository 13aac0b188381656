// Authenticates requests to the Admin API: a bearer JWT (HS256) signed with SERVER_SECRET_KEY.
import { jwtVerify } from "jose";
import { GatehouseError } from "../base/errors.ts";

const MAX_HEADER_CHARACTERS = 8192;
const BEARER = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;
const MAX_SUBJECT_CHARACTERS = 255;

/** Resolves to the subject (`sub`) of the token; null if it has none. Rejects with 401 if the token is not valid. */
type Authenticate = (authorization: string | null) => Promise<string | null>;

export function createAuthenticate(secret: string): Authenticate {
  const key = new TextEncoder().encode(secret);
  return async (authorization) => {
    const token = tokenFrom(authorization);
    try {
      if (token === null) throw new Error("no usable Authorization header");
      // Accept HS256 only: otherwise the sender could choose `none` or a public-key algorithm.
      const { payload } = await jwtVerify(token, key, { algorithms: ["HS256"] });
      return typeof payload.sub === "string" ? storable(payload.sub) : null;
    } catch (cause) {
      // The same message for every reason: details would only help an attacker.
      throw new GatehouseError("unauthorized", "The admin token is missing or invalid.", {
        headers: { "WWW-Authenticate": "Bearer" },
        cause,
      });
    }
  };
}

/** Returns the subject as a revision can store it: PostgreSQL accepts neither U+0000 nor lone surrogates. */
function storable(subject: string): string {
  return subject.slice(0, MAX_SUBJECT_CHARACTERS).toWellFormed().replaceAll("\0", "\uFFFD");
}

function tokenFrom(authorization: string | null): string | null {
  if (authorization === null || authorization.length > MAX_HEADER_CHARACTERS) return null;
  return BEARER.exec(authorization)?.[1] ?? null;
}
