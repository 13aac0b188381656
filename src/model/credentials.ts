// The credentials of a target: a header with a fixed value, or what a cloud's tokens and signatures are made from.
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import { isForbiddenHost } from "../base/forbidden-address.ts";
import { isJsonObject } from "../base/json.ts";
import { headerNameField, headerValueField } from "./fields.ts";
import { looksMasked } from "./secret-mask.ts";

const MASK_NOTE = "Responses show it masked. Send the masked value back to keep the stored one";

const headerCredentials = z.strictObject({
  type: z.literal("header").optional().meta({ description: "May be omitted." }),
  header_name: headerNameField.meta({ description: "Header that carries the credential." }),
  header_value: headerValueField.min(1, "must not be empty").meta({
    description: `The credential. ${MASK_NOTE}, unless provider, base_url, header_name, or the header Host changes.`,
  }),
});

const visibleText = (maxCharacters: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(maxCharacters, `must not be longer than ${maxCharacters} characters`)
    .regex(/^[\x20-\x7E]*$/, "must contain only visible ASCII characters");

/** A part of the credential scope of a signature, where `/` separates the parts. */
const scopePart = visibleText(64).regex(
  /^[A-Za-z0-9-]+$/,
  "must contain only letters, digits, and hyphens, such as us-east-1 or bedrock",
);

const awsCredentials = z
  .strictObject({
    type: z.literal("aws_sigv4"),
    region: scopePart.meta({ description: "Region of the endpoint, such as `us-east-1`." }),
    service: scopePart.meta({
      description: "Signing name of the service, such as `sagemaker`.",
    }),
    access_key_id: visibleText(128)
      .regex(/^[A-Za-z0-9_-]+$/, "must be an access key id, such as AKIAIOSFODNN7EXAMPLE")
      .nullable()
      .default(null)
      .meta({
        description:
          "Null, together with `secret_access_key`: the role of the gateway's environment, which " +
          "`ALLOW_ENVIRONMENT_CREDENTIALS` must allow.",
      }),
    secret_access_key: visibleText(256)
      .nullable()
      .default(null)
      .meta({ description: `${MASK_NOTE}, unless provider, base_url, or the header Host changes.` }),
    session_token: visibleText(8192)
      .nullable()
      .default(null)
      .meta({ description: `Of temporary keys. ${MASK_NOTE}.` }),
  })
  .superRefine(({ access_key_id, secret_access_key, session_token }, context) => {
    const reject = (field: string, message: string) =>
      context.addIssue({ code: "custom", path: [field], message });
    if (access_key_id === null && secret_access_key !== null)
      reject("access_key_id", "is required with secret_access_key");
    if (access_key_id !== null && secret_access_key === null)
      reject("secret_access_key", "is required with access_key_id");
    if (access_key_id === null && secret_access_key === null && session_token !== null)
      reject("session_token", "needs access_key_id and secret_access_key");
  });

const CLOUD_PLATFORM_SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const COGNITIVE_SERVICES_SCOPE = "https://cognitiveservices.azure.com/.default";

/** RFC 6749, appendix A.4: visible characters without `"` and `\`. */
const scopeField = visibleText(1024).regex(/^[^"\\]+$/, 'must not contain " or \\');

const gcpCredentials = z.strictObject({
  type: z.literal("gcp_service_account"),
  service_account: z
    .string()
    .max(16_384, "must not be longer than 16384 characters")
    .overwrite((text) => text.trim())
    .superRefine((text, context) => {
      const message = looksMasked(text) ? null : serviceAccountProblem(text);
      if (message !== null) context.addIssue({ code: "custom", message });
    })
    .meta({
      description:
        "The text of the JSON key file of a service account. Its `token_uri` is not used: tokens are fetched from the own " +
        `address of Google. ${MASK_NOTE}, unless provider, base_url, or the header Host changes.`,
    }),
  scopes: z
    .array(scopeField.regex(/^\S+$/, "must not contain spaces"))
    .min(1, "must contain at least one scope")
    .max(20, "must not contain more than 20 scopes")
    .default([CLOUD_PLATFORM_SCOPE]),
});

function serviceAccountProblem(text: string): string | null {
  let account: unknown;
  try {
    account = JSON.parse(text);
  } catch {
    return "must be the JSON text of a service account's key file";
  }
  if (!isJsonObject(account)) return "must be the JSON text of a service account's key file";
  if (account["type"] !== "service_account") return 'must have "type": "service_account"';
  if (typeof account["client_email"] !== "string") return 'must have a "client_email"';
  if (typeof account["private_key"] !== "string") return 'must have a "private_key"';
  try {
    if (createPrivateKey(account["private_key"]).asymmetricKeyType === "rsa") return null;
  } catch {
    // The error of the parser may quote the key.
  }
  return "must have a private_key that is an RSA key in PEM format";
}

const clientId = visibleText(1024);
const clientSecret = (unless: string) =>
  visibleText(4096).meta({ description: `${MASK_NOTE}, unless ${unless} changes.` });

const azureCredentials = z.strictObject({
  type: z.literal("azure_client"),
  tenant_id: visibleText(253)
    .regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/, "must be the id or the domain of a tenant")
    .meta({ description: "Id or domain of the Microsoft Entra tenant." }),
  client_id: clientId.meta({ description: "Application (client) id." }),
  client_secret: clientSecret("tenant_id, provider, base_url, or the header Host"),
  scope: scopeField.default(COGNITIVE_SERVICES_SCOPE),
});

const tokenUrlField = z
  .string()
  .max(2048, "must not be longer than 2048 characters")
  .superRefine((text, context) => {
    const message = tokenUrlProblem(text);
    if (message !== null) context.addIssue({ code: "custom", message });
  });

function tokenUrlProblem(text: string): string | null {
  if (!URL.canParse(text)) return "must be an absolute URL such as https://login.example.com/oauth/token";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must start with http:// or https://";
  if (url.username !== "" || url.password !== "")
    return "must not contain a user or password; use client_id and client_secret";
  if (text.includes("#")) return "must not contain a fragment";
  if (isForbiddenHost(url.hostname)) return "must not be a link-local or metadata address";
  return null;
}

const oauthCredentials = z.strictObject({
  type: z.literal("oauth_client_credentials"),
  token_url: tokenUrlField.meta({ description: "Token endpoint of the authorization server." }),
  client_id: clientId,
  client_secret: clientSecret("token_url, provider, base_url, or the header Host"),
  scope: scopeField.nullable().default(null),
});

export const credentialsSchema = z
  .discriminatedUnion("type", [
    headerCredentials,
    awsCredentials,
    gcpCredentials,
    azureCredentials,
    oauthCredentials,
  ])
  .meta({ id: "Credentials" });

export type Credentials = z.output<typeof credentialsSchema>;
