// Types of credentials, and what a new credential of each type contains.
import type { CredentialsInput, Provider, TargetInput } from "../api/types.ts";

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

/** Where an API key is sent: as the provider expects it, unless the target has a wire format with a header of its own. */
export interface KeyPlace {
  /** Undefined if the provider is not known. */
  readonly provider: Provider | undefined;
  /** The wire format that the target sets; undefined if it sets none. */
  readonly format?: string | undefined;
}

/** Returns the credential header, with the part of its value that precedes the key. */
export function emptyCredential({ provider, format }: KeyPlace): {
  header_name: string;
  header_value: string;
} {
  const header_name = KEY_HEADERS.get(format);
  if (header_name !== undefined) return { header_name, header_value: "" };
  const { name, prefix } = provider?.key_header ?? { name: "Authorization", prefix: "Bearer " };
  return { header_name: name, header_value: prefix };
}

/** Returns what choosing a provider sets in a target. */
export function setupOf(
  provider: Provider,
): Pick<TargetInput, "provider" | "base_url" | "format" | "credentials"> {
  const [type] = provider.credential_types;
  return {
    provider: provider.name,
    // The example of a server of one's own is its default address. At a cloud, everyone has another one.
    base_url: provider.group === "self_hosted" ? provider.base_url_example : null,
    format: null,
    credentials: type === undefined ? null : emptyCredentialOf(type, { provider }),
  };
}

export function emptyCredentialOf(type: string, place: KeyPlace): CredentialsInput {
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
      return emptyCredential(place);
  }
}
