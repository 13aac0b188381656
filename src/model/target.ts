// Target: one provider endpoint of an upstream, and the masking of its credential.
import { z } from "zod";
import { isForbiddenHost } from "../base/forbidden-address.ts";
import { FORMAT_NAMES } from "../formats/format-names.ts";
import {
  headerNameField,
  headerValueField,
  headersField,
  idField,
  nameField,
  priorityField,
} from "./fields.ts";

const baseUrlField = z
  .string()
  .max(2048, "must not be longer than 2048 characters")
  .superRefine((text, context) => {
    const error = baseUrlFault(text);
    if (error !== null) context.addIssue({ code: "custom", message: error });
  })
  .overwrite((text) => text.replace(/\/+$/, ""));

function baseUrlFault(text: string): string | null {
  if (!URL.canParse(text)) return "must be an absolute URL such as https://api.example.com";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must start with http:// or https://";
  if (url.username !== "" || url.password !== "") return "must not hold a user or password; use credentials";
  if (text.includes("?") || text.includes("#")) return "must not hold a query or a fragment";
  if (isForbiddenHost(url.hostname)) return "must not be a link-local or metadata address";
  return null;
}

export const credentialsSchema = z
  .strictObject({
    header_name: headerNameField.meta({ description: "The header that carries the credential." }),
    header_value: headerValueField.min(1, "must not be empty").meta({
      description:
        "The credential. Comes back masked; the masked value sent back unchanged keeps the stored one.",
    }),
  })
  .meta({ id: "Credentials" });

export const targetSchema = z
  .strictObject({
    id: idField
      .optional()
      .meta({ description: "Set by the server; send it back to keep the target's health state." }),
    provider: nameField.max(64, "must not be longer than 64 characters").meta({
      description: "A known provider (see GET /providers), or any name together with base_url.",
    }),
    path: z
      .string()
      .max(2048, "must not be longer than 2048 characters")
      .regex(/^(\/[^\s?#]*)?$/, 'must be "" or start with "/", without blanks, query or fragment')
      .nullable()
      .default(null)
      .meta({
        description:
          "Provider endpoint path. Absent: the provider's chat endpoint; \"\": keep the request's path.",
      }),
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(1)
      .meta({ description: "Share of requests; 0 drains the target." }),
    priority: priorityField
      .default(1)
      .meta({ description: "Tier; the lowest with a healthy target serves." }),
    default_model: nameField
      .nullable()
      .default(null)
      .meta({ description: "Model used when the request names none." }),
    models: z
      .array(nameField)
      .max(1000, "must not hold more than 1000 models")
      .default([])
      .meta({ description: "Models the target serves; none means all." }),
    headers: headersField.default({}).meta({ description: "Extra headers sent to the provider." }),
    credentials: credentialsSchema.nullable().default(null),
    base_url: baseUrlField
      .nullable()
      .default(null)
      .meta({ description: "Instead of the provider's own address." }),
    format: z
      .enum(FORMAT_NAMES)
      .nullable()
      .default(null)
      .meta({ description: "Instead of the provider's wire format." }),
  })
  .meta({ id: "Target" });

export type Credentials = z.output<typeof credentialsSchema>;
export type TargetFields = z.output<typeof targetSchema>;
export type Target = Omit<TargetFields, "id"> & { readonly id: string };

/** A secret of which nothing is shown. */
export const HIDDEN = "***";

/** First three and last four characters; nothing at all of a short secret. */
export function maskSecret(secret: string): string {
  return secret.length < 12 ? HIDDEN : `${secret.slice(0, 3)}***${secret.slice(-4)}`;
}

/** Whether a value has the shape that `maskSecret` gives: storing it would lose the secret it stands for. */
export function looksMasked(value: string): boolean {
  return value === HIDDEN || (value.length === 10 && value.slice(3, 6) === "***");
}

export function maskTarget(target: Target): Target {
  if (target.credentials === null) return target;
  const header_value = maskSecret(target.credentials.header_value);
  return { ...target, credentials: { ...target.credentials, header_value } };
}
