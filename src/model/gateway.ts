// Gateway: the root of a configuration. A request selects it by API key, subdomain, or a matching rule.
import { z } from "zod";
import { ERROR_FORMATS } from "../formats/gateway-error.ts";
import { corsField } from "./cors.ts";
import { nameField } from "./fields.ts";
import { jwtIssuersField } from "./jwt-issuer.ts";
import { pluginListSchema, type StoredPluginConfig } from "./plugin-config.ts";
import { priceListField } from "./price.ts";
import { omit, type RecordFields } from "./record.ts";

export const gatewaySchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the gateway." }),
    subdomain: z
      .string()
      .overwrite((label) => label.toLowerCase())
      .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be a DNS label")
      .nullable()
      .default(null)
      .meta({ description: "DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`." }),
    required_plugins: pluginListSchema
      .default([])
      .meta({ description: "Plugins that run for requests to the gateway." }),
    require_api_key: z
      .boolean()
      .default(false)
      .meta({ description: "Rules require an API key unless they set require_api_key to false." }),
    log_bodies: z
      .boolean()
      .default(false)
      .meta({ description: "The request log keeps bodies, truncated after 16 KiB." }),
    error_format: z.enum(ERROR_FORMATS).default("gatehouse").meta({
      description:
        "The format of the gateway's own error responses. `auto`: the format of the request, which SDKs of providers expect.",
    }),
    cors: corsField.nullable().default(null).meta({
      description: "Websites that may call the gateway from a browser. Null: none.",
    }),
    trust_user_header: z.boolean().default(false).meta({
      description:
        "X-User-ID alone identifies a user of budgets. Otherwise a user is the pair of API key and user id.",
    }),
    prices: priceListField.default([]).meta({
      description:
        "Prices of models for this gateway. They come before the prices of the installation and the built-in ones.",
    }),
    jwt_issuers: jwtIssuersField.default([]).meta({
      description: "Issuers whose tokens the MCP endpoints of the gateway accept, besides API keys.",
    }),
  })
  .meta({ id: "Gateway" });

export type GatewayFields = z.output<typeof gatewaySchema>;
export type Gateway = Omit<GatewayFields, "required_plugins"> & {
  readonly required_plugins: readonly StoredPluginConfig[];
} & RecordFields;

/** Returns a gateway as responses show it: without the internal ids of its plugins. */
export function showGateway(gateway: Gateway): GatewayFields & RecordFields {
  const required_plugins = gateway.required_plugins.map((config) => omit(config, "id"));
  return { ...gateway, required_plugins };
}
