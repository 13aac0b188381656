// The secrets of a target or an MCP server in its row: encrypted, and each bound to its upstream, its target, and the name of
// its header or member of the credentials.
import { mapCredentialSecrets, type SecretMember } from "../model/credential-secrets.ts";
import { isSecretHeader } from "../model/target-secrets.ts";
import type { Target } from "../model/target.ts";
import type { CredentialCipher } from "./credential-cipher.ts";

/**
 * Precedes an encrypted header value or webhook. Neither contains this character, which distinguishes it
 * from a plain value.
 */
export const SEALED = "\u0001";

/** In place of the id of an upstream, for the secrets of MCP servers. */
export const MCP_SERVERS = "mcp_servers";

/** A target or an MCP server. */
export type SealedRecord = Pick<Target, "id" | "headers" | "credentials">;

/**
 * Converts one secret. Headers and webhooks may be stored in plain text by older versions; a credential is
 * always encrypted.
 */
export type StoredSecretMapper = (value: string, boundTo: string, isSealed: boolean) => string;

export function sealTarget<T extends SealedRecord>(
  target: T,
  upstreamId: string,
  cipher: CredentialCipher,
): T {
  return mapTarget(
    target,
    (value, member) => cipher.encrypt(value, memberBindingOf(upstreamId, target.id, member)),
    (value, name) =>
      isSecretHeader(name) ? SEALED + cipher.encrypt(value, bindingOf(upstreamId, target.id, name)) : value,
  );
}

/** Decrypts every header value that is encrypted, also if an earlier version considered other names secret. */
export function openTarget<T extends SealedRecord>(
  target: T,
  upstreamId: string,
  cipher: CredentialCipher,
): T {
  return mapTarget(
    target,
    (value, member) => cipher.decrypt(value, memberBindingOf(upstreamId, target.id, member)),
    (value, name) =>
      value.startsWith(SEALED)
        ? cipher.decrypt(value.slice(SEALED.length), bindingOf(upstreamId, target.id, name))
        : value,
  );
}

/** Returns a stored target with `reseal` applied to each secret. The result of `reseal` is encrypted. */
export function resealTarget<T extends SealedRecord>(
  target: T,
  upstreamId: string,
  reseal: StoredSecretMapper,
): T {
  return mapTarget(
    target,
    (value, member) => reseal(value, memberBindingOf(upstreamId, target.id, member), true),
    (value, name) => {
      const isSealed = value.startsWith(SEALED);
      if (!isSealed && !isSecretHeader(name)) return value;
      const text = isSealed ? value.slice(SEALED.length) : value;
      return SEALED + reseal(text, bindingOf(upstreamId, target.id, name), isSealed);
    },
  );
}

/** A secret is bound to its place: copied to another row, target, header, or member, it cannot be decrypted. */
function bindingOf(upstreamId: string, targetId: string, header: string): string {
  return `${upstreamId}/${targetId}/${header.toLowerCase()}`;
}

/** The value of a header was the only credential of earlier versions. No header name contains a slash. */
function memberBindingOf(upstreamId: string, targetId: string, member: SecretMember): string {
  const target = `${upstreamId}/${targetId}`;
  return member === "header_value" ? target : `${target}/credentials/${member}`;
}

function mapTarget<T extends SealedRecord>(
  target: T,
  mapCredential: (value: string, member: SecretMember) => string,
  mapHeader: (value: string, name: string) => string,
): T {
  const { credentials } = target;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(target.headers)) headers[name] = mapHeader(value, name);
  if (credentials === null) return { ...target, headers };
  return { ...target, headers, credentials: mapCredentialSecrets(credentials, mapCredential) };
}
