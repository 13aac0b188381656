// Service: connects rules to an upstream, so that one change moves many rules to another upstream.
import { z } from "zod";
import { idField, nameField, textField } from "./fields.ts";
import type { ChildFields } from "./record.ts";

export const serviceSchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the service." }),
    upstream_id: idField.meta({ description: "An upstream of the same gateway." }),
    type: z.literal("upstream").default("upstream"),
    virtual_models: z.enum(["own", "any"]).default("own").meta({
      description:
        "Which targets of virtual models the rules of the service use: those at its own upstream, or those at any upstream of the gateway.",
    }),
    description: textField.default("").meta({ description: "Free text." }),
  })
  .meta({ id: "Service" });

export type ServiceFields = z.output<typeof serviceSchema>;
export type Service = ServiceFields & ChildFields;
