// Service: a name between rules and an upstream, so that the upstream can change under many rules.
import { z } from "zod";
import { idField, nameField, textField } from "./fields.ts";
import type { ChildFields } from "./record.ts";

export const serviceSchema = z
  .strictObject({
    name: nameField.meta({ description: "Service name." }),
    upstream_id: idField.meta({ description: "An upstream of the same gateway." }),
    type: z.literal("upstream").default("upstream"),
    description: textField.default("").meta({ description: "Free text." }),
  })
  .meta({ id: "Service" });

export type ServiceFields = z.output<typeof serviceSchema>;
export type Service = ServiceFields & ChildFields;
