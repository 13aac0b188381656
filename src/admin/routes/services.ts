// Services of a gateway.
import { serviceSchema, type ServiceFields } from "../../model/service.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { childDeclaration, type Resource } from "../resource.ts";

export const services: Resource<"services", ServiceFields> = {
  ...childDeclaration("services", "service"),
  schemaName: "Service",
  schema: serviceSchema,
  shownSchema: serviceSchema.safeExtend(childFieldSchemas),
  example: {
    name: "chat",
    upstream_id: "01890a5d-ac96-774b-bcce-b302099a8057",
    description: "Chat completions",
  },
  create: (fields, base, gatewayId) => ({ record: newChild(base, gatewayId, fields) }),
  change: (before, fields, updated_at) => newChild({ ...before, updated_at }, before.gateway_id, fields),
  show: (service) => service,
};
