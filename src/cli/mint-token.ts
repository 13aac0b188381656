// An admin token for this command line, signed with the secret of the server that it is for.
import { SignJWT } from "jose";
import { findServerSecret } from "../config/server-secret.ts";
import { readSettings } from "../config/settings.ts";
import { UsageError } from "./command.ts";

export function mintToken(secret: string, seconds: number, subject = "admin"): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ sub: subject })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(new TextEncoder().encode(secret));
}

/** SERVER_SECRET_KEY, else the secret that the server generated in DATA_DIR. */
export function requireServerSecret(mend: string): string {
  const settings = readSettings(process.env);
  const secret = findServerSecret(settings);
  if (secret === null) {
    throw new UsageError(
      `there is no secret to sign a token with: ${mend}set SERVER_SECRET_KEY to the server's, ` +
        `or run this where its DATA_DIR "${settings.DATA_DIR}" is`,
    );
  }
  return secret;
}
