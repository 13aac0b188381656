// Virtual models of a gateway.
import { GatehouseError } from "../../base/errors.ts";
import { virtualModelProblems } from "../../model/virtual-model-links.ts";
import { virtualModelSchema, type VirtualModel, type VirtualModelFields } from "../../model/virtual-model.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { childDeclaration, type Resource } from "../resource.ts";

/** Limits how many virtual models an error names. */
const MAX_NAMED = 20;

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
  delete: async (transaction, { id, gateway_id }) => {
    const parts = await transaction.gatewayParts(gateway_id);
    rejectIfFallback(parts?.models ?? [], id);
    await transaction.remove("models", id);
  },
};

/** A fallback may name a virtual model by an alias or by a name that matches its pattern, so that a search for its name is not enough. */
function rejectIfFallback(models: readonly VirtualModel[], id: string): void {
  const others = models.filter((model) => model.id !== id);
  const users = new Set(virtualModelProblems(others).flatMap(({ index }) => others[index] ?? []));
  if (users.size === 0) return;
  const details = [...users].map(({ id: user, name }) => ({
    path: "models",
    message: `virtual model "${name}" (${user})`,
  }));
  const names = details.slice(0, MAX_NAMED).map(({ message }) => message);
  throw new GatehouseError(
    "in_use",
    `This virtual model is a fallback of ${names.join(", ")}. Change them first.`,
    { details },
  );
}
