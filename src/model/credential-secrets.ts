// The secret members of credentials by type, and the members that decide where a secret is sent.
import type { Credentials } from "./credentials.ts";

export type CredentialType = NonNullable<Credentials["type"]>;

export type SecretMember =
  "header_value" | "secret_access_key" | "session_token" | "service_account" | "client_secret";

/** Credentials that were stored before there were types have a header. */
export function credentialTypeOf({ type }: Pick<Credentials, "type">): CredentialType {
  return type ?? "header";
}

/** Returns the credentials with `map` applied to each secret. */
export function mapCredentialSecrets<Value>(
  credentials: Credentials,
  map: (value: string, member: SecretMember) => Value,
) {
  const optional = (value: string | null, member: SecretMember) =>
    value === null ? null : map(value, member);
  switch (credentials.type) {
    case "aws_sigv4":
      return {
        ...credentials,
        secret_access_key: optional(credentials.secret_access_key, "secret_access_key"),
        session_token: optional(credentials.session_token, "session_token"),
      };
    case "gcp_service_account":
      return { ...credentials, service_account: map(credentials.service_account, "service_account") };
    case "azure_client":
    case "oauth_client_credentials":
      return { ...credentials, client_secret: map(credentials.client_secret, "client_secret") };
    default:
      return { ...credentials, header_value: map(credentials.header_value, "header_value") };
  }
}

/**
 * Returns the member with which `after` sends its secrets elsewhere than `before`; null if there is none. Some providers return
 * certain headers to the client, so the header of a credential counts as well.
 */
export function changedCredentialDestination(before: Credentials, after: Credentials): string | null {
  if (credentialTypeOf(before) !== credentialTypeOf(after)) return "type";
  const [there, here] = [destinationOf(before), destinationOf(after)];
  return there.value === here.value ? null : there.member;
}

/** The member of each type that decides where secrets are sent; null if only the target does. */
function destinationOf(credentials: Credentials): { readonly member: string | null; readonly value: string } {
  switch (credentials.type) {
    case "aws_sigv4":
    case "gcp_service_account":
      return { member: null, value: "" };
    case "azure_client":
      return { member: "tenant_id", value: credentials.tenant_id.toLowerCase() };
    case "oauth_client_credentials":
      return { member: "token_url", value: credentials.token_url };
    default:
      return { member: "header_name", value: credentials.header_name.toLowerCase() };
  }
}
