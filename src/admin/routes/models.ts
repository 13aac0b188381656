// Virtual models of a gateway.
import { virtualModelSchema, type VirtualModelFields } from "../../model/virtual-model.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { childDeclaration, type Resource } from "../resource.ts";

export const virtualModels: Resource<"models", VirtualModelFields> = {
  ...childDeclaration("models", "model"),
  singular: "virtual model",
  plural: "virtual models",
  schemaName: "VirtualModel",
  schema: virtualModelSchema,
  shownSchema: virtualModelSchema.safeExtend(childFieldSchemas),
  example: {
    name: "assistant",
    aliases: ["assistant-latest"],
    targets: [
      { upstream: "01890a5d-ac96-774b-bcce-b302099a8057", model: "gpt-5-mini", weight: 9 },
      { upstream: "01890a5d-ac96-774b-bcce-b302099a8057", model: "gpt-5", weight: 1 },
    ],
    strategy: "weighted",
  },
  create: (fields, base, gatewayId) => ({ record: newChild(base, gatewayId, fields) }),
  change: (before, fields, updated_at) => newChild({ ...before, updated_at }, before.gateway_id, fields),
  show: (model) => model,
};
