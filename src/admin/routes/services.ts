// Services of a gateway.
import { serviceSchema, type ServiceFields } from "../../model/service.ts";
import type { ChildResource } from "../child-routes.ts";

export const services: ChildResource<"services", ServiceFields> = {
  kind: "services",
  schemaName: "Service",
  singular: "service",
  schema: serviceSchema,
  example: {
    name: "chat",
    upstream_id: "01890a5d-ac96-774b-bcce-b302099a8057",
    description: "Chat completions",
  },
  toStored: (fields) => fields,
  toShown: (service) => service,
};
