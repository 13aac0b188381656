// Target: a provider endpoint of an upstream.
import { z } from "zod";
import { isForbiddenHost } from "../base/forbidden-address.ts";
import { FORMAT_NAMES } from "../formats/format-names.ts";
import { findPathProblem } from "../http/request-target.ts";
import { credentialsSchema } from "./credentials.ts";
import { headersField, idField, nameField, priorityField } from "./fields.ts";

const baseUrlField = z
  .string()
  .max(2048, "must not be longer than 2048 characters")
  .superRefine((text, context) => {
    const message = baseUrlProblem(text);
    if (message !== null) context.addIssue({ code: "custom", message });
  })
  .overwrite((text) => text.replace(/\/+$/, ""));

function baseUrlProblem(text: string): string | null {
  if (!URL.canParse(text)) return "must be an absolute URL such as https://api.example.com";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must start with http:// or https://";
  if (url.username !== "" || url.password !== "")
    return "must not contain a user or password; use credentials";
  if (text.includes("?") || text.includes("#")) return "must not contain a query or a fragment";
  if (isForbiddenHost(url.hostname)) return "must not be a link-local or metadata address";
  return null;
}

export const targetSchema = z
  .strictObject({
    id: idField
      .optional()
      .meta({ description: "Set by the server. Send it back to keep the health state of the target." }),
    provider: nameField.max(64, "must not be longer than 64 characters").meta({
      description: "A known provider (see GET /providers), or any other name together with base_url.",
    }),
    path: z
      .string()
      .max(2048, "must not be longer than 2048 characters")
      .regex(/^(\/[^\s?#]*)?$/, 'must be "" or start with "/", without whitespace, query, or fragment')
      .refine(
        (path) => findPathProblem(path) === null,
        "must not contain dot segments or backslashes, also not encoded",
      )
      .nullable()
      .default(null)
      .meta({
        description:
          "Path at the provider. Null: the provider's endpoint for what the path of the request names, else its chat " +
          'endpoint; "": the path of the request.',
      }),
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(1)
      .meta({ description: "Relative share of requests. 0: no new requests." }),
    priority: priorityField
      .default(1)
      .meta({ description: "Tier. The lowest number with a healthy target is used." }),
    default_model: nameField
      .nullable()
      .default(null)
      .meta({ description: "Model for requests that do not name one." }),
    models: z
      .array(nameField)
      .max(1000, "must not contain more than 1000 models")
      .default([])
      .meta({ description: "Models that the target serves. Empty: all." }),
    headers: headersField.default({}).meta({
      description:
        "Additional request headers for the provider. Values of headers that carry a credential by their name " +
        "(`Authorization`, `X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`.",
    }),
    credentials: credentialsSchema.nullable().default(null).meta({
      description: "Without them, the client's own provider credential is forwarded.",
    }),
    base_url: baseUrlField
      .nullable()
      .default(null)
      .meta({ description: "Base URL that replaces the one of the provider." }),
    format: z
      .enum(FORMAT_NAMES)
      .nullable()
      .default(null)
      .meta({ description: "Wire format that replaces the one of the provider." }),
  })
  .meta({ id: "Target" });

export type TargetFields = z.output<typeof targetSchema>;
export type Target = Omit<TargetFields, "id"> & { readonly id: string };
