// Gateway: the root of a configuration, selected by API key, subdomain or a rule of its own.
import { z } from "zod";
import { nameField } from "./fields.ts";
import { pluginConfigSchema } from "./plugin-config.ts";
import type { RecordFields } from "./record.ts";

export const gatewaySchema = z
  .strictObject({
    name: nameField.meta({ description: "Gateway name." }),
    subdomain: z
      .string()
      .overwrite((label) => label.toLowerCase())
      .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be a DNS label")
      .nullable()
      .default(null)
      .meta({ description: "DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`." }),
    required_plugins: z
      .array(pluginConfigSchema)
      .max(64, "must not hold more than 64 plugins")
      .default([])
      .meta({ description: "Plugins attached to the gateway." }),
    require_api_key: z
      .boolean()
      .default(false)
      .meta({ description: "Rules ask for an API key unless they say otherwise." }),
  })
  .meta({ id: "Gateway" });

export type GatewayFields = z.output<typeof gatewaySchema>;
export type Gateway = GatewayFields & RecordFields;
