// Types of credentials, and what a new credential of each type contains.
import type { CredentialsInput } from "../api/types.ts";

type CredentialType = NonNullable<CredentialsInput["type"]>;

export const CREDENTIAL_TYPES: readonly { readonly value: CredentialType; readonly label: string }[] = [
  { value: "header", label: "Header with a fixed value" },
  { value: "aws_sigv4", label: "AWS signature (SigV4)" },
  { value: "gcp_service_account", label: "Google service account" },
  { value: "azure_client", label: "Microsoft Entra application" },
  { value: "oauth_client_credentials", label: "OAuth client credentials" },
];

/** Credentials without a type have a header. */
export function credentialTypeOf(credentials: object): string {
  return "type" in credentials && typeof credentials.type === "string" ? credentials.type : "header";
}

/** Formats whose APIs read the key from a header of their own. */
const KEY_HEADERS: ReadonlyMap<string | undefined, string> = new Map([
  ["anthropic", "x-api-key"],
  ["gemini", "x-goog-api-key"],
]);

/** Returns the credential header of a wire format, with the part of its value that precedes the key. */
export function emptyCredential(format: string | undefined): { header_name: string; header_value: string } {
  const header_name = KEY_HEADERS.get(format);
  return header_name === undefined
    ? { header_name: "Authorization", header_value: "Bearer " }
    : { header_name, header_value: "" };
}

export function emptyCredentialOf(type: string, format: string | undefined): CredentialsInput {
  const client = { client_id: "", client_secret: "" };
  switch (type) {
    case "aws_sigv4":
      return { type, region: "", service: "bedrock" };
    case "gcp_service_account":
      return {
        type,
        service_account: "",
        scopes: ["https://www.googleapis.com/auth/cloud-platform"],
      };
    case "azure_client":
      return { type, tenant_id: "", ...client, scope: "https://cognitiveservices.azure.com/.default" };
    case "oauth_client_credentials":
      return { type, token_url: "", ...client };
    default:
      return emptyCredential(format);
  }
}
