// Signs admin tokens with the secret of the server that they are for.
import { SignJWT } from "jose";
import { findServerSecret } from "../config/server-secret.ts";
import { readSettings } from "../config/settings.ts";
import type { AdminRole } from "../model/administrator.ts";
import { UsageError } from "./command.ts";

interface AdminClaims {
  readonly role?: AdminRole | undefined;
  readonly gateways?: readonly string[] | undefined;
}

/** A token without `role` and `gateways` is an owner's. */
export function mintToken(
  secret: string,
  seconds: number,
  subject = "admin",
  { role, gateways }: AdminClaims = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    sub: subject,
    ...(role !== undefined && { role }),
    ...(gateways !== undefined && { gateways }),
  })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(new TextEncoder().encode(secret));
}

/**
 * Returns SERVER_SECRET_KEY, else the secret that the server generated in DATA_DIR. `otherFix` is prepended to the fixes
 * in the error message.
 */
export function requireServerSecret(otherFix: string): string {
  const settings = readSettings(process.env);
  const secret = findServerSecret(settings);
  if (secret === null) {
    throw new UsageError(
      `there is no secret to sign a token with: ${otherFix}set SERVER_SECRET_KEY to the server's, ` +
        `or set DATA_DIR ("${settings.DATA_DIR}") to the server's`,
    );
  }
  return secret;
}
